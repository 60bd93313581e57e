#!/bin/bash
# qwen3-8b-mlm-pretrain: pretrain with Megatron-LM
# The dense 8B model with Megatron-LM, without torchrun; tensor and sequence parallel in a node.
#
# Nodes:  4 nodes of 8 GPUs
# Layout: tp 4, pp 1, cp 1, ep 1, etp 4, dp 8, sequence parallel
# Batch:  256 samples a step: dp 8, micro batch 2, 16 microbatches, 4096 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /lustre/example/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=qwen3-8b-mlm-pretrain
#SBATCH --account=llm
#SBATCH --partition=batch
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=24:00:00
#SBATCH --exclusive
#SBATCH --output=/lustre/example/logs/%x_%j.out
#SBATCH --open-mode=append

set -euo pipefail

# Secrets come from the shell that runs sbatch; their values stand nowhere in this script.
: "${HF_TOKEN:?set it in the shell that runs sbatch}"

# An option on sbatch's command line wins over the lines above, but the layout below is made for these nodes.
((SLURM_JOB_NUM_NODES == 4 && SLURM_NTASKS == 32)) || {
  echo "$SLURM_JOB_NAME: compiled for --nodes=4 --ntasks=32," \
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

# What each rank runs. It is read as it stands, so a variable in it is the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/opt/Megatron-Bridge/3rdparty/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

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

exec uv run --no-sync python 3rdparty/Megatron-LM/pretrain_gpt.py \
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
  --train-iters 20000 \
  --lr 0.0003 \
  --min-lr 3e-05 \
  --lr-warmup-iters 200 \
  --lr-decay-iters 20000 \
  --eval-iters 10 \
  --eval-interval 1000 \
  --data-path /lustre/example/data/dclm/dclm_01_01_text_document \
  --split 9999,8,2 \
  --data-cache-path /lustre/example/cache/index \
  --save /lustre/example/results/qwen3-8b-mlm \
  --load /lustre/example/results/qwen3-8b-mlm \
  --save-interval 500 \
  --exit-duration-in-mins 1425 \
  --log-interval 10 \
  --tensorboard-dir /lustre/example/results/qwen3-8b-mlm/tensorboard \
  --tokenizer-type HuggingFaceTokenizer \
  --tokenizer-model Qwen/Qwen3-8B \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --norm-epsilon 1e-06 \
  --qk-layernorm \
  --position-embedding-type rope \
  --rotary-base 1000000 \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --use-distributed-optimizer \
  --overlap-grad-reduce \
  --overlap-param-gather \
  --attention-backend flash \
  --log-throughput
JOBSPEC_RANK

# Launch. --container-env: without it a variable that the image sets would win over the one set here.
launch_log="/lustre/example/logs/qwen3-8b-mlm-pretrain_$SLURM_JOB_ID.log"
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
