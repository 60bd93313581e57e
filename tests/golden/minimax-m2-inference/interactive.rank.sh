set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   scripts/inference/text_generation.py \
#   --tp 1 \
#   --pp 1 \
#   --ep 16 \
#   --etp 1 \
#   --hf-model-path MiniMaxAI/MiniMax-M2 \
#   --prompt 'What'\''s "artificial" intelligence, and what does it cost in $?' \
#   --max_new_tokens 100 \
#   --use-coordinator
if (($#)); then
  exec "$@"
fi
exec bash
