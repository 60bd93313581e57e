"""Slurm's own programs: what they are asked, and what they answer. One module a program."""
