#!/bin/bash
#SBATCH --job-name=import-and-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=8:00:00
#SBATCH --partition=batch
#SBATCH --account=team
#SBATCH --output=/lustre/logs/%j.out
#SBATCH --exclusive
set -e

CKPT=/lustre/models/minimax
in_container() {
    local what="$1"
    shift
    echo "== $what"
    srun --mpi=pmix --container-image=/lustre/nemo.sqsh --container-mounts=/lustre:/lustre \
        bash -c "cd /opt/Megatron-Bridge && uv run --no-sync python $*"
}

if [ ! -f "$CKPT/latest_checkpointed_iteration.txt" ]; then
    in_container import scripts/conversion/run_conversion.py import --device gpu \
        --hf-model MiniMaxAI/MiniMax-M2 --megatron-path "$CKPT" --tp 2 --pp 1 --ep 8 --trust-remote-code
fi
in_container train scripts/training/run_recipe.py --model minimax_m2 --mode lora -tp 2 -pp 1 -ep 8 -cp 1 \
    --global_batch_size 16 --micro_batch_size 1 --max_steps 20 --warmup_iters 2 \
    --pretrained_checkpoint "$CKPT" --save_dir /lustre/results/minimax-lora
