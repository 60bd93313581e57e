#!/bin/bash
# qwen3-8b-profile: pretrain with Megatron Bridge, recipe qwen3_8b_pretrain_16gpu_h100_bf16_config
# Nsight Systems on the first rank of each node, ranks bound to the NUMA node of their GPU.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 1, pp 1, cp 1, ep 1, etp 1, dp 16, no sequence parallelism
# Batch:  64 samples a step: dp 16, micro batch 1, 4 microbatches, 4096 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=qwen3-8b-profile
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=14
#SBATCH --mem=0
#SBATCH --time=0:30:00
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
require /lustre/example/profiles

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

# Warm-up: one task of each node installs into the container in which the ranks start below.
IFS= read -r -d '' warmup_program <<'JOBSPEC_WARMUP' || true
set -euo pipefail

cd /opt/Megatron-Bridge
exec uv sync
JOBSPEC_WARMUP

srun \
  --mpi=pmix \
  --export=ALL \
  --ntasks=2 \
  --ntasks-per-node=1 \
  --cpus-per-task=112 \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-name="jobspec-$SLURM_JOB_ID" \
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

# The ranks of a node are spread over its NUMA nodes in order, as its GPUs are.
numa_node="$((LOCAL_RANK * 2 / 8))"

# One report for each rank that is profiled; the training starts and stops the recording.
profiler=()
case "$RANK" in
  0 | 8)
    profiler=(
      nsys profile
      --sample=none --cpuctxsw=none
      '--trace=cuda,nvtx,cudnn'
      --capture-range=cudaProfilerApi --capture-range-end=stop
      --force-overwrite=true
      --output="/lustre/example/profiles/qwen3-8b-profile_${SLURM_JOB_ID}_rank$RANK"
    )
    ;;
esac
exec \
  numactl --cpunodebind="$numa_node" --membind="$numa_node" \
  "${profiler[@]}" \
  uv run --no-sync python scripts/training/run_recipe.py \
  --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config \
  --mode pretrain \
  --dataset mock \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=1 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=null \
  checkpoint.load=null \
  train.micro_batch_size=1 \
  train.global_batch_size=64 \
  train.train_iters=20 \
  dataset.seq_length=4096 \
  scheduler.lr_warmup_iters=2 \
  scheduler.lr_decay_iters=20 \
  logger.log_interval=1 \
  profiling.use_nsys_profiler=true \
  profiling.profile_ranks='[0,8]' \
  profiling.profile_step_start=10 \
  profiling.profile_step_end=12 \
  checkpoint.async_save=false
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/lustre/example/logs/qwen3-8b-profile_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=pmix \
  --export=ALL \
  --cpus-per-task=14 \
  --cpu-bind=none \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-name="jobspec-$SLURM_JOB_ID" \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM,MASTER_ADDR,MASTER_PORT \
  bash -c "$rank_program" rank 2>&1 |
  tee -a "$launch_log" || launch_exit="${PIPESTATUS[0]}"

echo "$SLURM_JOB_NAME: the last losses of $launch_log" || true
grep -saE 'iteration +[0-9]+/' "$launch_log" | grep -aiE 'lm loss|reduced_train_loss' | tail -n 25 || true

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
