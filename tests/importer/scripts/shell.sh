#!/bin/bash
# A node to try things out on.
salloc --account team -N 1 -J debug -p interactive --gpus-per-node=8 -t 240 \
  srun --mpi=pmix --no-kill --container-image /lustre/nemo.sqsh --container-mounts /lustre:/lustre \
    --no-container-mount-home --gpus-per-node=8 --pty \
    bash -c 'cd /opt/Megatron-Bridge && uv sync && uv run --no-sync python -m torch.distributed.run --nproc_per_node=8 examples/conversion/hf_to_megatron_generate_text.py --hf_model_path Qwen/Qwen3-8B --prompt hi --ep 1'
