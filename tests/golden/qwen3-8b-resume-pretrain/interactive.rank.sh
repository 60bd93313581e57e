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
    --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config \
    --mode pretrain \
    --dataset megatron-indexed \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=1 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=/lustre/example/results/qwen3-8b-resume-pretrain \
    checkpoint.load=/lustre/example/results/qwen3-8b-resume-pretrain \
    train.micro_batch_size=1 \
    train.global_batch_size=1024 \
    train.train_iters=200000 \
    dataset.seq_length=4096 \
    optimizer.lr=0.0003 \
    optimizer.min_lr=3e-05 \
    scheduler.lr_decay_iters=200000 \
    rng.seed=1234 \
    dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document,/lustre/example/data/dclm/dclm_01_02_text_document],[0.7,0.3]]' \
    dataset.split='"9999,8,2"' \
    dataset.path_to_cache=/lustre/example/cache/index \
    checkpoint.save_interval=500 \
    train.exit_duration_in_mins=705 \
    logger.log_interval=10 \
    logger.tensorboard_dir=/lustre/example/results/qwen3-8b-resume-pretrain/tensorboard "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
