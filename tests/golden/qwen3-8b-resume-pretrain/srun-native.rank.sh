set -euo pipefail

# Slurm's numbers under the names that torch.distributed reads.
export RANK="$SLURM_PROCID"
export WORLD_SIZE="$SLURM_NTASKS"
export LOCAL_RANK="$SLURM_LOCALID"

cd /opt/Megatron-Bridge

# The first rank of each node does this, and the others wait: they share its container, and so its /tmp.
done_file="/tmp/jobspec-$SLURM_JOB_ID-$SLURM_STEP_ID-${SLURM_RESTART_COUNT:-0}"
if ((SLURM_LOCALID == 0)); then
  code=0
  uv sync || code=$?
  echo "$code" >"$done_file.new"
  mv "$done_file.new" "$done_file"
else
  # A first rank that was killed leaves no word: the others wait an hour, and no longer.
  until [[ -e $done_file ]] || ((SECONDS > 3600)); do sleep 0.5; done
  if [[ ! -e $done_file ]]; then
    echo "jobspec: the first rank of this node did not finish the set-up" >&2
    exit 1
  fi
  code="$(<"$done_file")"
fi
((code == 0)) || exit "$code"

exec uv run --no-sync python scripts/training/run_recipe.py \
  --recipe qwen3_8b_pretrain_16gpu_h100_bf16_config \
  --mode pretrain \
  --dataset megatron-indexed \
  model.tensor_model_parallel_size=1 \
  model.pipeline_model_parallel_size=1 \
  model.virtual_pipeline_model_parallel_size=null \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=1 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=false \
  checkpoint.save=/lustre/example/results/qwen3-8b-resume-pretrain \
  checkpoint.load=/lustre/example/results/qwen3-8b-resume-pretrain \
  train.micro_batch_size=1 \
  train.global_batch_size=1024 \
  train.train_iters=200000 \
  dataset.seq_length=4096 \
  optimizer.lr=0.0003 \
  optimizer.min_lr=3e-05 \
  scheduler.lr_decay_iters=200000 \
  rng.seed=1234 \
  dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document,/lustre/example/data/dclm/dclm_01_02_text_document],[0.7,0.3]]' \
  dataset.split='"9999,8,2"' \
  dataset.path_to_cache=/lustre/example/cache/index \
  checkpoint.save_interval=500 \
  train.exit_duration_in_mins=705 \
  logger.log_interval=10 \
  logger.tensorboard_dir=/lustre/example/results/qwen3-8b-resume-pretrain/tensorboard
