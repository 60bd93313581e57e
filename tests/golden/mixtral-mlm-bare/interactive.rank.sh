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
