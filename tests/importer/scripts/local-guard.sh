#!/bin/bash
#SBATCH --job-name=generate
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=1:00:00
#SBATCH --partition=batch
#SBATCH --output=/lustre/logs/generate_%j.log
#SBATCH --exclusive

MODEL=MiniMaxAI/MiniMax-M2
PROMPT="What is AI, and what's not?"
printf -v PROMPT_WORD '%q' "$PROMPT"

CMD="if [ \"\$SLURM_LOCALID\" -eq 0 ]; then uv sync; else sleep 10; fi && "
CMD="${CMD}uv run --no-sync python scripts/inference/text_generation.py --hf_model_path $MODEL"
CMD="$CMD --prompt $PROMPT_WORD --max_new_tokens 100 --tp 1 --ep 16 --use-coordinator --frobnicate 3"

srun --mpi=pmix --container-image=nvcr.io/nvidia/nemo:26.04 --container-mounts=/lustre:/lustre \
  bash -c "cd /opt/Megatron-Bridge && $CMD"
echo "Inference completed"
