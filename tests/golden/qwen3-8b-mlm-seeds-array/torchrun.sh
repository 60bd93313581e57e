#!/bin/bash
# qwen3-8b-mlm-seeds: pretrain with Megatron-LM
# A job array of six tasks, two learning rates with three seeds; at most two run at a time.
#
# Nodes:  1 node of 8 GPUs
# Layout: tp 4, pp 1, cp 1, ep 1, etp 4, dp 2, sequence parallel
# Batch:  256 samples a step: dp 2, micro batch 2, 64 microbatches, 4096 tokens a sample
#
# task  point           training.lr  training.seed
# 0     lr1.0e-4-seed1  1.0e-4       1
# 1     lr1.0e-4-seed2  1.0e-4       2
# 2     lr1.0e-4-seed3  1.0e-4       3
# 3     lr3.0e-4-seed1  3.0e-4       1
# 4     lr3.0e-4-seed2  3.0e-4       2
# 5     lr3.0e-4-seed3  3.0e-4       3
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=qwen3-8b-mlm-seeds
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=4:00:00
#SBATCH --exclusive
#SBATCH --array=0-5%2
#SBATCH --output=/lustre/example/logs/%x_%A_%a.out
#SBATCH --open-mode=append

set -euo pipefail

# Each task of the array is a point of the sweep; what is its own stands in a `case` below.
case "${SLURM_ARRAY_TASK_ID:?this script is for a job array}" in
  0) point=lr1.0e-4-seed1 ;;
  1) point=lr1.0e-4-seed2 ;;
  2) point=lr1.0e-4-seed3 ;;
  3) point=lr3.0e-4-seed1 ;;
  4) point=lr3.0e-4-seed2 ;;
  5) point=lr3.0e-4-seed3 ;;
  *)
    echo "$SLURM_JOB_NAME: there is no point $SLURM_ARRAY_TASK_ID" >&2
    exit 1
    ;;
esac
echo "$SLURM_JOB_NAME: task $SLURM_ARRAY_TASK_ID is the point $point"

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 1 && SLURM_NTASKS == 1)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=1 --ntasks=1," \
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

echo "$SLURM_JOB_NAME: job $SLURM_JOB_ID on $SLURM_JOB_NUM_NODES nodes, meeting at $MASTER_ADDR:$MASTER_PORT"

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
case "$SLURM_ARRAY_TASK_ID" in
  0)
    own_1=(--lr 0.0001)
    own_2=(--seed 1)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed1
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed1
    )
    ;;
  1)
    own_1=(--lr 0.0001)
    own_2=(--seed 2)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed2
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed2
    )
    ;;
  2)
    own_1=(--lr 0.0001)
    own_2=(--seed 3)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed3
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr1.0e-4-seed3
    )
    ;;
  3)
    own_1=(--lr 0.0003)
    own_2=(--seed 1)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed1
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed1
    )
    ;;
  4)
    own_1=(--lr 0.0003)
    own_2=(--seed 2)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed2
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed2
    )
    ;;
  5)
    own_1=(--lr 0.0003)
    own_2=(--seed 3)
    own_3=(
      --save /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed3
      --load /lustre/example/results/qwen3-8b-mlm-seeds/lr3.0e-4-seed3
    )
    ;;
esac

exec uv run --no-sync python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes="$SLURM_JOB_NUM_NODES" \
  --node_rank="$SLURM_NODEID" \
  --master_addr="$MASTER_ADDR" \
  --master_port="$MASTER_PORT" \
  3rdparty/Megatron-LM/pretrain_gpt.py \
  --num-layers 36 \
  --hidden-size 4096 \
  --ffn-hidden-size 12288 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 8 \
  --kv-channels 128 \
  --max-position-embeddings 40960 \
  --tensor-model-parallel-size 4 \
  --pipeline-model-parallel-size 1 \
  --context-parallel-size 1 \
  --expert-model-parallel-size 1 \
  --expert-tensor-parallel-size 4 \
  --sequence-parallel \
  --micro-batch-size 2 \
  --global-batch-size 256 \
  --seq-length 4096 \
  --train-iters 2000 \
  "${own_1[@]}" \
  --min-lr 1e-05 \
  --lr-warmup-iters 200 \
  --lr-decay-iters 2000 \
  "${own_2[@]}" \
  --data-path /lustre/example/data/dclm/dclm_01_01_text_document \
  --split 9999,8,2 \
  --data-cache-path /lustre/example/cache/index \
  "${own_3[@]}" \
  --save-interval 500 \
  --exit-duration-in-mins 225 \
  --log-interval 10 \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model Qwen/Qwen3-8B \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --qk-layernorm \
  --position-embedding-type rope \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --use-distributed-optimizer
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
case "$SLURM_ARRAY_TASK_ID" in
  0)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr1.0e-4-seed1_$SLURM_JOB_ID.log"
    ;;
  1)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr1.0e-4-seed2_$SLURM_JOB_ID.log"
    ;;
  2)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr1.0e-4-seed3_$SLURM_JOB_ID.log"
    ;;
  3)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr3.0e-4-seed1_$SLURM_JOB_ID.log"
    ;;
  4)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr3.0e-4-seed2_$SLURM_JOB_ID.log"
    ;;
  5)
    launch_log="/lustre/example/logs/qwen3-8b-mlm-seeds-lr3.0e-4-seed3_$SLURM_JOB_ID.log"
    ;;
esac
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

echo "$SLURM_JOB_NAME: the last losses of $launch_log"
grep -saE 'iteration +[0-9]+/' "$launch_log" | grep -aiE 'lm loss|reduced_train_loss' | tail -n 25 || true

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
