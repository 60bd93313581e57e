set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python scripts/conversion/run_conversion.py export \
  --device gpu \
  --hf-model zai-org/GLM-4.5V \
  --megatron-path /lustre/example/results/glm45v-sft/iter_0001000 \
  --hf-path /lustre/example/export/glm45v-sft \
  --distributed-timeout-minutes 120 \
  --tp 1 \
  --pp 2 \
  --ep 8 \
  --etp 1
