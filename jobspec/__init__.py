"""Compile manifests of multi-node training jobs into Slurm scripts."""

__version__ = "0.1.0"
