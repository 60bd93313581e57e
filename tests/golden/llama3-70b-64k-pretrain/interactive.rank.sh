set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 32 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe llama3_70b_pretrain_256gpu_h100_bf16_64k_config \
    --mode pretrain \
    model.tensor_model_parallel_size=8 \
    model.pipeline_model_parallel_size=4 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=8 \
    model.expert_model_parallel_size=1 \
    model.expert_tensor_parallel_size=8 \
    model.sequence_parallel=true \
    checkpoint.save=/lustre/example/results/llama3-70b-64k \
    checkpoint.load=/lustre/example/results/llama3-70b-64k \
    train.micro_batch_size=1 \
    train.global_batch_size=512 \
    train.train_iters=1000 \
    dataset.seq_length=65536 \
    scheduler.lr_warmup_iters=50 \
    scheduler.lr_decay_iters=1000 \
    dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
    dataset.path_to_cache=/lustre/example/cache/index \
    checkpoint.save_interval=100 \
    train.exit_duration_in_mins=1420 \
    logger.log_interval=1 \
    dist.distributed_timeout_minutes=60 \
    checkpoint.async_save=true "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
