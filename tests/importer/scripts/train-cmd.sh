#!/bin/bash
#SBATCH --job-name=gpt-torchrun
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --time=00:30:00
#SBATCH --account=<YOUR_ACCOUNT>
#SBATCH --partition=batch
#SBATCH --output=/lustre/logs/%x_%j.log
#SBATCH --exclusive

IMAGE="/lustre/images/nemo.sqsh"
WORKDIR="/opt/Megatron-Bridge"
LOGDIR="/lustre/logs/gpt"
TP=2; PP=1
MBS=1; GBS=256
export HF_TOKEN=<YOUR_HF_TOKEN>
export HF_HOME="/lustre/hf"

TRAIN_CMD="
export CUDA_DEVICE_MAX_CONNECTIONS=1 && \
export HF_TOKEN=$HF_TOKEN && \
export HF_HOME=$HF_HOME && \
wandb login \$WANDB_API_KEY && \
mkdir -p $LOGDIR && \
cd $WORKDIR && \
uv sync && \
PYTHONPATH=${WORKDIR}/3rdparty/Megatron-LM:\${PYTHONPATH:-} \
uv run python -m torch.distributed.run \
  --nproc_per_node=8 \
  --nnodes=\${SLURM_JOB_NUM_NODES} \
  --node_rank=\${SLURM_NODEID} \
  3rdparty/Megatron-LM/pretrain_gpt.py \
  --tensor-model-parallel-size $TP --sequence-parallel \
  --pipeline-model-parallel-size $PP \
  --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --group-query-attention --num-query-groups 8 \
  --max-position-embeddings 4096 --seq-length 4096 \
  --micro-batch-size $MBS --global-batch-size $GBS \
  --train-samples 256000 --lr 3e-4 --min-lr 3e-5 --lr-warmup-fraction 0.01 \
  --data-path 0.7 /lustre/data/a_text_document 0.3 /lustre/data/b_text_document --split 99,1,0 \
  --save /lustre/results/gpt --load /lustre/results/gpt --save-interval 500 \
  --tokenizer-type NullTokenizer --vocab-size 32000 --bf16 --swiglu --disable-bias-linear
"

echo \"Job: \$SLURM_JOB_ID\"

srun --mpi=pmix --no-kill \
  --container-image="$IMAGE" --container-mounts="/lustre:/lustre" --no-container-mount-home \
  bash -c "$TRAIN_CMD" 2>&1 | tee "$LOGDIR/gpt_${SLURM_JOB_ID}.log"
