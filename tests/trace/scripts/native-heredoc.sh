#!/bin/bash
#SBATCH --job-name=heredoc --nodes=2
#SBATCH --ntasks-per-node=4 --gpus-per-node=4
#SBATCH --time=00:30:00
#SBATCH --output="/lustre/logs/with blank/%x-%j.out"   # what follows is a comment

export NCCL_DEBUG=WARN
export HF_TOKEN=hf_abcdefghijklmnopqrstuvwx12
srun --mpi=pmix --container-image=/lustre/images/train.sqsh --container-mounts=/lustre bash -s <<'EOF'
set -eu
cd /opt/train
export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
exec uv run python train.py --name "a name" --token "$HF_TOKEN"
EOF
