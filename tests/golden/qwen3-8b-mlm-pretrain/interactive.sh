#!/bin/bash
# qwen3-8b-mlm-pretrain: pretrain with Megatron-LM
# The dense 8B model with Megatron-LM, without torchrun; tensor and sequence parallel in a node.
#
# Nodes:  4 nodes of 8 GPUs
# Layout: tp 4, pp 1, cp 1, ep 1, etp 4, dp 8, sequence parallel
# Batch:  256 samples a step: dp 8, micro batch 2, 16 microbatches, 4096 tokens a sample
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

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    3rdparty/Megatron-LM/pretrain_gpt.py \
    --num-layers 36 \
    --hidden-size 4096 \
    --ffn-hidden-size 12288 \
    --num-attention-heads 32 \
    --group-query-attention \
    --num-query-groups 8 \
    --kv-channels 128 \
    --max-position-embeddings 40960 \
    --tensor-model-parallel-size 4 \
    --pipeline-model-parallel-size 1 \
    --context-parallel-size 1 \
    --expert-model-parallel-size 1 \
    --expert-tensor-parallel-size 4 \
    --sequence-parallel \
    --micro-batch-size 2 \
    --global-batch-size 256 \
    --seq-length 4096 \
    --train-iters 20000 \
    --lr 0.0003 \
    --min-lr 3e-05 \
    --lr-warmup-iters 200 \
    --lr-decay-iters 20000 \
    --eval-iters 10 \
    --eval-interval 1000 \
    --data-path /lustre/example/data/dclm/dclm_01_01_text_document \
    --split 9999,8,2 \
    --data-cache-path /lustre/example/cache/index \
    --save /lustre/example/results/qwen3-8b-mlm \
    --load /lustre/example/results/qwen3-8b-mlm \
    --save-interval 500 \
    --exit-duration-in-mins 1425 \
    --log-interval 10 \
    --tensorboard-dir /lustre/example/results/qwen3-8b-mlm/tensorboard \
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model Qwen/Qwen3-8B \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --norm-epsilon 1e-06 \
    --qk-layernorm \
    --position-embedding-type rope \
    --rotary-base 1000000 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --use-distributed-optimizer \
    --overlap-grad-reduce \
    --overlap-param-gather \
    --attention-backend flash \
    --log-throughput "$@"
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
  --job-name=qwen3-8b-mlm-pretrain \
  --account=llm \
  --partition=batch \
  --nodes=4 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --mem=0 \
  --time=24:00:00 \
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
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,PYTORCH_CUDA_ALLOC_CONF,CUDA_DEVICE_MAX_CONNECTIONS,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
