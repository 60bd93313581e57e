set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python 3rdparty/Megatron-LM/tools/preprocess_data.py \
  --input /lustre/example/data/raw/dclm_01_01.jsonl \
  --output-prefix /lustre/example/data/dclm/dclm_01_01 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model Qwen/Qwen3-8B \
  --append-eod \
  --workers 64
