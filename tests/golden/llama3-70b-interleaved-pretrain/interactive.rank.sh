set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe llama3_70b_pretrain_32gpu_h100_bf16_config \
    --mode pretrain \
    model.tensor_model_parallel_size=4 \
    model.pipeline_model_parallel_size=4 \
    model.virtual_pipeline_model_parallel_size=5 \
    model.context_parallel_size=2 \
    model.expert_model_parallel_size=1 \
    model.expert_tensor_parallel_size=4 \
    model.sequence_parallel=true \
    checkpoint.save=/lustre/example/results/llama3-70b-interleaved \
    checkpoint.load=/lustre/example/results/llama3-70b-interleaved \
    train.micro_batch_size=1 \
    train.global_batch_size=512 \
    train.train_iters=2000 \
    dataset.seq_length=8192 \
    scheduler.lr_warmup_iters=100 \
    scheduler.lr_decay_iters=2000 \
    dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
    dataset.path_to_cache=/lustre/example/cache/index \
    checkpoint.save_interval=200 \
    train.exit_signal_handler=true \
    train.exit_signal_handler_for_dataloader=true \
    logger.log_interval=5 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
