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
  logger.log_interval=1
