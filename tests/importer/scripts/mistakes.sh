#!/bin/bash
#SBATCH --job-name=mistakes
#SBATCH --nodes=2
export NCCL_DEBUG=INFO
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=2:00:00
# SBATCH --qos=high
#SBATCH --no-container-mount-home
#SBATCH --output=logs/%j.out
mkdir -p logs
HIDDEN=4
export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567
srun --container-image=/lustre/nemo.sqsh --container-mounts=/lustre:/lustre --container-mounts=/data:/data \
  bash -c "torchrun --nproc_per_node=8 --nnodes=2 --node_rank=$SLURM_PROCID /opt/Megatron-Bridge/scripts/training/run_recipe.py \
    --recipe llama3_8b_pretrain_config --step gpt train.global_batch_size=30 train.micro_batch_size=\$HIDDEN \
    model.tensor_model_parallel_size=2 model.tensor_model_parallel_size=4 train.train_iters=nope ++a.b=1 c.x={d:1}" | tee logs/x.log
