set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/inference/text_generation.py \
  --tp 1 \
  --pp 1 \
  --ep 16 \
  --etp 1 \
  --hf-model-path MiniMaxAI/MiniMax-M2 \
  --prompt 'What'\''s "artificial" intelligence, and what does it cost in $?' \
  --max_new_tokens 100 \
  --use-coordinator
