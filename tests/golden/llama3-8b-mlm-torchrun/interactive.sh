#!/bin/bash
# llama3-8b-mlm-torchrun: pretrain with Megatron-LM
# A dense 8B model with Megatron-LM under torchrun. It saves at a signal before the limit, and goes on where it was when it is queued again.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 2, pp 1, cp 2, ep 1, etp 2, dp 4, sequence parallel
# Batch:  128 samples a step: dp 4, micro batch 1, 32 microbatches, 8192 tokens a sample
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

# The allocator grows its segments: less memory is lost between them.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

# Megatron-LM asserts it with tensor or context parallelism: kernels start in the order of the program.
export CUDA_DEVICE_MAX_CONNECTIONS=1

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

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 2 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    3rdparty/Megatron-LM/pretrain_gpt.py \
    --num-layers 32 \
    --hidden-size 4096 \
    --ffn-hidden-size 14336 \
    --num-attention-heads 32 \
    --group-query-attention \
    --num-query-groups 8 \
    --max-position-embeddings 8192 \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 1 \
    --context-parallel-size 2 \
    --expert-model-parallel-size 1 \
    --expert-tensor-parallel-size 2 \
    --sequence-parallel \
    --micro-batch-size 1 \
    --global-batch-size 128 \
    --seq-length 8192 \
    --train-iters 50000 \
    --lr 0.0003 \
    --min-lr 3e-05 \
    --lr-decay-iters 50000 \
    --data-path 0.7 /lustre/example/data/dclm/dclm_01_01_text_document 0.3 /lustre/example/data/dclm/dclm_01_02_text_document \
    --split 9999,8,2 \
    --data-cache-path /lustre/example/cache/index \
    --save /lustre/example/results/llama3-8b-mlm \
    --load /lustre/example/results/llama3-8b-mlm \
    --save-interval 500 \
    --exit-signal-handler \
    --exit-signal-handler-for-dataloader \
    --log-interval 10 \
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model meta-llama/Meta-Llama-3-8B \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --position-embedding-type rope \
    --rotary-base 500000 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --use-distributed-optimizer \
    --lr-warmup-fraction 0.01 "$@"
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
  --job-name=llama3-8b-mlm-torchrun \
  --account=llm \
  --partition=batch \
  --nodes=2 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --mem=0 \
  --time=12:00:00 \
  --exclusive \
  --signal=TERM@600 \
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
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,PYTORCH_CUDA_ALLOC_CONF,CUDA_DEVICE_MAX_CONNECTIONS,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
