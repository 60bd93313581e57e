set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 8 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=4 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=4 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=/scratch/example/results/nemotron3-nano-fsdp \
    checkpoint.load=/scratch/example/results/nemotron3-nano-fsdp \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    checkpoint.save_interval=10 \
    train.exit_duration_in_mins=55 \
    logger.log_interval=1 \
    ddp.use_megatron_fsdp=true \
    ddp.num_distributed_optimizer_instances=2 \
    ddp.fp8_param_gather=true \
    checkpoint.ckpt_format=fsdp_dtensor \
    model.moe_token_dispatcher_type=flex \
    model.moe_flex_dispatcher_backend=hybridep \
    model.fp8=e4m3 \
    model.fp8_recipe=mxfp8 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
