set -euo pipefail

cd /opt/Megatron-Bridge
uv sync

# The job's own program, for the GPUs of this node:
# uv run --no-sync python 3rdparty/Megatron-LM/tools/preprocess_data.py \
#   --input /lustre/example/data/raw/dclm_01_01.jsonl \
#   --output-prefix /lustre/example/data/dclm/dclm_01_01 \
#   --tokenizer-type HuggingFaceTokenizer \
#   --tokenizer-model Qwen/Qwen3-8B \
#   --append-eod \
#   --workers 64
if (($#)); then
  exec "$@"
fi
exec bash
