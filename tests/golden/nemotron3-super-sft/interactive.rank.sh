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
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_super_sft_16gpu_h100_bf16_config \
    --mode sft \
    --dataset squad \
    model.tensor_model_parallel_size=8 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=16 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=/lustre/example/results/nemotron3-super-sft \
    checkpoint.load=/lustre/example/results/nemotron3-super-sft \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=500 \
    dataset.seq_length=2048 \
    optimizer.lr=5e-06 \
    scheduler.lr_warmup_iters=50 \
    scheduler.lr_decay_iters=500 \
    checkpoint.pretrained_checkpoint=/lustre/example/models/Nemotron-3-Super/iter_0000000 \
    checkpoint.save_interval=50 \
    train.exit_duration_in_mins=465 \
    logger.log_interval=1 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
