#!/bin/bash
set -euo pipefail
[[ ${SLURM_JOB_NUM_NODES:-0} -eq 4 ]] || {
  echo "run this in an allocation of 4 nodes" >&2
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

# The allocator grows its segments: less memory is lost between them.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

# Megatron-LM asserts it with tensor or context parallelism: kernels start in the order of the program.
export CUDA_DEVICE_MAX_CONNECTIONS=1

# From the cluster file and the manifest.
export NCCL_IB_TIMEOUT=19
export TOKENIZERS_PARALLELISM=False

IFS= read -r -d '' rank_program <<'EXAMPLE_RANK' || true
set -euo pipefail

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python 3rdparty/Megatron-LM/pretrain_gpt.py \
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
  --log-throughput
EXAMPLE_RANK

srun \
  --mpi=pmix \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,PYTORCH_CUDA_ALLOC_CONF,CUDA_DEVICE_MAX_CONNECTIONS,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM \
  bash -c "$rank_program" rank
