#!/bin/bash
# qwen3-vl-inference: inference with Megatron Bridge
# What is on a picture. This program spells its flags with underscores.
#
# Nodes:  1 node of 8 GPUs
# Layout: tp 2, pp 1, ep 4, etp 1
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

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/inference/vlm_generation.py \
    --tp 2 \
    --pp 1 \
    --ep 4 \
    --etp 1 \
    --hf_model_path Qwen/Qwen3-VL-30B-A3B-Instruct \
    --image_path /lustre/example/data/receipt.png \
    --prompt 'How much is 10% of the "Total", in $?' \
    --max_new_tokens 64 "$@"
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
  --job-name=qwen3-vl-inference \
  --account=llm \
  --partition=interactive \
  --nodes=1 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --mem=0 \
  --time=0:30:00 \
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
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
