"""The target ``torchrun``: Slurm starts one task for each node, and ``torch.distributed.run`` the ranks on it."""

from __future__ import annotations

from jobspec.ir.plan import Plan, Program, Spread
from jobspec.shell.commands import Command, command
from jobspec.shell.words import Var, word
from jobspec.targets.protocol import Target
from jobspec.targets.sbatch import Launcher, compile_sbatch, rank_prefixes


def torchrun_main(plan: Plan, program: Program) -> Command:
    """Return torchrun with the job's script.

    The node's number is the task's own. Address and port are always given: without them torchrun meets at
    127.0.0.1:29500, whatever MASTER_ADDR says, and no node finds another (torch/distributed/run.py).
    """
    return command(
        (*program.python, "-m", "torch.distributed.run"),
        f"--nproc_per_node={plan.job.gpus_per_node}",
        word("--nnodes=", Var("SLURM_JOB_NUM_NODES")),
        word("--node_rank=", Var("SLURM_NODEID")),
        word("--master_addr=", Var("MASTER_ADDR")),
        word("--master_port=", Var("MASTER_PORT")),
        *program.main.groups,
    )


def _unsupported(plan: Plan) -> dict[str, str]:
    """Return what torchrun cannot start: no Python, not once a GPU, or with a word before each rank's own."""
    found: dict[str, str] = {}
    for launch in plan.launches:
        if launch.program.python[-1:] != ("python",):
            found["/command/argv"] = "a program that does not begin with `python`"
        elif launch.spread is not Spread.PER_GPU:
            found["/command/spread"] = f"the spread `{launch.spread}`"
        found |= rank_prefixes(launch)
    if plan.resume and any(option == "signal" for option, _ in plan.job.options):
        # torch/distributed/launcher/api.py: a signal raises SignalException, and the agent ends with an error
        found["/launch/resume"] = "a job that goes on after `slurm.signal`; `checkpoint.minutes_before_limit` it can"
    return found


_LAUNCHER = Launcher(
    template="torchrun/rank.sh.j2",
    comment="What each node runs: torchrun, which starts the ranks. It is read as it stands, so a variable in it is\n"
    "the task's own.",
    tasks_per_node=lambda _plan: 1,
    main=torchrun_main,
)

TARGET = Target(
    name="torchrun",
    summary="sbatch script; srun starts torchrun on each node. For programs that insist on its environment",
    frameworks=frozenset({"bridge", "mlm"}),
    compile=lambda plan: compile_sbatch(plan, _LAUNCHER),
    unsupported=_unsupported,
)
