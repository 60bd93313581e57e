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
    --num-layers 27 \
    --hidden-size 2048 \
    --ffn-hidden-size 10944 \
    --num-attention-heads 16 \
    --multi-latent-attention \
    --max-position-embeddings 4096 \
    --num-experts 64 \
    --moe-ffn-hidden-size 1408 \
    --moe-router-topk 6 \
    --tensor-model-parallel-size 1 \
    --pipeline-model-parallel-size 1 \
    --context-parallel-size 1 \
    --expert-model-parallel-size 8 \
    --expert-tensor-parallel-size 1 \
    --micro-batch-size 1 \
    --global-batch-size 512 \
    --seq-length 4096 \
    --train-iters 200 \
    --lr 0.0001 \
    --lr-warmup-iters 20 \
    --lr-decay-iters 200 \
    --mock-data \
    --log-interval 1 \
    --tokenizer-type NullTokenizer \
    --vocab-size 102400 \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --position-embedding-type rope \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --use-distributed-optimizer \
    --kv-lora-rank 512 \
    --qk-head-dim 128 \
    --qk-pos-emb-head-dim 64 \
    --v-head-dim 128 \
    --moe-layer-freq '[0]+[1]*26' \
    --moe-grouped-gemm \
    --moe-token-dispatcher-type alltoall "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
