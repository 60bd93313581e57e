#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --job-name=two-phase
CONTAINER="--container-image=/lustre/image.sqsh --container-mounts=/lustre:/lustre"
srun -N 1 --ntasks=1 $CONTAINER bash -c "cd /opt/Megatron-Bridge && uv sync"
srun $CONTAINER bash -c '
cd /opt/Megatron-Bridge
if [ "$SLURM_LOCALID" -eq 0 ]; then
  uv sync && touch /tmp/synced
else
  while [ ! -e /tmp/synced ]; do sleep 5; done
fi
uv run --no-sync python convert.py --ep 8'
