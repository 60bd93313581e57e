set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   examples/conversion/hf_to_megatron_generate_text.py \
#   --tp 1 \
#   --pp 1 \
#   --ep 32 \
#   --etp 1 \
#   --hf_model_path zai-org/GLM-4.7 \
#   --prompt 'Hello, how are you?' \
#   --max_new_tokens 100
if (($#)); then
  exec "$@"
fi
exec bash
