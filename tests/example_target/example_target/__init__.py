"""A target of another package: a script that a person runs inside of an allocation that is there already.

It is one module, one template folder and one entry point; jobspec itself needs no change.
"""

from __future__ import annotations

from importlib.resources import files

from jobspec.ir.plan import Plan, Scope, StepKind
from jobspec.shell.commands import command
from jobspec.shell.template import render_text
from jobspec.shell.words import Var, word
from jobspec.targets.protocol import Script, Target
from jobspec.targets.sbatch import container_flags, exports, plain_main, program_values


def _template(name: str) -> str:
    return (files(__name__) / "templates" / name).read_text("utf-8")


def _compile(plan: Plan) -> Script:
    launch = next(step.program for step in plan.steps if step.kind is StepKind.LAUNCH)
    program = render_text(
        _template("rank.sh.j2"), **program_values(plan, launch, alone=True), main=plain_main(plan, launch)
    )
    step = command(
        "srun", f"--mpi={plan.mpi}", *container_flags(plan), ("bash", "-c", word(Var("rank_program")), "rank")
    )
    text = render_text(
        _template("script.sh.j2"), env=exports(plan, Scope.BATCH), rank_program=program, nodes=plan.job.nodes, step=step
    )
    return Script(text=text, rank_program=program)


TARGET = Target(
    name="example",
    summary="a script for an allocation that is there already",
    frameworks=frozenset({"bridge", "mlm"}),
    compile=_compile,
)
