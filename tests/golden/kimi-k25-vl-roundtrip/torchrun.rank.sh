set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/conversion/run_conversion.py roundtrip \
  --device gpu \
  --hf-model moonshotai/Kimi-K2.5 \
  --trust-remote-code \
  --distributed-timeout-minutes 240 \
  --tp 2 \
  --pp 1 \
  --ep 48 \
  --etp 1
