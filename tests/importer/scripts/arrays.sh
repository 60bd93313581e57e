#!/bin/bash
#SBATCH --job-name=llama-mlm
#SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:h100:8
#SBATCH --cpus-per-task=96
#SBATCH --mem=0
#SBATCH --time=2-00
#SBATCH --partition=gpu
#SBATCH --output=/nfs/logs/%j.out
#SBATCH --requeue
#SBATCH --signal=B:TERM@600
set -eo pipefail

MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=$((10000 + SLURM_JOB_ID % 20000))
GPUS=8

DISTRIBUTED=(
    --nproc_per_node "$GPUS"
    --nnodes "$SLURM_NNODES"
    --master_addr "$MASTER_ADDR"
    --master_port "$MASTER_PORT"
)
MODEL=(
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention --num-query-groups 8
    --max-position-embeddings 8192
    --seq-length 8192
    --position-embedding-type rope
    --swiglu --bf16 --untie-embeddings-and-output-weights --disable-bias-linear
)
TRAINING=(
    --micro-batch-size 1
    --global-batch-size 128
    --train-iters 10000
    --lr 1.5e-4 --min-lr 1.0e-5
    --lr-warmup-iters 200
    --exit-duration-in-mins 2820
    --mock-data --tokenizer-type NullTokenizer --vocab-size 128256
)
TRAINING+=(--use-distributed-optimizer)
if [[ $GPUS -gt 4 ]]; then
    TRAINING+=(--overlap-grad-reduce)
fi
PARALLEL=(
    --tensor-model-parallel-size 4
    --context-parallel-size 2   # the sequence does not fit on one
    --sequence-parallel
)

srun bash -c "cd /nfs/src/Megatron-LM && torchrun ${DISTRIBUTED[*]} --node_rank \$SLURM_NODEID \
    pretrain_gpt.py ${MODEL[*]} ${TRAINING[*]} ${PARALLEL[*]} \
    --save /nfs/results/llama --save-interval 500 --tensorboard-dir /nfs/results/llama/tb \
    --wandb-project llama --wandb-exp-name first"
