#!/bin/bash
# A round trip of the checkpoint, submitted from the login node.
set -euo pipefail
: "${CONTAINER_IMAGE:?Set CONTAINER_IMAGE}"
MOUNTS=(--mount /lustre:/lustre)
IFS=',' read -r -a EXTRA <<< "${CONTAINER_MOUNTS:-}"
for mount in "${EXTRA[@]}"; do
    MOUNTS+=(--mount "${mount}")
done
scripts/conversion/convert.sh roundtrip \
    --executor slurm --device gpu --nodes 8 --gpus-per-node 8 \
    --account team --partition "${SLURM_PARTITION:-batch}" --time 01:00:00 \
    --container-image "${CONTAINER_IMAGE}" "${MOUNTS[@]}" --experiment-name glm5-roundtrip \
    --hf-model zai-org/GLM-5 --tp 1 --pp 2 --ep 32 --etp 1 "$@"
