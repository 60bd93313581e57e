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
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/inference/vlm_generation.py \
    --tp 2 \
    --pp 1 \
    --ep 4 \
    --etp 1 \
    --hf_model_path Qwen/Qwen3-VL-30B-A3B-Instruct \
    --image_path /lustre/example/data/receipt.png \
    --prompt 'How much is 10% of the "Total", in $?' \
    --max_new_tokens 64 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
