set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/inference/vlm_generation.py \
  --tp 2 \
  --pp 1 \
  --ep 4 \
  --etp 1 \
  --hf_model_path Qwen/Qwen3-VL-30B-A3B-Instruct \
  --image_path /lustre/example/data/receipt.png \
  --prompt 'How much is 10% of the "Total", in $?' \
  --max_new_tokens 64
