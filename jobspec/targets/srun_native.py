"""The target ``srun-native``: Slurm starts one task for each GPU, without torchrun."""

from __future__ import annotations

from jobspec.targets.protocol import Target
from jobspec.targets.sbatch import Launcher, compile_sbatch, plain_main

_LAUNCHER = Launcher(
    template="srun-native/rank.sh.j2",
    comment="What each rank runs. It is read as it stands, so a variable in it is the task's own.",
    tasks_per_node=lambda plan: max(1, plan.job.gpus_per_node),
    main=plain_main,
)

TARGET = Target(
    name="srun-native",
    summary="sbatch script; srun starts one task for each GPU. The default, for all that needs no torchrun",
    frameworks=frozenset({"bridge", "mlm"}),
    compile=lambda plan: compile_sbatch(plan, _LAUNCHER),
)
