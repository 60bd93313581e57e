"""Sweeps: one manifest, many jobs. Nothing of this is imported for a manifest without ``matrix``."""
