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
    scripts/conversion/run_conversion.py import \
    --device gpu \
    --hf-model zai-org/GLM-4.5V \
    --megatron-path /lustre/example/models/GLM-4.5V \
    --torch-dtype bfloat16 \
    --distributed-timeout-minutes 120 \
    --tp 1 \
    --pp 2 \
    --ep 8 \
    --etp 1 "$@"
}
export -f run_job

if (($#)); then
  "$@"
  exit
fi
exec bash
