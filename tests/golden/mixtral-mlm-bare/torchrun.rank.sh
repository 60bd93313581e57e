set -euo pipefail

# From the cluster file and the manifest.
export PATH=/nfs/venv/bin:/usr/bin:/bin

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/nfs/src/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /nfs/src/Megatron-LM
exec python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
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
  --recompute-num-layers 1
