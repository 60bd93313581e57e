#!/usr/bin/env bash
#SBATCH --job-name=positional
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=00:45:00
#SBATCH --partition=batch
#SBATCH --output=/lustre/logs/%j.log
#SBATCH --exclusive
set -euo pipefail
: "${CONTAINER_IMAGE:?Set CONTAINER_IMAGE}"
: "${HF_TOKEN:?Set HF_TOKEN}"
WORKDIR=${WORKDIR:-/opt/Megatron-Bridge}
SRUN=(
    srun
    --mpi=pmix
    --container-image="${CONTAINER_IMAGE}"
    --container-mounts=/lustre:/lustre
    --no-container-mount-home
)
"${SRUN[@]}" --nodes=1 --ntasks=1 bash -lc 'cd "$1" && uv sync --extra te' sync "${WORKDIR}"
"${SRUN[@]}" bash -lc '
    export RANK="${SLURM_PROCID:?}" WORLD_SIZE="${SLURM_NTASKS:?}"
    cd "$1"
    uv run --no-sync python examples/conversion/hf_to_megatron_generate_text.py \
        --hf_model_path "$2" --prompt "$3" --tp "$4" --pp 1 --ep "$5" --trust-remote-code
' generate "${WORKDIR}" MiniMaxAI/MiniMax-M3 "Why is the sky blue?" 1 32
