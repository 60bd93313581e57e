set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   scripts/conversion/run_conversion.py import \
#   --device gpu \
#   --hf-model zai-org/GLM-4.5V \
#   --megatron-path /lustre/example/models/GLM-4.5V \
#   --torch-dtype bfloat16 \
#   --distributed-timeout-minutes 120 \
#   --tp 1 \
#   --pp 2 \
#   --ep 8 \
#   --etp 1
if (($#)); then
  exec "$@"
fi
exec bash
