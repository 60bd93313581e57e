#!/bin/bash
set -euo pipefail
[[ ${SLURM_JOB_NUM_NODES:-0} -eq 16 ]] || {
  echo "run this in an allocation of 16 nodes" >&2
  exit 1
}

# Caches that all nodes share: what one prepares, the others find.
export HF_HOME=/lustre/example/cache/huggingface
export UV_CACHE_DIR=/lustre/example/cache/uv
export NEMO_HOME=/lustre/example/cache/nemo

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# No reduction inside of NVSwitch: it takes memory of each GPU.
export NCCL_NVLS_ENABLE=0

# From the cluster file and the manifest.
export NCCL_IB_TIMEOUT=19
export TOKENIZERS_PARALLELISM=False

IFS= read -r -d '' rank_program <<'EXAMPLE_RANK' || true
set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python scripts/training/run_recipe.py \
  --recipe glm_45v_sft_config \
  --mode sft \
  --dataset cord-v2 \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=8 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=16 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=/lustre/example/results/glm45v-sft \
  checkpoint.load=/lustre/example/results/glm45v-sft \
  train.micro_batch_size=1 \
  train.global_batch_size=64 \
  train.train_iters=1000 \
  dataset.seq_length=8192 \
  optimizer.lr=5e-06 \
  optimizer.min_lr=5e-07 \
  scheduler.lr_warmup_iters=10 \
  scheduler.lr_decay_iters=1000 \
  checkpoint.pretrained_checkpoint=/lustre/example/models/GLM-4.5V/iter_0000000 \
  checkpoint.save_interval=100 \
  train.exit_duration_in_mins=1425 \
  logger.log_interval=1 \
  logger.wandb_project=glm45v \
  logger.wandb_exp_name=glm45v-sft
EXAMPLE_RANK

srun \
  --mpi=pmix \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,WANDB_API_KEY,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  bash -c "$rank_program" rank
