"""How the ranks are started, and the further options of Slurm."""

from __future__ import annotations

import re

from jobspec.importer.directives import Option, last
from jobspec.importer.holes import has_hole
from jobspec.importer.launches import Launch
from jobspec.importer.surroundings import Surroundings, Tree
from jobspec.rules.slurm import OWN_OPTIONS

_PLAIN_KEYS = frozenset(
    ("qos", "reservation", "constraint", "nodelist", "exclude", "dependency", "array", "comment", "mail-user")
)


class LaunchReader(Surroundings):
    """Reads the sections ``launch`` and ``slurm``."""

    def launch(self, launches: list[Launch], warmups: list[Launch]) -> Tree:
        """Return how the ranks are started."""
        main = launches[-1]
        uses_uv = any(launch.program.uv for launch in launches)
        found: Tree = {"uv": uses_uv or bool(warmups) or any(launch.syncs for launch in launches)}
        if found["uv"]:
            found["warmup"] = self._warmup(launches, warmups)
        bad_exit = last(main.srun or [], "kill-on-bad-exit")
        if bad_exit and bad_exit.value != "0":
            found["kill_on_bad_exit"] = True
        bind = main.option("cpu-bind")
        if bind:
            self.put(found, "cpu_bind", bind, "/launch/cpu_bind", main.call.line)
        numa = re.search(r"LOCAL_RANK \* ([0-9]+) / [0-9]+", " ".join(main.call.argv)) if main.program.numa else None
        if numa:
            found["numa_nodes"] = int(numa.group(1))
        elif main.program.numa:
            self.report.left("numactl", "`numactl`: a manifest says `launch.numa_nodes`", main.call.line)
        if len(launches) > 1 and not all(launch.checked for launch in launches[:-1]):
            found["on_failure"] = "continue"
        return found

    def _warmup(self, launches: list[Launch], warmups: list[Launch]) -> str:
        if any(launch.option("container-name") for launch in warmups):
            return "named-container"
        if warmups or (self.script.own_shell and any(launch.syncs for launch in launches)):
            return "once"
        if any(launch.syncs == "rank" and launch.program.torchrun is None for launch in launches):
            line = launches[0].call.line
            self.report.changed(
                "sync-by-all", "every rank runs `uv sync`; now one of each node does, and the others wait", line
            )
            return "once"
        if any(launch.syncs for launch in launches):
            return "per-node"
        if any(launch.program.synced for launch in launches):
            line = launches[0].call.line
            self.report.changed("sync-by-run", "`uv run` syncs for each rank; now one of each node does it first", line)
            return "once"
        return "none"

    def slurm(self, options: list[Option], launches: list[Launch]) -> Tree:
        """Return the further options of sbatch and srun."""
        found: Tree = {}
        for option in options:
            self._sbatch_option(option, found)
        for option in launches[-1].srun or []:
            if option.name in OWN_OPTIONS or option.name in ("nodes", "output", "error", "job-name", "pty", "no-kill"):
                continue
            if option.name in ("gpu-bind", "gpus-per-task", "time", "partition", "account"):
                continue
            raw = f"--{option.name}" + (f"={option.value}" if option.value is not None else "")
            if not has_hole(raw) and raw not in found.get("srun", []):
                found.setdefault("srun", []).append(raw)
        return found

    def _sbatch_option(self, option: Option, found: Tree) -> None:
        name, value = option.name, option.value
        if name in OWN_OPTIONS or name == "no-kill":
            return
        if has_hole(value or ""):
            value = self.literals.text(value or "", f"`--{name}`", option.line)
            if value is None:
                return
        key = name.replace("-", "_")
        if name in _PLAIN_KEYS and value:
            self.put(found, key, value, f"/slurm/{key}", option.line)
        elif name == "segment" and value and value.isdecimal():
            found["segment"] = int(value)
        elif name in ("requeue", "no-requeue"):
            found["requeue"] = name == "requeue"
        elif name == "mail-type" and value:
            self.put(found, "mail_type", value.upper().split(","), "/slurm/mail_type", option.line)
        elif name == "signal":
            self._signal(option, found)
        else:
            raw = f"--{name}" + (f"={value}" if value is not None else "")
            if re.fullmatch(r"--[a-z][a-z0-9-]*(=.*)?", raw):
                found.setdefault("sbatch", []).append(raw)
            else:
                self.report.left("option", f"`{raw}` is no option that a manifest can say", option.line)

    def _signal(self, option: Option, found: Tree) -> None:
        match = re.fullmatch(r"(?:B:)?(?:SIG)?(TERM|15)(?:@([0-9]+))?", option.value or "")
        if match:
            found["signal"] = f"TERM@{match.group(2) or 60}"
            if (option.value or "").startswith("B:"):
                self.report.changed(
                    "signal",
                    f"`--signal={option.value}` reaches the batch script alone, which would pass it on; now Slurm "
                    "tells every rank, and the program saves on it",
                    option.line,
                )
        else:
            self.report.left("signal", f"`--signal={option.value}`: a manifest has SIGTERM alone", option.line)
