set -euo pipefail

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /opt/Megatron-Bridge
uv sync
case "$SLURM_ARRAY_TASK_ID" in
  0)
    own_1=(--lr 0.0001)
    own_2=(--seed 1)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed1
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed1
    )
    ;;
  1)
    own_1=(--lr 0.0001)
    own_2=(--seed 2)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed2
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed2
    )
    ;;
  2)
    own_1=(--lr 0.0001)
    own_2=(--seed 3)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed3
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed3
    )
    ;;
  3)
    own_1=(--lr 0.0003)
    own_2=(--seed 1)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed1
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed1
    )
    ;;
  4)
    own_1=(--lr 0.0003)
    own_2=(--seed 2)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed2
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed2
    )
    ;;
  5)
    own_1=(--lr 0.0003)
    own_2=(--seed 3)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed3
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed3
    )
    ;;
esac

exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
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
  --train-iters 2000 \
  "${own_1[@]}" \
  --min-lr 1e-05 \
  --lr-warmup-iters 200 \
  --lr-decay-iters 2000 \
  "${own_2[@]}" \
  --data-path /lustre/example/data/dclm/dclm_01_01_text_document \
  --split 9999,8,2 \
  --data-cache-path /lustre/example/cache/index \
  "${own_3[@]}" \
  --save-interval 500 \
  --exit-duration-in-mins 225 \
  --log-interval 10 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model Qwen/Qwen3-8B \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --qk-layernorm \
  --position-embedding-type rope \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --use-distributed-optimizer
