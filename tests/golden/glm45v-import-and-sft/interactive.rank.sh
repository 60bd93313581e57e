set -euo pipefail

# A set-up that fails still gives a shell, to find out why.
if (($# == 0)); then
  trap 'echo "jobspec: the set-up has failed with exit code $?" >&2; exec bash' ERR
fi

cd /opt/Megatron-Bridge
uv sync
trap - ERR

# The job's own program, for the GPUs of this node; what is added to `run_import` comes last, and wins. The layout is for 16 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_import() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/conversion/run_conversion.py import \
    --device gpu \
    --hf-model zai-org/GLM-4.5V \
    --megatron-path /lustre/example/models/GLM-4.5V \
    --distributed-timeout-minutes 120 \
    --tp 1 \
    --pp 2 \
    --ep 16 \
    --etp 1 "$@"
}
export -f run_import

# The job's own program, for the GPUs of this node; what is added to `run_train` comes last, and wins. The layout is for 16 nodes: give smaller sizes.
# It saves and resumes where the job does, unless it is told otherwise.
run_train() {
  uv run --no-sync python -m torch.distributed.run --standalone --nproc_per_node=8 \
    scripts/training/run_recipe.py \
    --recipe glm_45v_sft_config \
    --mode sft \
    --dataset cord-v2 \
    model.tensor_model_parallel_size=1 \
    model.pipeline_model_parallel_size=8 \
    model.virtual_pipeline_model_parallel_size=null \
    model.context_parallel_size=1 \
    model.expert_model_parallel_size=16 \
    model.expert_tensor_parallel_size=1 \
    model.sequence_parallel=false \
    checkpoint.save=/lustre/example/results/glm45v-import-and-sft \
    checkpoint.load=/lustre/example/results/glm45v-import-and-sft \
    train.micro_batch_size=1 \
    train.global_batch_size=64 \
    train.train_iters=1000 \
    dataset.seq_length=8192 \
    scheduler.lr_warmup_iters=10 \
    scheduler.lr_decay_iters=1000 \
    checkpoint.pretrained_checkpoint=/lustre/example/models/GLM-4.5V/iter_0000000 \
    checkpoint.save_interval=100 \
    train.exit_signal_handler=true \
    train.exit_signal_handler_for_dataloader=true "$@"
}
export -f run_train

if (($#)); then
  "$@"
  exit
fi
exec bash
