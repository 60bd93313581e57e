set -euo pipefail

cd /opt/Megatron-Bridge

# The job's own program, for the GPUs of this node:
# uv run --no-sync nvidia-smi topo \
#   -m
if (($#)); then
  exec "$@"
fi
exec bash
