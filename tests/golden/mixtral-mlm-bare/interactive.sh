#!/bin/bash
# mixtral-mlm-bare: pretrain with Megatron-LM
# A mixture of experts with Megatron-LM, on a site without containers, uv or PMIx.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 1, pp 2, cp 1, ep 8, etp 1, dp 8, no sequence parallelism
# Batch:  256 samples a step: dp 8, micro batch 1, 32 microbatches, 4096 tokens a sample
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
export HF_HOME=/nfs/cache/huggingface

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# No reduction inside of NVSwitch: it takes memory of each GPU.
export NCCL_NVLS_ENABLE=0

# The allocator grows its segments: less memory is lost between them.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

# What is set up inside the container before the shell or the command. It is read as it stands.
IFS= read -r -d '' shell_program <<'JOBSPEC_SHELL' || true
set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

# From the cluster file and the manifest.
export PATH=/nfs/venv/bin:/usr/bin:/bin

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/nfs/src/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /nfs/src/Megatron-LM
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 2 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  python -m torch.distributed.run --standalone --nproc_per_node=8 \
    pretrain_gpt.py \
    --num-layers 32 \
    --hidden-size 4096 \
    --ffn-hidden-size 14336 \
    --num-attention-heads 32 \
    --group-query-attention \
    --num-query-groups 8 \
    --max-position-embeddings 32768 \
    --num-experts 8 \
    --moe-router-topk 2 \
    --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 2 \
    --context-parallel-size 1 \
    --expert-model-parallel-size 8 \
    --expert-tensor-parallel-size 1 \
    --micro-batch-size 1 \
    --global-batch-size 256 \
    --seq-length 4096 \
    --train-iters 5000 \
    --lr 0.0001 \
    --min-lr 1e-05 \
    --lr-decay-iters 5000 \
    --mock-data \
    --save /nfs/results/mixtral \
    --load /nfs/results/mixtral \
    --save-interval 500 \
    --exit-duration-in-mins 1425 \
    --log-interval 1 \
    --tokenizer-type NullTokenizer \
    --vocab-size 32000 \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --position-embedding-type rope \
    --moe-token-dispatcher-type alltoall \
    --use-distributed-optimizer \
    --lr-warmup-fraction 0.01 \
    --recompute-granularity full \
    --recompute-method uniform \
    --recompute-num-layers 1 "$@"
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
  --job-name=mixtral-mlm-bare \
  --partition=gpu \
  --nodes=2 \
  --ntasks-per-node=1 \
  --gpus-per-node=8 \
  --cpus-per-task=96 \
  --mem=900G \
  --time=1-00:00:00 \
  srun \
  --mpi=none \
  --export=ALL \
  --nodes=1 \
  --ntasks=1 \
  --ntasks-per-node=1 \
  --cpus-per-task=96 \
  --gpus-per-node=8 \
  "${terminal[@]}" \
  bash -c "$shell_program" shell "$@"
