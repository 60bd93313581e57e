"""The site as it is: what Slurm says of itself, and what nodes say. Nothing that compiles imports this."""
