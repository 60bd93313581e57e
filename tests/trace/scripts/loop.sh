#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --job-name=sweep
common() { echo "--steps 10"; }
for lr in 1e-3 1e-4; do
  for seed in 1 2; do
    export SEED=$seed
    eval "srun --output=/logs/lr-$lr-%t.out python sweep.py --lr $lr $(common)"
  done
done
