#!/bin/bash
#SBATCH --job-name=sizes
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=4:00:00
#SBATCH --partition=gpu
#SBATCH --account=team
#SBATCH --output=logs/sizes_%j.out
#SBATCH --error=logs/sizes_%j.err
#SBATCH --exclusive

SIZE=${1:-large}
WORKSPACE=${WORKSPACE:-/workspace}
MODEL=""
case "$SIZE" in
  small|tiny)
    MODEL=small_moe
    EP=${EP:-8}
    ;;
  large*)
    MODEL="${MODEL:-nemotron_3_nano}"
    EP=${EP:-16}
    ;;
  *)
    echo "ERROR: no size '$SIZE'"
    exit 1
    ;;
esac

CONTAINER_IMAGE=${CONTAINER_IMAGE:-}
if [ -z "$CONTAINER_IMAGE" ]; then
    echo "ERROR: CONTAINER_IMAGE must be set."
    exit 1
fi
mkdir -p logs

PAD=$([ "$EP" -gt 8 ] && echo $((EP * 2)) || echo 1)
STEPS=$((EP > 8 ? 50 : 100))
NAME=$(basename "/models/$MODEL").v1
if (( STEPS % 50 != 0 )); then
    echo "ERROR: steps" >&2
    exit 2
fi

OVERRIDES="train.train_iters=$STEPS train.global_batch_size=32 train.micro_batch_size=1"
[ -n "$LR" ] && OVERRIDES="$OVERRIDES optimizer.lr=$LR"
[ -n "${SEED:-}" ] || OVERRIDES="$OVERRIDES rng.seed=4321"
CMD="uv run --no-sync python /opt/Megatron-Bridge/scripts/training/run_recipe.py"
CMD="$CMD --recipe ${MODEL}_pretrain_config --dataset mock"
CMD="$CMD model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=1"
CMD="$CMD model.expert_model_parallel_size=$EP model.context_parallel_size=1 model.sequence_parallel=True"
CMD="$CMD $(echo "$OVERRIDES" | tr '\n' ' ' | sed 's/  \+/ /g')"
CMD="$CMD checkpoint.save=$WORKSPACE/results/${NAME^^} dataset.pad=$PAD"

SRUN="srun --mpi=pmix --container-image=$CONTAINER_IMAGE"
for mount in $CONTAINER_MOUNTS; do
    SRUN="$SRUN --container-mounts=$mount"
done
$SRUN bash -c "$CMD"

echo "done"
