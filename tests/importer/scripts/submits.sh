#!/bin/bash
# Builds the command here, and submits it as a job.
IMAGE=${IMAGE:-/lustre/pytorch.sqsh}
SOURCE=/lustre/src/Megatron-LM
ARGS=(
    --tensor-model-parallel-size 8 --sequence-parallel
    --num-layers 80 --hidden-size 8192 --num-attention-heads 64 --group-query-attention --num-query-groups 8
    --max-position-embeddings 8192 --seq-length 8192
    --micro-batch-size 1 --global-batch-size 256 --train-iters 100 --lr 1e-4
    --mock-data --tokenizer-type NullTokenizer --vocab-size 128256 --bf16
)
ARGS=("${ARGS[@]}" --save /lustre/results/70b --save-interval 50)
RUN="
cd ${SOURCE};
export PYTHONPATH=${SOURCE}:${PYTHONPATH};
python ${SOURCE}/pretrain_gpt.py ${ARGS[@]}"

sbatch --account=team <<EOF
#!/bin/bash
#SBATCH --job-name=dense-70b
#SBATCH --partition=batch
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:8
#SBATCH --time=12:00:00
#SBATCH --exclusive
#SBATCH --dependency=singleton
#SBATCH --output=/lustre/logs/%j.out

srun --mpi=pmix -l --container-image=${IMAGE} --container-mounts=/lustre:/lustre \
    bash -x -c "${RUN}" 2>&1 | tee /lustre/logs/\${SLURM_JOB_ID}.log
EOF
