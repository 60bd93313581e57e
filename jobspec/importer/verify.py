"""Whether a manifest does what its script did: both are traced, and what differs is said, with the reason.

Compared is the script as the import took it (`Result.taken`), with the manifest of that.
"""

from __future__ import annotations

import os.path
import re
from typing import Any, NamedTuple

from jobspec.driver import Session
from jobspec.importer.convert import Result, Wanted, convert
from jobspec.importer.deviations import Deviation, deviations
from jobspec.importer.effects import effect_of
from jobspec.importer.holes import has_hole
from jobspec.importer.owners import Context, Owner, owner_of
from jobspec.importer.verdict import own_variables
from jobspec.trace.inputs import Options, TraceError, at_its_end, trace_text
from jobspec.trace.sandbox import ROOT, SUBMIT_FOLDER

# What the sandbox says of itself.
_OF_THE_SANDBOX = {"HOME": "/home/user", "USER": "user"}


class Verified(NamedTuple):
    """What came of a comparison.

    Attributes:
        found: what differs, and to whom it belongs; ``None`` for nobody: that is another effect.
        problem: why there is nothing to compare, empty where there is.
        ranks: how many tasks of the script were compared, each launch counted by itself.
    """

    found: list[tuple[Deviation, Owner | None]]
    problem: str = ""
    ranks: int = 0

    @property
    def same(self) -> bool:
        """Whether the effects are the same but for what somebody answers for."""
        return not self.problem and all(owner is not None for _, owner in self.found)


def verify(wanted: Wanted, result: Result, *, all_ranks: bool = False) -> Verified:
    """Trace a script and its manifest, and compare.

    Raises:
        SandboxError: nothing can be traced on this machine.
    """
    if not result.compiles:
        return Verified([], "the manifest does not compile")
    taken = convert(wanted._replace(text=result.taken, given=_OF_THE_SANDBOX | result.given | wanted.given))
    compiled = Session().compile_text(taken.alone, "<imported>")
    if compiled.script is None or compiled.plan is None:
        return Verified([], "the manifest does not compile with what has to be filled in")
    text = result.taken if result.taken.startswith("#!") else f"#!/bin/bash\n{result.taken}"
    given = dict(result.given) | dict(wanted.given)
    environment = given | {name: f"secret-of-{name}" for name in result.secrets}
    finished = at_its_end(compiled.plan)
    fakes = _fakes(taken) | finished
    options = Options(environment=environment, fakes=fakes, arguments=wanted.arguments, all_ranks=all_ranks)
    if text is result.taken:
        options = options._replace(nodes=wanted.nodes)
    try:
        documents = [
            trace_text(text, wanted.source, options),
            trace_text(
                compiled.script.text, wanted.source, Options(environment=given, fakes=finished, all_ranks=all_ranks)
            ),
        ]
    except TraceError as error:
        return Verified([], f"the script cannot be run: {error}")
    for side, document in zip(("script", "manifest"), documents, strict=True):
        problem = _problem(document)
        if problem:
            return Verified([], f"the {side} does not run to its end: {problem}")
    effects = [effect_of(document) for document in documents]
    if not effects[0].launches:
        said = re.findall(r"(?:srun|sbatch|salloc): error: .*", documents[0]["stderr"])
        return Verified(
            [],
            "no launch of the script was recorded: what this machine has itself runs unseen"
            + "".join(f"; {line}" for line in said[-1:]),
        )
    variables = own_variables(compiled.spec) if compiled.spec else {}
    context = Context(effects[0], effects[1], taken.report, variables, taken.helpers)
    told = [one for one in deviations(*effects) if not _is_given(one, given, result.secrets)]
    if text is not result.taken:  # a command asks Slurm for nothing
        told = [one for one in told if one.part != "job"]
    found = [(one, owner_of(one, context)) for one in told]
    return Verified(found, ranks=sum(len(one.tasks) for one in effects[0].launches))


def _is_given(one: Deviation, given: dict[str, str], secrets: tuple[str, ...]) -> bool:
    """Whether a variable is one that the comparison itself has put in: a secret is in the shell that submits both."""
    if one.part != "environment":
        return False
    return one.manifest is None if one.name in given else one.script is None and one.name in secrets


def _fakes(taken: Result) -> dict[str, str]:
    """Return the files that a script looks for, and the programs that it starts by their paths, which record it."""
    recorded = f'#!/bin/sh\nexec {ROOT}/bin/record-as "$0" "$@"\n'
    known = ("/bin/", "/usr/", "/sbin/", "/run/", "/proc/", "/dev/")
    found = dict.fromkeys(taken.files, "") | dict.fromkeys(taken.programs, recorded)
    whole = {os.path.normpath(os.path.join(SUBMIT_FOLDER, path)): text for path, text in found.items()}
    return {path: text for path, text in whole.items() if not has_hole(path) and not path.startswith(known)}


def _problem(document: dict[str, Any]) -> str:
    if document["stopped"]:
        return str(document["stopped"])
    if document["exit_code"]:
        said = (document["stderr"] or document["stdout"]).strip().splitlines()
        return f"exit code {document['exit_code']}" + (f", {said[-1]}" if said else "")
    return ""
