set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/training/run_recipe.py \
  --recipe qwen3_8b_pretrain_config \
  --mode pretrain \
  --dataset mock \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=1 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=null \
  checkpoint.load=null \
  train.micro_batch_size=1 \
  train.global_batch_size=32 \
  train.train_iters=10 \
  dataset.seq_length=4096 \
  scheduler.lr_warmup_iters=1 \
  scheduler.lr_decay_iters=10 \
  logger.log_interval=1 \
  checkpoint.async_save=false
