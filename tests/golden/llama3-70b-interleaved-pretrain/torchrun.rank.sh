set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
# Slurm's signal before the time limit is for the ranks, which save and end. torchrun would give them 30 seconds; it is
# told to pass the signal over (since torch 2.9).
trap '' TERM
export PET_SIGNALS_TO_HANDLE=SIGINT,SIGHUP,SIGQUIT

exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/training/run_recipe.py \
  --recipe llama3_70b_pretrain_32gpu_h100_bf16_config \
  --mode pretrain \
  model.tensor_model_parallel_size=4 \
  model.pipeline_model_parallel_size=4 \
  model.virtual_pipeline_model_parallel_size=5 \
  model.context_parallel_size=2 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=4 \
  model.sequence_parallel=true \
  checkpoint.save=/lustre/example/results/llama3-70b-interleaved \
  checkpoint.load=/lustre/example/results/llama3-70b-interleaved \
  train.micro_batch_size=1 \
  train.global_batch_size=512 \
  train.train_iters=2000 \
  dataset.seq_length=8192 \
  scheduler.lr_warmup_iters=100 \
  scheduler.lr_decay_iters=2000 \
  dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
  dataset.path_to_cache=/lustre/example/cache/index \
  checkpoint.save_interval=200 \
  train.exit_signal_handler=true \
  train.exit_signal_handler_for_dataloader=true \
  logger.log_interval=5
