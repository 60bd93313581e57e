set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python scripts/inference/text_generation.py \
  --tp 1 \
  --pp 1 \
  --ep 16 \
  --etp 1 \
  --hf-model-path MiniMaxAI/MiniMax-M2 \
  --prompt 'What'\''s "artificial" intelligence, and what does it cost in $?' \
  --max_new_tokens 100 \
  --use-coordinator
