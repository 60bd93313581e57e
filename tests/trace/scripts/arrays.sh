#!/usr/bin/env bash
#SBATCH --nodes=1
#SBATCH --ntasks=4
#SBATCH --array=3-5%1

set -euo pipefail
args=(--config "configs/with blank.yaml" --seed "$SLURM_ARRAY_TASK_ID")
args+=(--note 'dollar $HOME and "quotes"')
launcher=(srun --cpu-bind=none --label)
"${launcher[@]}" python train.py "${args[@]}"
