#!/bin/sh
#SBATCH --nodes 2 --parti=gpu

# a comment does not end the directives
#SBATCH --comment="it's \"x\" # y"
#SLURM -x node009
: first command
#SBATCH --nodes=64
srun ./not-here.sh
