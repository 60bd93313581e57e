"""What a script would run: it is run in a sandbox, with stand-ins for Slurm and for the programs that take effect."""
