#!/bin/bash
# qwen3-8b-rates-lr1.0e-3-tp2: pretrain with Megatron Bridge, recipe qwen3_8b_pretrain_16gpu_h100_bf16_config
# A sweep of twelve jobs, four learning rates on three layouts. Each saves to a folder of its own.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 2, pp 1, cp 1, ep 1, etp 2, dp 8, sequence parallel
# Batch:  1024 samples a step: dp 8, micro batch 1, 128 microbatches, 4096 tokens a sample
#
# On a login node:
#   bash THIS_SCRIPT                a shell in the container, on the first node of the allocation
#   bash THIS_SCRIPT COMMAND ...    run a command there instead, and end with its exit code
#
# The same by hand: the salloc line below, then the srun line with --pty and `bash`, then the lines of the set-up.
#
# Compiled by jobspec: change the manifest, not this text.

set -euo pipefail

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

# What is set up inside the container before the shell or the command. It is read as it stands.
IFS= read -r -d '' shell_program <<'JOBSPEC_SHELL' || true
set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 2 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config \
    --mode pretrain \
    --dataset megatron-indexed \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=1 \
    model.expert_tensor_parallel_size=2 \
    model.sequence_parallel=true \
    checkpoint.save=/lustre/example/results/qwen3-8b-rates/lr1.0e-3-tp2 \
    checkpoint.load=/lustre/example/results/qwen3-8b-rates/lr1.0e-3-tp2 \
    train.micro_batch_size=1 \
    train.global_batch_size=1024 \
    train.train_iters=2000 \
    dataset.seq_length=4096 \
    optimizer.lr=0.001 \
    optimizer.min_lr=0.0001 \
    scheduler.lr_warmup_iters=100 \
    scheduler.lr_decay_iters=2000 \
    dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
    dataset.split='"9999,8,2"' \
    dataset.path_to_cache=/lustre/example/cache/index \
    checkpoint.save_interval=500 \
    train.exit_duration_in_mins=225 \
    logger.log_interval=10 \
    logger.tensorboard_dir=/lustre/example/results/qwen3-8b-rates/lr1.0e-3-tp2/tensorboard "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
JOBSPEC_SHELL

# A shell needs a terminal; a command may run without one.
terminal=()
if (($# == 0)) || [[ -t 0 && -t 1 ]]; then
  terminal=(--pty)
fi

# GPUs are asked for twice: for the allocation, and for the step in it.
exec salloc \
  --job-name=qwen3-8b-rates-lr1.0e-3-tp2 \
  --account=llm \
  --partition=batch \
  --nodes=2 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --mem=0 \
  --time=4:00:00 \
  --exclusive \
  srun \
  --mpi=pmix \
  --export=ALL \
  --nodes=1 \
  --ntasks=1 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
