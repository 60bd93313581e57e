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
  logger.wandb_exp_name=glm45v-sft
