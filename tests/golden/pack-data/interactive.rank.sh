set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python 3rdparty/Megatron-LM/tools/preprocess_data.py \
    --input /lustre/example/data/raw/dclm_01_01.jsonl \
    --output-prefix /lustre/example/data/dclm/dclm_01_01 \
    --tokenizer-type HuggingFaceTokenizer \
    --tokenizer-model Qwen/Qwen3-8B \
    --append-eod \
    --workers 64 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
