set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_job` comes last, and wins. The layout is for 2 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_job() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/inference/text_generation.py \
    --tp 1 \
    --pp 1 \
    --ep 16 \
    --etp 1 \
    --hf-model-path MiniMaxAI/MiniMax-M2 \
    --prompt 'What'\''s "artificial" intelligence, and what does it cost in $?' \
    --max_new_tokens 100 \
    --use-coordinator "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
