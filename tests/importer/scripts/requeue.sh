#!/bin/bash
# Pretraining that goes on in the same job until it is finished.

#SBATCH --job-name=dense-pretrain
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=04:00:00
#SBATCH --account=dense
#SBATCH --partition=batch
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --signal=TERM@600
#SBATCH --open-mode=append
#SBATCH --output=/lustre/team/logs/%x_%j.out

set -uo pipefail

SAVE=/lustre/team/results/dense
export HF_HOME=/lustre/team/cache/hf NEMO_HOME=/lustre/team/cache/nemo

srun --mpi=pmix \
  --container-image=/lustre/team/images/nemo.sqsh --container-mounts=/lustre:/lustre --no-container-mount-home \
  bash -c "cd /opt/Megatron-Bridge && python scripts/training/run_recipe.py \
    --recipe llama3_8b_pretrain_config --dataset mock \
    model.tensor_model_parallel_size=2 \
    train.micro_batch_size=1 train.global_batch_size=128 train.train_iters=50000 \
    dataset.seq_length=8192 \
    checkpoint.save=$SAVE checkpoint.load=$SAVE checkpoint.save_interval=500"

# 50000 iterations take about six of these.
done_iters=$(cat $SAVE/latest_checkpointed_iteration.txt)
if [ "$done_iters" -lt 50000 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 12 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
