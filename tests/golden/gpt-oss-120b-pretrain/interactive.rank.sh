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
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe gpt_oss_120b_pretrain_64gpu_h100_bf16_config \
    --mode pretrain \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=4 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=16 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=/lustre/example/results/gpt-oss-120b \
    checkpoint.load=/lustre/example/results/gpt-oss-120b \
    train.micro_batch_size=1 \
    train.global_batch_size=512 \
    train.train_iters=1000 \
    dataset.seq_length=4096 \
    scheduler.lr_warmup_iters=50 \
    scheduler.lr_decay_iters=1000 \
    dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
    dataset.path_to_cache=/lustre/example/cache/index \
    checkpoint.save_interval=250 \
    train.exit_duration_in_mins=1425 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
