#!/bin/bash
# nemotron3-nano-layouts-pretrain: 3 steps with Megatron Bridge
# A hybrid of Mamba, attention and experts under three layouts in turn; one that fails does not keep the next.
#
# Nodes:  4 nodes of 8 GPUs
#
# Step tp4: pretrain, recipe nemotron_3_nano_pretrain_config
# Layout: tp 4, pp 1, cp 1, ep 8, etp 1, dp 8, sequence parallel
# Batch:  32 samples a step: dp 8, micro batch 1, 4 microbatches, 512 tokens a sample
#
# Step tp2-pp2: pretrain, recipe nemotron_3_nano_pretrain_config
# Layout: tp 2, pp 2, cp 1, ep 8, etp 1, dp 8, sequence parallel
# Batch:  32 samples a step: dp 8, micro batch 1, 4 microbatches, 512 tokens a sample
#
# Step tp2-cp2: pretrain, recipe nemotron_3_nano_pretrain_config
# Layout: tp 2, pp 1, cp 2, ep 8, etp 1, dp 8, sequence parallel
# Batch:  32 samples a step: dp 8, micro batch 1, 4 microbatches, 512 tokens a sample
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
: "${WANDB_API_KEY:?set it in the shell that runs it}"

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

# The job's own program, for the GPUs of this node; what is added to `run_tp4` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp4() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=4 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp4 \
    checkpoint.async_save=false "$@"
}
export -f run_tp4

# The job's own program, for the GPUs of this node; what is added to `run_tp2_pp2` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp2_pp2() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=2 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp2-pp2 \
    checkpoint.async_save=false "$@"
}
export -f run_tp2_pp2

# The job's own program, for the GPUs of this node; what is added to `run_tp2_cp2` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp2_cp2() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=2 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp2-cp2 \
    checkpoint.async_save=false "$@"
}
export -f run_tp2_cp2

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
  --job-name=nemotron3-nano-layouts-pretrain \
  --account=llm \
  --partition=batch \
  --nodes=4 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --mem=0 \
  --time=2:00:00 \
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
  --container-env=HF_TOKEN,WANDB_API_KEY,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
