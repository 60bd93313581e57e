set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
#   scripts/inference/vlm_generation.py \
#   --tp 2 \
#   --pp 1 \
#   --ep 4 \
#   --etp 1 \
#   --hf_model_path Qwen/Qwen3-VL-30B-A3B-Instruct \
#   --image_path /lustre/example/data/receipt.png \
#   --prompt 'How much is 10% of the "Total", in $?' \
#   --max_new_tokens 64
if (($#)); then
  exec "$@"
fi
exec bash
