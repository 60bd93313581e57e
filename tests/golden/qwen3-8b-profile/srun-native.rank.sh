set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge

# The ranks of a node are spread over its NUMA nodes in order, as its GPUs are.
numa_node="$((LOCAL_RANK * 2 / 8))"

# One report for each rank that is profiled; the training starts and stops the recording.
profiler=()
case "$RANK" in
  0 | 8)
    profiler=(
      nsys profile
      --sample=none --cpuctxsw=none
      '--trace=cuda,nvtx,cudnn'
      --capture-range=cudaProfilerApi --capture-range-end=stop
      --force-overwrite=true
      --output="/lustre/example/profiles/qwen3-8b-profile_${SLURM_JOB_ID}_rank$RANK"
    )
    ;;
esac
exec \
  numactl --cpunodebind="$numa_node" --membind="$numa_node" \
  "${profiler[@]}" \
  uv run --no-sync python scripts/training/run_recipe.py \
  --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config \
  --mode pretrain \
  --dataset mock \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=1 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=null \
  checkpoint.load=null \
  train.micro_batch_size=1 \
  train.global_batch_size=64 \
  train.train_iters=20 \
  dataset.seq_length=4096 \
  scheduler.lr_warmup_iters=2 \
  scheduler.lr_decay_iters=20 \
  logger.log_interval=1 \
  profiling.use_nsys_profiler=true \
  profiling.profile_ranks='[0,8]' \
  profiling.profile_step_start=10 \
  profiling.profile_step_end=12 \
  checkpoint.async_save=false
