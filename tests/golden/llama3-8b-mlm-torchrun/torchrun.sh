#!/bin/bash
# llama3-8b-mlm-torchrun: pretrain with Megatron-LM
# A dense 8B model with Megatron-LM under torchrun. It saves at a signal before the limit, and goes on where it was when it is queued again.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 2, pp 1, cp 2, ep 1, etp 2, dp 4, sequence parallel
# Batch:  128 samples a step: dp 4, micro batch 1, 32 microbatches, 8192 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=llama3-8b-mlm-torchrun
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=12:00:00
#SBATCH --exclusive
#SBATCH --output=/lustre/example/logs/%x_%j.out
#SBATCH --open-mode=append
#SBATCH --signal=TERM@600
#SBATCH --requeue

set -euo pipefail

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 2 && SLURM_NTASKS == 2)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=2 --ntasks=2," \
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
require /lustre/example/data/dclm/dclm_01_02_text_document.idx

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

# The allocator grows its segments: less memory is lost between them.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

# Megatron-LM asserts it with tensor or context parallelism: kernels start in the order of the program.
export CUDA_DEVICE_MAX_CONNECTIONS=1

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
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,PYTORCH_CUDA_ALLOC_CONF,CUDA_DEVICE_MAX_CONNECTIONS,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM,MASTER_ADDR,MASTER_PORT \
  bash -c "$warmup_program" warmup

# What each node runs: torchrun, which starts the ranks. It is read as it stands, so a variable in it is
# the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

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
  3rdparty/Megatron-LM/pretrain_gpt.py \
  --num-layers 32 \
  --hidden-size 4096 \
  --ffn-hidden-size 14336 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 8 \
  --max-position-embeddings 8192 \
  --tensor-model-parallel-size 2 \
  --pipeline-model-parallel-size 1 \
  --context-parallel-size 2 \
  --expert-model-parallel-size 1 \
  --expert-tensor-parallel-size 2 \
  --sequence-parallel \
  --micro-batch-size 1 \
  --global-batch-size 128 \
  --seq-length 8192 \
  --train-iters 50000 \
  --lr 0.0003 \
  --min-lr 3e-05 \
  --lr-decay-iters 50000 \
  --data-path 0.7 /lustre/example/data/dclm/dclm_01_01_text_document 0.3 /lustre/example/data/dclm/dclm_01_02_text_document \
  --split 9999,8,2 \
  --data-cache-path /lustre/example/cache/index \
  --save /lustre/example/results/llama3-8b-mlm \
  --load /lustre/example/results/llama3-8b-mlm \
  --save-interval 500 \
  --exit-signal-handler \
  --exit-signal-handler-for-dataloader \
  --log-interval 10 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model meta-llama/Meta-Llama-3-8B \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --position-embedding-type rope \
  --rotary-base 500000 \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --use-distributed-optimizer \
  --lr-warmup-fraction 0.01
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/lustre/example/logs/llama3-8b-mlm-torchrun_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=pmix \
  --export=ALL \
  --container-image=/lustre/example/images/nemo-bridge.sqsh \
  --container-mounts=/lustre:/lustre,/lustre/example/src/Megatron-Bridge:/opt/Megatron-Bridge \
  --no-container-mount-home \
  --container-writable \
  --container-env=HF_TOKEN,HF_HOME,UV_CACHE_DIR,NEMO_HOME,PYTHONUNBUFFERED,TORCH_NCCL_AVOID_RECORD_STREAMS,NCCL_NVLS_ENABLE,PYTORCH_CUDA_ALLOC_CONF,CUDA_DEVICE_MAX_CONNECTIONS,NCCL_IB_TIMEOUT,TOKENIZERS_PARALLELISM,MASTER_ADDR,MASTER_PORT \
  bash -c "$rank_program" rank 2>&1 |
  tee -a "$launch_log" || launch_exit="${PIPESTATUS[0]}"

echo "$SLURM_JOB_NAME: the last losses of $launch_log" || true
grep -saE 'iteration +[0-9]+/' "$launch_log" | grep -aiE 'lm loss|reduced_train_loss' | tail -n 25 || true

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
