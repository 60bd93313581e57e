set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /opt/Megatron-Bridge

# The first rank of each node does this, and the others wait: they share its container, and so its /tmp.
done_file="/tmp/jobspec-$SLURM_JOB_ID-$SLURM_STEP_ID-${SLURM_RESTART_COUNT:-0}"
if ((SLURM_LOCALID == 0)); then
  code=0
  uv sync || code=$?
  echo "$code" >"$done_file.new"
  mv "$done_file.new" "$done_file"
else
  # A first rank that was killed leaves no word: the others wait an hour, and no longer.
  until [[ -e $done_file ]] || ((SECONDS > 3600)); do sleep 0.5; done
  if [[ ! -e $done_file ]]; then
    echo "jobspec: the first rank of this node did not finish the set-up" >&2
    exit 1
  fi
  code="$(<"$done_file")"
fi
((code == 0)) || exit "$code"

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
