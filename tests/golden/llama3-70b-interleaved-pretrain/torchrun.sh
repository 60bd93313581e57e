#!/bin/bash
# llama3-70b-interleaved-pretrain: pretrain with Megatron Bridge, recipe llama3_70b_pretrain_32gpu_h100_bf16_config
# Virtual pipeline. Each of the 4 stages holds 5 chunks of 4 layers, which shortens the pipeline's bubble.
#
# Nodes:  4 nodes of 8 GPUs
# Layout: tp 4, pp 4, vpp 5, cp 2, ep 1, etp 4, dp 1, sequence parallel
# Batch:  512 samples a step: dp 1, micro batch 1, 512 microbatches, 8192 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=llama3-70b-interleaved-pretrain
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=1-00:00:00
#SBATCH --exclusive
#SBATCH --output=/lustre/example/logs/%x_%j.out
#SBATCH --open-mode=append
#SBATCH --comment="interleaved schedule, 5 chunks a stage"
#SBATCH --signal=TERM@600
#SBATCH --mail-type=FAIL,TIME_LIMIT_90

set -euo pipefail

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 4 && SLURM_NTASKS == 4)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=4 --ntasks=4," \
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
require /lustre/example/data/dclm/dclm_01_01_text_document.idx

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

# What each node runs: torchrun, which starts the ranks. It is read as it stands, so a variable in it is
# the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

cd /opt/Megatron-Bridge
uv sync
# Slurm's signal before the time limit is for the ranks, which save and end. torchrun would give them 30 seconds; it is
# told to pass the signal over (since torch 2.9).
trap '' TERM
export PET_SIGNALS_TO_HANDLE=SIGINT,SIGHUP,SIGQUIT

exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  scripts/training/run_recipe.py \
  --recipe llama3_70b_pretrain_32gpu_h100_bf16_config \
  --mode pretrain \
  model.tensor_model_parallel_size=4 \
  model.pipeline_model_parallel_size=4 \
  model.virtual_pipeline_model_parallel_size=5 \
  model.context_parallel_size=2 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=4 \
  model.sequence_parallel=true \
  checkpoint.save=/lustre/example/results/llama3-70b-interleaved \
  checkpoint.load=/lustre/example/results/llama3-70b-interleaved \
  train.micro_batch_size=1 \
  train.global_batch_size=512 \
  train.train_iters=2000 \
  dataset.seq_length=8192 \
  scheduler.lr_warmup_iters=100 \
  scheduler.lr_decay_iters=2000 \
  dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
  dataset.path_to_cache=/lustre/example/cache/index \
  checkpoint.save_interval=200 \
  train.exit_signal_handler=true \
  train.exit_signal_handler_for_dataloader=true \
  logger.log_interval=5
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/lustre/example/logs/llama3-70b-interleaved-pretrain_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=pmix \
  --export=ALL \
  --cpu-bind=cores \
  --label \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
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
