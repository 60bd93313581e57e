"""What the job asks Slurm for."""

from __future__ import annotations

import re

from jobspec.importer.directives import Option, gpus_per_node, last
from jobspec.importer.holes import has_hole
from jobspec.importer.launches import Launch
from jobspec.importer.programs import ranks_per_node
from jobspec.importer.schema_fit import misfit, schema_of
from jobspec.importer.surroundings import Surroundings, Tree

_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class ResourcesReader(Surroundings):
    """Reads the section ``resources``."""

    def resources(self, main: Launch, options: list[Option]) -> Tree:
        """Return nodes, GPUs, time and what else the job asks for."""
        gpus = self._gpus(main, options)
        time, memory = last(options, "time"), last(options, "mem")
        found: Tree = {"nodes": self._nodes(main, options), "gpus_per_node": gpus}
        self._cpus(options, gpus, found)
        found["time"] = self._time(time) if time and time.value else None
        for name in ("partition", "account"):
            option = last(options, name)
            value = option and option.value and self.literals.text(option.value, f"the {name}", option.line)
            if option and value:
                self.put(found, name, value, f"/resources/{name}", option.line)
        if options:
            found["exclusive"] = last(options, "exclusive") is not None
        if memory and memory.value and not (found.get("exclusive") and memory.value in ("0", "0G", "0M")):
            self.put(found, "memory", memory.value, "/resources/memory", memory.line)
        return {key: value for key, value in found.items() if value is not None}

    def _nodes(self, main: Launch, options: list[Option]) -> int | None:
        asked = last(options, "nodes")
        if asked and has_hole(asked.value or ""):
            shown = self.holes.show(asked.value or "")
            self.report.open("nodes", f"the number of nodes is `{shown}` (`--nodes` sets it)", asked.line)
        return self.integer(asked) or self._torchrun_nodes(main)

    def _gpus(self, main: Launch, options: list[Option]) -> int | None:
        gpus = gpus_per_node(options)
        if gpus is None and main.program.torchrun is not None:
            gpus = ranks_per_node(main.program.torchrun)
        named = last(options, "gpus-per-node", "gres", "gpus-per-task")  # with a number that is still to be filled in
        return self._gpus_by_tasks(main, options) if gpus is None and options and not named else gpus

    def _torchrun_nodes(self, main: Launch) -> int | None:
        value = (main.program.torchrun or {}).get("nnodes", "1").rpartition(":")[2]
        return int(value) if value.isdecimal() and 0 < int(value) < 1_000_000 else None

    def _gpus_by_tasks(self, main: Launch, options: list[Option]) -> int | None:
        """Return the GPUs of a node where no option names them: none, unless tasks are started for them."""
        tasks = self.integer(last(options, "ntasks-per-node", "tasks-per-node"))
        if tasks and tasks > 1:
            return tasks
        return 0 if not main.program.torchrun and last(options, "nodes") else None

    def _cpus(self, options: list[Option], gpus: int | None, found: Tree) -> None:
        cpus, tasks = (
            self.integer(last(options, "cpus-per-task")),
            self.integer(last(options, "ntasks-per-node")) or 1,
        )
        per_gpu = self.integer(last(options, "cpus-per-gpu"))
        if cpus and cpus * tasks % max(gpus or 0, 1) == 0:
            per_gpu = cpus * tasks // max(gpus or 0, 1)
        if per_gpu:
            found["cpus_per_gpu"] = per_gpu

    def _time(self, option: Option) -> str | None:
        """Return a time limit in a form that cannot be read two ways (sbatch(1), --time)."""
        text = option.value or ""
        if has_hole(text):
            return self.literals.text(text, "the time limit", option.line) and None
        match = _TIME.fullmatch(text)
        if not match:
            self.report.open("time", f"the time limit `{text}` is none of Slurm's", option.line)
            return None
        if misfit(text, schema_of("/resources/time")) is None:
            return text
        days, first, second, third = match.groups()
        minutes, seconds = (int(first), int(second or 0)) if not days and third is None else (0, 0)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
