#!/bin/bash
# nemotron3-nano-fsdp-gb200-pretrain: pretrain with Megatron Bridge, recipe nemotron_3_nano_pretrain_config
# Megatron FSDP with hybrid sharding and MXFP8 on eight GB200 nodes of four GPUs.
#
# Nodes:  8 nodes of 4 GPUs
# Layout: tp 1, pp 1, cp 1, ep 4, etp 1, dp 32, no sequence parallelism
# Batch:  32 samples a step: dp 32, micro batch 1, 1 microbatch, 512 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /scratch/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=nemotron3-nano-fsdp-gb200-pretrain
#SBATCH --account=pretrain
#SBATCH --partition=gb200
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --mem=0
#SBATCH --time=1:00:00
#SBATCH --exclusive
#SBATCH --output=/scratch/logs/%x_%j.out
#SBATCH --open-mode=append
#SBATCH --segment=8

set -euo pipefail

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 8 && SLURM_NTASKS == 8)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=8 --ntasks=8," \
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
require /scratch

# Caches that all nodes share: what one prepares, the others find.
export HF_HOME=/scratch/cache/huggingface
export UV_CACHE_DIR=/scratch/cache/uv
export NEMO_HOME=/scratch/cache/nemo

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# From the cluster file and the manifest.
export NCCL_NET_GDR_LEVEL=PHB
export NCCL_NET_GDR_C2C=1

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
  --container-image='nvcr.io#nvidia/nemo:26.06' \
  --container-mounts=/scratch:/scratch \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NET_GDR_LEVEL,NCCL_NET_GDR_C2C,MASTER_ADDR,MASTER_PORT \
  bash -c "$warmup_program" warmup

# What each node runs: torchrun, which starts the ranks. It is read as it stands, so a variable in it is
# the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=4 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/training/run_recipe.py \
  --recipe nemotron_3_nano_pretrain_config \
  --mode pretrain \
  --dataset mock \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=1 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=4 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=/scratch/example/results/nemotron3-nano-fsdp \
  checkpoint.load=/scratch/example/results/nemotron3-nano-fsdp \
  train.micro_batch_size=1 \
  train.global_batch_size=32 \
  train.train_iters=10 \
  dataset.seq_length=512 \
  scheduler.lr_warmup_iters=2 \
  scheduler.lr_decay_iters=10 \
  checkpoint.save_interval=10 \
  train.exit_duration_in_mins=55 \
  logger.log_interval=1 \
  ddp.use_megatron_fsdp=true \
  ddp.num_distributed_optimizer_instances=2 \
  ddp.fp8_param_gather=true \
  checkpoint.ckpt_format=fsdp_dtensor \
  model.moe_token_dispatcher_type=flex \
  model.moe_flex_dispatcher_backend=hybridep \
  model.fp8=e4m3 \
  model.fp8_recipe=mxfp8
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/scratch/logs/nemotron3-nano-fsdp-gb200-pretrain_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=pmix \
  --export=ALL \
  --container-image='nvcr.io#nvidia/nemo:26.06' \
  --container-mounts=/scratch:/scratch \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NET_GDR_LEVEL,NCCL_NET_GDR_C2C,MASTER_ADDR,MASTER_PORT \
  bash -c "$rank_program" rank 2>&1 |
  tee -a "$launch_log" || launch_exit="${PIPESTATUS[0]}"

echo "$SLURM_JOB_NAME: the last losses of $launch_log" || true
grep -saE 'iteration +[0-9]+/' "$launch_log" | grep -aiE 'lm loss|reduced_train_loss' | tail -n 25 || true

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
