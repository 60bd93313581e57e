#!/bin/bash
#SBATCH -J agents -N 3
#SBATCH -t 1-0 -p gpu --gres=gpu:8
#SBATCH --ntasks-per-node=1

nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
head=${nodes[0]}
address=$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address)
srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 --node_rank \$SLURM_NODEID \
  --rdzv_backend c10d --rdzv_endpoint $address:29500 train.py --epochs 3"
