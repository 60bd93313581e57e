#!/bin/bash
# mixtral-mlm-bare: pretrain with Megatron-LM
# A mixture of experts with Megatron-LM, on a site without containers, uv or PMIx.
#
# Nodes:  2 nodes of 8 GPUs
# Layout: tp 1, pp 2, cp 1, ep 8, etp 1, dp 8, no sequence parallelism
# Batch:  256 samples a step: dp 8, micro batch 1, 32 microbatches, 4096 tokens a sample
#
# Slurm does not make the folder of --output, and without it the job ends at once and leaves no log. So:
#   mkdir -p /nfs/logs
#   sbatch THIS_SCRIPT
#
# Compiled by jobspec: change the manifest, not this text.

#SBATCH --job-name=mixtral-mlm-bare
#SBATCH --partition=gpu
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=12
#SBATCH --mem=900G
#SBATCH --time=1-00:00:00
#SBATCH --output=/nfs/logs/%x_%j.out
#SBATCH --open-mode=append

set -euo pipefail

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
require /nfs/src/Megatron-LM

# Caches that all nodes share: what one prepares, the others find.
export HF_HOME=/nfs/cache/huggingface

# The log holds what a rank said last, also when it is killed.
export PYTHONUNBUFFERED=1

# Free the buffers of collectives as they finish.
export TORCH_NCCL_AVOID_RECORD_STREAMS=1

# No reduction inside of NVSwitch: it takes memory of each GPU.
export NCCL_NVLS_ENABLE=0

# The allocator grows its segments: less memory is lost between them.
export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True

# The ranks meet on the first node. The port lies below the range of short-lived ports, and follows the job's ID, since
# jobs that share a node need different ones.
hosts="$(scontrol show hostnames "$SLURM_JOB_NODELIST")"
export MASTER_ADDR="${hosts%%$'\n'*}"
export MASTER_PORT="$((15000 + SLURM_JOB_ID % 17000))"

echo "$SLURM_JOB_NAME: job $SLURM_JOB_ID on $SLURM_JOB_NUM_NODES nodes, meeting at $MASTER_ADDR:$MASTER_PORT;" \
  "run $((${SLURM_RESTART_COUNT:-0} + 1)), $(date -u +%FT%TZ), $SLURM_JOB_NODELIST" || true # the log's disk may be full
# The last word of a run. One that has neither it nor a word of Slurm's was on a first node that failed.
trap 'echo "$SLURM_JOB_NAME: end of the run" || true' EXIT

# What each rank runs. It is read as it stands, so a variable in it is the task's own.
IFS= read -r -d '' rank_program <<'JOBSPEC_RANK' || true
set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

# From the cluster file and the manifest.
export PATH=/nfs/venv/bin:/usr/bin:/bin

# This checkout comes before a package of the same name in the image.
export PYTHONPATH=/nfs/src/Megatron-LM"${PYTHONPATH:+:$PYTHONPATH}"

cd /nfs/src/Megatron-LM
exec python pretrain_gpt.py \
  --num-layers 32 \
  --hidden-size 4096 \
  --ffn-hidden-size 14336 \
  --num-attention-heads 32 \
  --group-query-attention \
  --num-query-groups 8 \
  --max-position-embeddings 32768 \
  --num-experts 8 \
  --moe-router-topk 2 \
  --tensor-model-parallel-size 1 \
  --pipeline-model-parallel-size 2 \
  --context-parallel-size 1 \
  --expert-model-parallel-size 8 \
  --expert-tensor-parallel-size 1 \
  --micro-batch-size 1 \
  --global-batch-size 256 \
  --seq-length 4096 \
  --train-iters 5000 \
  --lr 0.0001 \
  --min-lr 1e-05 \
  --lr-decay-iters 5000 \
  --mock-data \
  --save /nfs/results/mixtral \
  --load /nfs/results/mixtral \
  --save-interval 500 \
  --exit-duration-in-mins 1425 \
  --log-interval 1 \
  --tokenizer-type NullTokenizer \
  --vocab-size 32000 \
  --bf16 \
  --swiglu \
  --normalization RMSNorm \
  --disable-bias-linear \
  --untie-embeddings-and-output-weights \
  --position-embedding-type rope \
  --moe-token-dispatcher-type alltoall \
  --use-distributed-optimizer \
  --lr-warmup-fraction 0.01 \
  --recompute-granularity full \
  --recompute-method uniform \
  --recompute-num-layers 1
JOBSPEC_RANK

# Launch.
launch_log="/nfs/logs/mixtral-mlm-bare_$SLURM_JOB_ID.log"
launch_exit=0
srun \
  --mpi=none \
  --export=ALL \
  --cpus-per-task=12 \
  bash -c "$rank_program" rank 2>&1 |
  tee -a "$launch_log" || launch_exit="${PIPESTATUS[0]}"

echo "$SLURM_JOB_NAME: the last losses of $launch_log" || true
grep -saE 'iteration +[0-9]+/' "$launch_log" | grep -aiE 'lm loss|reduced_train_loss' | tail -n 25 || true

# The launch's own exit code is the job's, whatever tee and the report did.
exit "$launch_exit"
