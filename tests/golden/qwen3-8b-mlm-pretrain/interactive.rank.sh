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

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
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
    --train-iters 20000 \
    --lr 0.0003 \
    --min-lr 3e-05 \
    --lr-warmup-iters 200 \
    --lr-decay-iters 20000 \
    --eval-iters 10 \
    --eval-interval 1000 \
    --data-path /lustre/example/data/dclm/dclm_01_01_text_document \
    --split 9999,8,2 \
    --data-cache-path /lustre/example/cache/index \
    --save /lustre/example/results/qwen3-8b-mlm \
    --load /lustre/example/results/qwen3-8b-mlm \
    --save-interval 500 \
    --exit-duration-in-mins 1425 \
    --log-interval 10 \
    --tensorboard-dir /lustre/example/results/qwen3-8b-mlm/tensorboard \
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model Qwen/Qwen3-8B \
    --bf16 \
    --swiglu \
    --normalization RMSNorm \
    --norm-epsilon 1e-06 \
    --qk-layernorm \
    --position-embedding-type rope \
    --rotary-base 1000000 \
    --disable-bias-linear \
    --untie-embeddings-and-output-weights \
    --use-distributed-optimizer \
    --overlap-grad-reduce \
    --overlap-param-gather \
    --attention-backend flash \
    --log-throughput "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
