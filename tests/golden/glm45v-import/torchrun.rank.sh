set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/conversion/run_conversion.py import \
  --device gpu \
  --hf-model zai-org/GLM-4.5V \
  --megatron-path /lustre/example/models/GLM-4.5V \
  --torch-dtype bfloat16 \
  --distributed-timeout-minutes 120 \
  --tp 1 \
  --pp 2 \
  --ep 8 \
  --etp 1
