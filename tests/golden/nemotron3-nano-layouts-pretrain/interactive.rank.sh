set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_tp4` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp4() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=4 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp4 \
    checkpoint.async_save=false "$@"
}
export -f run_tp4

# The job's own program, for the GPUs of this node; what is added to `run_tp2_pp2` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp2_pp2() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=2 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp2-pp2 \
    checkpoint.async_save=false "$@"
}
export -f run_tp2_pp2

# The job's own program, for the GPUs of this node; what is added to `run_tp2_cp2` comes last, and wins. The layout is for 4 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_tp2_cp2() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe nemotron_3_nano_pretrain_config \
    --mode pretrain \
    --dataset mock \
    model.tensor_model_parallel_size=2 \
    model.pipeline_model_parallel_size=1 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=2 \
    model.expert_model_parallel_size=8 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=true \
    checkpoint.save=null \
    checkpoint.load=null \
    train.micro_batch_size=1 \
    train.global_batch_size=32 \
    train.train_iters=10 \
    dataset.seq_length=512 \
    scheduler.lr_warmup_iters=2 \
    scheduler.lr_decay_iters=10 \
    logger.log_interval=1 \
    logger.wandb_project=layouts \
    logger.wandb_exp_name=nemotron3-nano-layouts-pretrain-tp2-cp2 \
    checkpoint.async_save=false "$@"
}
export -f run_tp2_cp2

if (($#)); then
  "$@"
  exit
fi
exec bash
