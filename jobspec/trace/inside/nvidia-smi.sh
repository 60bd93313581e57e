#!/bin/sh
# Some GPUs, so that a script can count them.
gpu=0
case "$*" in
  *-L* | *--list-gpus* | *--query-gpu*)
    while [ "$gpu" -lt "${SLURM_GPUS_ON_NODE:-8}" ]; do
      echo "GPU $gpu: stand-in"
      gpu=$((gpu + 1))
    done
    ;;
esac
