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

exec uv run --no-sync python 3rdparty/Megatron-LM/pretrain_gpt.py \
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
