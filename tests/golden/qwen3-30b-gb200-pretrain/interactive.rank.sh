set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 2 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=4 \
    scripts/training/run_recipe.py \
    --recipe qwen3_30b_a3b_pretrain_8gpu_gb200_bf16_config \
    --mode pretrain \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=4 \
    train.global_batch_size=512 \
    train.train_iters=50 \
    scheduler.lr_warmup_iters=5 \
    scheduler.lr_decay_iters=50 \
    logger.log_interval=1 \
    checkpoint.async_save=false "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
