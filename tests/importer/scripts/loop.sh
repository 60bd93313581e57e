#!/bin/bash
# Three layouts of one model, one after the other.
#SBATCH --job-name=layouts
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=02:00:00
#SBATCH --partition=batch
#SBATCH --account=team
#SBATCH --output=/lustre/logs/%j.out
#SBATCH --exclusive

LAYOUTS=("4,1,8,True" "2,2,8,True" "1,4,8,False")
for LAYOUT in "${LAYOUTS[@]}"; do
    IFS=',' read -r TP PP EP SP <<< "$LAYOUT"
    if [ "$TP" = 1 ]; then
        EXTRA="model.recompute_granularity=full"
    else
        EXTRA=""
    fi
    srun --container-image=/lustre/nemo.sqsh --container-mounts=/lustre:/lustre bash -c "
        uv run --no-sync python /opt/Megatron-Bridge/scripts/training/run_recipe.py \
            --recipe nemotron_3_nano_pretrain_config --dataset mock \
            train.micro_batch_size=1 train.global_batch_size=32 train.train_iters=10 scheduler.lr_warmup_iters=2 \
            model.tensor_model_parallel_size=$TP model.pipeline_model_parallel_size=$PP \
            model.expert_model_parallel_size=$EP model.sequence_parallel=$SP model.context_parallel_size=1 \
            logger.wandb_project=layouts logger.wandb_exp_name=layouts_tp${TP}_pp${PP} $EXTRA"
    CODE=$?
    if [ $CODE -ne 0 ]; then
        echo "tp $TP failed with $CODE"
        exit $CODE
    fi
done
