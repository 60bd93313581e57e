set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   scripts/training/run_recipe.py \
#   --recipe gpt_oss_120b_pretrain_64gpu_h100_bf16_config \
#   --mode pretrain \
#   model.tensor_model_parallel_size=2 \
#   model.pipeline_model_parallel_size=4 \
#   model.virtual_pipeline_model_parallel_size=null \
#   model.context_parallel_size=1 \
#   model.expert_model_parallel_size=16 \
#   model.expert_tensor_parallel_size=1 \
#   model.sequence_parallel=true \
#   checkpoint.save=/lustre/example/results/gpt-oss-120b \
#   checkpoint.load=/lustre/example/results/gpt-oss-120b \
#   train.micro_batch_size=1 \
#   train.global_batch_size=512 \
#   train.train_iters=1000 \
#   dataset.seq_length=4096 \
#   scheduler.lr_warmup_iters=50 \
#   scheduler.lr_decay_iters=1000 \
#   dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
#   dataset.path_to_cache=/lustre/example/cache/index \
#   checkpoint.save_interval=250 \
#   train.exit_duration_in_mins=1425
if (($#)); then
  exec "$@"
fi
exec bash
