#!/bin/bash
# qwen3-30b-gb200-pretrain: pretrain with Megatron Bridge, recipe qwen3_30b_a3b_pretrain_8gpu_gb200_bf16_config
# Benchmark of a mixture of experts on two GB200 nodes, with its own data.
#
# Nodes:  2 nodes of 4 GPUs
# Layout: tp 1, pp 1, cp 1, ep 8, etp 1, dp 8, no sequence parallelism
# Batch:  512 samples a step: dp 8, micro batch 4, 16 microbatches
#
# On a login node:
#   bash THIS_SCRIPT                a shell in the container, on the first node of the allocation
#   bash THIS_SCRIPT COMMAND ...    run a command there instead, and end with its exit code
#
# The same by hand: the salloc line below, then the srun line with --pty and `bash`, then the lines of the set-up.
#
# Compiled by jobspec: change the manifest, not this text.

set -euo pipefail

# Secrets come from the shell that runs it; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs it}"

# Caches that all nodes share: what one prepares, the others find.
export HF_HOME=/scratch/cache/huggingface
export UV_CACHE_DIR=/scratch/cache/uv
export NEMO_HOME=/scratch/cache/nemo

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# From the cluster file and the manifest.
export NCCL_NET_GDR_LEVEL=PHB
export NCCL_NET_GDR_C2C=1
export NCCL_DEBUG=WARN

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
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=4 \
    scripts/training/run_recipe.py \
    --recipe qwen3_30b_a3b_pretrain_8gpu_gb200_bf16_config \
    --mode pretrain \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=4 \
    train.global_batch_size=512 \
    train.train_iters=50 \
    scheduler.lr_warmup_iters=5 \
    scheduler.lr_decay_iters=50 \
    logger.log_interval=1 \
    checkpoint.async_save=false "$@"
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
  --job-name=qwen3-30b-gb200-pretrain \
  --account=pretrain \
  --partition=gb200 \
  --nodes=2 \
  --ntasks-per-node=1 \
  --gpus-per-node=4 \
  --mem=0 \
  --time=0:30:00 \
  --exclusive \
  --segment=2 \
  srun \
  --mpi=pmix \
  --export=ALL \
  --nodes=1 \
  --ntasks=1 \
  --ntasks-per-node=1 \
  --gpus-per-node=4 \
  --container-image='nvcr.io#nvidia/nemo:26.06' \
  --container-mounts=/scratch:/scratch \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NET_GDR_LEVEL,NCCL_NET_GDR_C2C,NCCL_DEBUG \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
