set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  examples/conversion/hf_to_megatron_generate_text.py \
  --tp 1 \
  --pp 1 \
  --ep 32 \
  --etp 1 \
  --hf_model_path zai-org/GLM-4.7 \
  --prompt 'Hello, how are you?' \
  --max_new_tokens 100
