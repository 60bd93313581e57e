"""Start a training again that ended before its time limit, until it is finished."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Resume
from jobspec.ir.required_paths import host_path
from jobspec.spec.model import Spec

# Megatron-LM, megatron/training/checkpointing.py, get_checkpoint_tracker_filename; Megatron Bridge writes it too.
_TRACKER = "latest_checkpointed_iteration.txt"


def go_on(plan: Plan, spec: Spec) -> Plan:
    """Say when the job starts again, and let Slurm do it, also after a node failed."""
    attempts, save, iterations = spec.launch.resume_attempts, spec.checkpoint.save, spec.training.train_iters
    if attempts is None:
        return plan
    # Rule JS283 has seen to it that these are there.
    assert save is not None  # noqa: S101
    assert iterations is not None  # noqa: S101
    folder = host_path(save, spec.container.mounts) if spec.container.enabled else save
    assert folder is not None  # noqa: S101
    options = plan.job.options
    if not any(name == "requeue" for name, _ in options):
        options = (*options, ("requeue", None))  # a site may have JobRequeue=0
    return plan._replace(
        job=plan.job._replace(options=options),
        resume=Resume(attempts, f"{folder.rstrip('/')}/{_TRACKER}", iterations),
    )
