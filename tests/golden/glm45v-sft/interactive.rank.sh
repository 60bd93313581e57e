set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 16 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe glm_45v_sft_config \
    --mode sft \
    --dataset cord-v2 \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=8 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=16 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=/lustre/example/results/glm45v-sft \
    checkpoint.load=/lustre/example/results/glm45v-sft \
    train.micro_batch_size=1 \
    train.global_batch_size=64 \
    train.train_iters=1000 \
    dataset.seq_length=8192 \
    optimizer.lr=5e-06 \
    optimizer.min_lr=5e-07 \
    scheduler.lr_warmup_iters=10 \
    scheduler.lr_decay_iters=1000 \
    checkpoint.pretrained_checkpoint=/lustre/example/models/GLM-4.5V/iter_0000000 \
    checkpoint.save_interval=100 \
    train.exit_duration_in_mins=1425 \
    logger.log_interval=1 \
    logger.wandb_project=glm45v \
    logger.wandb_exp_name=glm45v-sft "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
