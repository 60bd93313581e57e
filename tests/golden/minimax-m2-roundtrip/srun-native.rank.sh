set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python scripts/conversion/run_conversion.py roundtrip \
  --device gpu \
  --hf-model MiniMaxAI/MiniMax-M2 \
  --trust-remote-code \
  --distributed-timeout-minutes 60 \
  --tp 2 \
  --pp 1 \
  --ep 8 \
  --etp 1
