#!/bin/bash
# minimax-m2-roundtrip: roundtrip with Megatron Bridge
# To Megatron and back, compared with what it began as. Weights only, so 32 experts a GPU fit.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 2, pp 1, ep 8, etp 1
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=minimax-m2-roundtrip
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=2:00:00
#SBATCH --exclusive
#SBATCH --output=/lustre/example/logs/%x_%j.out
#SBATCH --open-mode=append

set -euo pipefail

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 2 && SLURM_NTASKS == 16)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=2 --ntasks=16," \
    "but the job has --nodes=$SLURM_JOB_NUM_NODES --ntasks=$SLURM_NTASKS" >&2
  exit 1
}

# What the launch needs to be there; what is missing is named here, before anything starts.
require() {
  [[ -e $1 ]] || {
    echo "$SLURM_JOB_NAME: $1 does not exist on $SLURMD_NODENAME" >&2
    exit 1
  }
}
require /lustre/example/images/nemo-bridge.sqsh
require /lustre
require /lustre/example/src/Megatron-Bridge

# Caches that all nodes share: what one prepares, the others find.
export HF_HOME=/lustre/example/cache/huggingface
export UV_CACHE_DIR=/lustre/example/cache/uv
export NEMO_HOME=/lustre/example/cache/nemo

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# No reduction inside of NVSwitch: it takes memory of each GPU.
export NCCL_NVLS_ENABLE=0

# From the cluster file and the manifest.
export NCCL_IB_TIMEOUT=19
export TOKENIZERS_PARALLELISM=False

# The ranks meet on the first node. The port lies below the range of short-lived ports, and follows the job's ID, since
# jobs that share a node need different ones.
hosts="$(scontrol show hostnames "$SLURM_JOB_NODELIST")"
export MASTER_ADDR="${hosts%%$'\n'*}"
export MASTER_PORT="$((15000 + SLURM_JOB_ID % 17000))"

echo "$SLURM_JOB_NAME: job $SLURM_JOB_ID on $SLURM_JOB_NUM_NODES nodes, meeting at $MASTER_ADDR:$MASTER_PORT;" \
  "run $((${SLURM_RESTART_COUNT:-0} + 1)), $(date -u +%FT%TZ), $SLURM_JOB_NODELIST" || true # the log's disk may be full
# The last word of a run. One that has neither it nor a word of Slurm's was on a first node that failed.
trap 'echo "$SLURM_JOB_NAME: end of the run" || true' EXIT

# Warm-up: one task fills the shared uv cache, so that the nodes below install from it instead of all building wheels.
IFS= read -r -d '' warmup_program <<'JOBSPEC_WARMUP' || true
set -euo pipefail

cd /opt/Megatron-Bridge
exec uv sync
JOBSPEC_WARMUP

srun \
  --mpi=pmix \
  --export=ALL \
  --nodes=1 \
  --ntasks=1 \
  --ntasks-per-node=1 \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM,MASTER_ADDR,MASTER_PORT \
  bash -c "$warmup_program" warmup

# What each rank runs. It is read as it stands, so a variable in it is the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge

# The first rank of each node does this, and the others wait: they share its container, and so its /tmp.
done_file="/tmp/jobspec-$SLURM_JOB_ID-$SLURM_STEP_ID-${SLURM_RESTART_COUNT:-0}"
if ((SLURM_LOCALID == 0)); then
  code=0
  uv sync || code=$?
  echo "$code" >"$done_file.new"
  mv "$done_file.new" "$done_file"
else
  # A first rank that was killed leaves no word: the others wait an hour, and no longer.
  until [[ -e $done_file ]] || ((SECONDS > 3600)); do sleep 0.5; done
  if [[ ! -e $done_file ]]; then
    echo "jobspec: the first rank of this node did not finish the set-up" >&2
    exit 1
  fi
  code="$(<"$done_file")"
fi
((code == 0)) || exit "$code"

exec uv run --no-sync python scripts/conversion/run_conversion.py roundtrip \
  --device gpu \
  --hf-model MiniMaxAI/MiniMax-M2 \
  --trust-remote-code \
  --distributed-timeout-minutes 60 \
  --tp 2 \
  --pp 1 \
  --ep 8 \
  --etp 1
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/lustre/example/logs/minimax-m2-roundtrip_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=pmix \
  --export=ALL \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM,MASTER_ADDR,MASTER_PORT \
  bash -c "$rank_program" rank 2>&1 |
  tee -a "$launch_log" || launch_exit="${PIPESTATUS[0]}"

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
