#!/bin/bash
# Run on a login node, not by sbatch.
salloc --nodes=1 --gpus-per-node 2 --time=30 \
  srun --pty --container-image=/images/debug.sqsh bash -c 'python -c "import torch" && nvidia-smi'
