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
  scripts/conversion/run_conversion.py import \
  --device gpu \
  --hf-model zai-org/GLM-4.5V \
  --megatron-path /lustre/example/models/GLM-4.5V \
  --distributed-timeout-minutes 120 \
  --tp 1 \
  --pp 2 \
  --ep 16 \
  --etp 1

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
  checkpoint.save=/lustre/example/results/glm45v-import-and-sft \
  checkpoint.load=/lustre/example/results/glm45v-import-and-sft \
  train.micro_batch_size=1 \
  train.global_batch_size=64 \
  train.train_iters=1000 \
  dataset.seq_length=8192 \
  scheduler.lr_warmup_iters=10 \
  scheduler.lr_decay_iters=1000 \
  checkpoint.pretrained_checkpoint=/lustre/example/models/GLM-4.5V/iter_0000000 \
  checkpoint.save_interval=100 \
  train.exit_signal_handler=true \
  train.exit_signal_handler_for_dataloader=true
