#!/bin/bash
#SBATCH --nodes=1 --ntasks=1
set -e
source ./lib/settings.sh
module load cuda/12.4
conda activate train
mkdir -p logs
start 2>logs/err.txt
