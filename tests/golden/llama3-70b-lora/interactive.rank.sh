set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe llama3_70b_peft_config \
    --mode lora \
    model.tensor_model_parallel_size=8 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=1 \
    model.expert_tensor_parallel_size=8 \
    model.sequence_parallel=false \
    checkpoint.save=/lustre/example/results/llama3-70b-lora \
    checkpoint.load=/lustre/example/results/llama3-70b-lora \
    train.micro_batch_size=1 \
    train.global_batch_size=8 \
    train.train_iters=500 \
    dataset.seq_length=4096 \
    optimizer.lr=0.0001 \
    scheduler.lr_decay_iters=500 \
    checkpoint.pretrained_checkpoint=/lustre/example/models/Meta-Llama-3-70B/iter_0000000 \
    train.exit_duration_in_mins=230 \
    logger.log_interval=1 \
    peft.dim=16 \
    peft.alpha=32 \
    peft.target_modules='[linear_qkv,linear_proj]' "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
