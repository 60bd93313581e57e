"""Jobs that are submitted, watched and ended. Slurm is the engine; what is kept here lies beside the logs."""
