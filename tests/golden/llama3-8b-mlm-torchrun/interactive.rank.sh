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
    --num-layers 32 \
    --hidden-size 4096 \
    --ffn-hidden-size 14336 \
    --num-attention-heads 32 \
    --group-query-attention \
    --num-query-groups 8 \
    --max-position-embeddings 8192 \
    --tensor-model-parallel-size 2 \
    --pipeline-model-parallel-size 1 \
    --context-parallel-size 2 \
    --expert-model-parallel-size 1 \
    --expert-tensor-parallel-size 2 \
    --sequence-parallel \
    --micro-batch-size 1 \
    --global-batch-size 128 \
    --seq-length 8192 \
    --train-iters 50000 \
    --lr 0.0003 \
    --min-lr 3e-05 \
    --lr-decay-iters 50000 \
    --data-path 0.7 /lustre/example/data/dclm/dclm_01_01_text_document 0.3 /lustre/example/data/dclm/dclm_01_02_text_document \
    --split 9999,8,2 \
    --data-cache-path /lustre/example/cache/index \
    --save /lustre/example/results/llama3-8b-mlm \
    --load /lustre/example/results/llama3-8b-mlm \
    --save-interval 500 \
    --exit-signal-handler \
    --exit-signal-handler-for-dataloader \
    --log-interval 10 \
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model meta-llama/Meta-Llama-3-8B \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --position-embedding-type rope \
    --rotary-base 500000 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --use-distributed-optimizer \
    --lr-warmup-fraction 0.01 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
