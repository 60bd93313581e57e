#!/bin/bash
#SBATCH -n 4 --ntasks-per-node 2
export MASTER_ADDR=$(getent hosts "$(scontrol show hostnames "$SLURM_NODELIST" | sed -n 1p)" | awk '{print $1}')
export MASTER_PORT=$(python3 -c "print(20000 + $SLURM_JOB_ID % 1000)")
export GPUS=$(nvidia-smi -L | wc -l) STAMP=$(date +%Y%m%d)
env LEVEL=2 srun -l bash -c 'RANK=$SLURM_PROCID python3 train.py --on "$(hostname)"'
