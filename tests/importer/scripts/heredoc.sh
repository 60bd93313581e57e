#!/bin/bash
#SBATCH --job-name=inner
#SBATCH --nodes=8
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-node=4
#SBATCH --time=04:00:00
#SBATCH --partition=gb200
#SBATCH --account=team
#SBATCH --output=/scratch/logs/%j.out
#SBATCH --exclusive
set -euo pipefail

CHECKOUT=${CHECKOUT:-/opt/Megatron-Bridge}
LOG_DIR=/scratch/logs
export PYTHONUNBUFFERED=1 NVTE_FWD_LAYERNORM_SM_MARGIN=20
export MASTER_PORT=${MASTER_PORT:-29500}
GPUS_PER_NODE=${SLURM_GPUS_PER_NODE:-4}

OVERRIDES="\
    model.pipeline_model_parallel_size=4 \
    model.tensor_model_parallel_size=1 \
    model.expert_model_parallel_size=8 \
    model.context_parallel_size=1 \
    train.micro_batch_size=1 \
    train.global_batch_size=64 \
    train.train_iters=50 \
    scheduler.lr_warmup_iters=10 \
    checkpoint.pretrained_checkpoint=/scratch/models/step \
    checkpoint.save=/scratch/results/step \
    checkpoint.save_interval=0"

read -r -d '' INNER <<'EOF' || true
set -euo pipefail
export MASTER_ADDR=$(scontrol show hostnames "${SLURM_JOB_NODELIST}" | head -n1)
export RANK=${SLURM_PROCID} WORLD_SIZE=${SLURM_NTASKS} LOCAL_RANK=${SLURM_LOCALID}
cd "${CHECKOUT}"
uv run --no-sync python scripts/training/run_recipe.py \
    --recipe step37_flickr8k_sft_smoke_config \
    ${OVERRIDES}
EOF

srun --mpi=pmix --container-image=/scratch/nemo.sqsh --container-mounts=/scratch:/scratch \
    --nodes="${SLURM_JOB_NUM_NODES}" --ntasks-per-node="${GPUS_PER_NODE}" \
    --output="${LOG_DIR}/step_%j.out" --wait=60 --kill-on-bad-exit=1 --no-container-mount-home \
    bash -c "export OVERRIDES=\"${OVERRIDES}\" CHECKOUT=\"${CHECKOUT}\"; ${INNER}"
