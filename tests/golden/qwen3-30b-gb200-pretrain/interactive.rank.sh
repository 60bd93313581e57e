set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=4 \
#   scripts/training/run_recipe.py \
#   --recipe qwen3_30b_a3b_pretrain_8gpu_gb200_bf16_config \
#   --mode pretrain \
#   model.tensor_model_parallel_size=1 \
#   model.pipeline_model_parallel_size=1 \
#   model.virtual_pipeline_model_parallel_size=null \
#   model.context_parallel_size=1 \
#   model.expert_model_parallel_size=8 \
#   model.expert_tensor_parallel_size=1 \
#   model.sequence_parallel=false \
#   checkpoint.save=null \
#   checkpoint.load=null \
#   train.micro_batch_size=4 \
#   train.global_batch_size=512 \
#   train.train_iters=50 \
#   scheduler.lr_warmup_iters=5 \
#   scheduler.lr_decay_iters=50 \
#   logger.log_interval=1 \
#   checkpoint.async_save=false
if (($#)); then
  exec "$@"
fi
exec bash
