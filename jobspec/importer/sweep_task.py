"""A job array that jobspec has made of a sweep: one task of it is taken over, as a job of its own."""

from __future__ import annotations

import re

from jobspec.importer.report import Report

_TASK = "SLURM_ARRAY_TASK_ID"
_MARK = "\n# Each task of the array is a point of the sweep;"
_DIRECTIVE = re.compile(r"^#SBATCH --array=(\d+).*$", re.MULTILINE)


def one_task(text: str, given: dict[str, str], report: Report) -> tuple[str, dict[str, str]]:
    """Return the text and the variables of one task of such an array: the first, or the one that is given.

    Any other script is returned as it is. The report says which task was taken, and how another one is.
    """
    array = _DIRECTIVE.search(text)
    if _MARK not in text or array is None:
        return text, given
    task = given.get(_TASK, array[1])
    point = re.search(rf"^  {re.escape(task)}\) \w+=(\S+) ;;$", text, re.MULTILINE)
    which = f"task {task}" + (f", the point {point[1]}" if point else "")
    report.assumed(
        "array-task",
        f"the script is a job array made of a sweep: the manifest is that of {which};"
        f" `--set {_TASK}=N` takes another task, and a `matrix` for all is not made",
    )
    line = text.count("\n", 0, array.start()) + 1
    report.left("array", f"`{array[0].removeprefix('#SBATCH ')}`, since the manifest is one job", line)
    return _DIRECTIVE.sub("#", text), given | {_TASK: task}
