#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2
#SBATCH --job-name=escaped

WORKDIR=/opt/Megatron-LM
OPTIONS="--tensor-model-parallel-size 2 --lr 1e-4"
TRAIN_CMD="export CUDA_DEVICE_MAX_CONNECTIONS=1; \
cd $WORKDIR; \
uv run python -m torch.distributed.run \
  --nproc_per_node=8 --nnodes=\$SLURM_NNODES --node_rank=\$SLURM_PROCID \
  --master_addr=\$(scontrol show hostnames \$SLURM_JOB_NODELIST | head -n1) --master_port=6000 \
  pretrain_gpt.py $OPTIONS --data-path '/data/one two'"
srun --container-image nvcr.io#nvidia/nemo:26.06 --container-mounts "/data:/data:ro,$PWD:/workspace" \
  --no-container-mount-home bash -c "${TRAIN_CMD}" 2>&1 | tee /lustre/logs/run-"$SLURM_JOB_ID".log
