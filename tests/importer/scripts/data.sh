#!/bin/bash
#SBATCH --job-name=pack
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=01:00:00
#SBATCH --partition=cpu
#SBATCH --account=team
#SBATCH --output=/lustre/logs/pack_%j.out
[ -n "${HF_HOME:-}" ] && export HF_HOME
srun --container-image=/lustre/nemo.sqsh --container-mounts=/lustre:/lustre bash -c "
    uv run --no-sync python /opt/Megatron-Bridge/scripts/data/pack.py --input '/lustre/raw data/a.jsonl' --workers 16
"
