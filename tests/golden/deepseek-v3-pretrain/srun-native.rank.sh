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
  --recipe deepseek_v3_pretrain_1024gpu_h100_bf16_config \
  --mode pretrain \
  model.tensor_model_parallel_size=2 \
  model.pipeline_model_parallel_size=16 \
  model.virtual_pipeline_model_parallel_size=2 \
  model.context_parallel_size=1 \
  model.expert_model_parallel_size=64 \
  model.expert_tensor_parallel_size=1 \
  model.sequence_parallel=true \
  checkpoint.save=/lustre/example/results/deepseek-v3 \
  checkpoint.load=/lustre/example/results/deepseek-v3 \
  model.pipeline_model_parallel_layout='"Et*3|(tt|)*29m|L"' \
  train.micro_batch_size=1 \
  train.global_batch_size=4096 \
  train.train_iters=100000 \
  dataset.seq_length=4096 \
  scheduler.lr_warmup_iters=2000 \
  scheduler.lr_decay_iters=100000 \
  dataset.blend='[[/lustre/example/data/dclm/dclm_01_01_text_document],null]' \
  dataset.path_to_cache=/lustre/example/cache/index \
  checkpoint.save_interval=250 \
  train.exit_duration_in_mins=1410 \
  logger.log_interval=1 \
  logger.tensorboard_dir=/lustre/example/results/deepseek-v3/tensorboard
