set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   scripts/conversion/run_conversion.py roundtrip \
#   --device gpu \
#   --hf-model moonshotai/Kimi-K2.5 \
#   --trust-remote-code \
#   --distributed-timeout-minutes 240 \
#   --tp 2 \
#   --pp 1 \
#   --ep 48 \
#   --etp 1
if (($#)); then
  exec "$@"
fi
exec bash
