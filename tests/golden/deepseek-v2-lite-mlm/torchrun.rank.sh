set -euo pipefail

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
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
  --moe-token-dispatcher-type alltoall
