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
  --num-layers 48 \
  --hidden-size 2048 \
  --ffn-hidden-size 6144 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 4 \
  --kv-channels 128 \
  --max-position-embeddings 40960 \
  --num-experts 128 \
  --moe-ffn-hidden-size 768 \
  --moe-router-topk 8 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 2 \
  --context-parallel-size 1 \
  --expert-model-parallel-size 8 \
  --expert-tensor-parallel-size 1 \
  --sequence-parallel \
  --micro-batch-size 1 \
  --global-batch-size 256 \
  --seq-length 4096 \
  --train-iters 100 \
  --lr 0.0001 \
  --min-lr 1e-05 \
  --lr-decay-iters 100 \
  --mock-data \
  --log-interval 1 \
  --tokenizer-type NullTokenizer \
  --vocab-size 151936 \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --qk-layernorm \
  --position-embedding-type rope \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --use-distributed-optimizer \
  --moe-grouped-gemm \
  --moe-token-dispatcher-type alltoall \
  --moe-router-load-balancing-type aux_loss \
  --moe-aux-loss-coeff 0.001 \
  --lr-warmup-fraction 0.01
