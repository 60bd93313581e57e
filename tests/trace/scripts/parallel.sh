#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1
srun --exact -N2 -n2 python actor.py &
srun --exact -N2 -n2 -r2 python learner.py &
wait
