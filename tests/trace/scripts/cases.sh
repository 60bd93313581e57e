#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1

MODEL=${MODEL:-small}
case $MODEL in
  small) layers=12 batch=8 ;;
  large) layers=48 batch=1 ;;
  *) echo "no such model: $MODEL" >&2; exit 2 ;;
esac
extra=${EXTRA_FLAGS-}
srun --export=ALL,MODEL="$MODEL",BATCH=$batch python pretrain.py --layers $layers $extra
