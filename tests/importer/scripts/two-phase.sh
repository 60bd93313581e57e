#!/bin/bash
# Fine-tuning of a vision language model, with a warm-up of the package cache before it.
#
# Usage: sbatch two-phase.sh

#SBATCH --job-name=vision-sft
#SBATCH -N 16
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8 # an HGX node
#SBATCH -t 1440
#SBATCH -A vision
#SBATCH -p batch
#SBATCH --output=/lustre/team/logs/%x_%j.out
#SBATCH --exclusive

set -euo pipefail

IMAGE=/lustre/team/images/nemo.sqsh
MOUNTS="/lustre:/lustre,/lustre/team/src/Bridge:/opt/Megatron-Bridge"
WORKDIR=/opt/Megatron-Bridge

export HF_HOME=/lustre/team/cache/hf UV_CACHE_DIR=/lustre/team/cache/uv
export NEMO_HOME=/lustre/team/cache/nemo
export NCCL_IB_TIMEOUT=22
# The default of ten minutes is too short for the first save.
export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=3600

GBS=64   # four micro batches for each copy of the model

srun --mpi=pmix -N 1 --ntasks=1 \
  --container-image="$IMAGE" --container-mounts="$MOUNTS" --no-container-mount-home \
  bash -c "cd $WORKDIR && uv sync"

srun --mpi=pmix \
  --container-image="$IMAGE" --container-mounts="$MOUNTS" --no-container-mount-home \
  bash -c "cd $WORKDIR && uv sync && uv run --no-sync python scripts/training/run_recipe.py \
    --recipe glm_45v_sft_config --step-func vlm_step --dataset cord-v2 \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=8 \
    model.expert_model_parallel_size=16 \
    train.micro_batch_size=1 train.global_batch_size=$GBS train.train_iters=1_000 \
    dataset.seq_length=8192 \
    optimizer.lr=5e-6 \
    scheduler.lr_warmup_iters=10 \
    checkpoint.pretrained_checkpoint=/lustre/team/models/glm45v/iter_0000000 \
    checkpoint.save=/lustre/team/results/glm45v-$SLURM_JOB_ID \
    model.recompute_modules=[core_attn,moe] \
    'model.note=\"a, b\"'"
