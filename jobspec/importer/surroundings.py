"""What a launch runs in: resources, container, caches, environment, launch and further options of Slurm."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from typing import Any

from jobspec.importer.directives import Option, gpus_per_node, last
from jobspec.importer.holes import Holes, Kind, has_hole
from jobspec.importer.launches import Launch, Script
from jobspec.importer.literals import Literals
from jobspec.importer.programs import ranks_per_node
from jobspec.importer.report import Report
from jobspec.importer.schema_fit import misfit, schema_of
from jobspec.rules.slurm import OWN_OPTIONS
from jobspec.spec.build import CACHE_VARIABLES
from jobspec.spec.environment import holds_secret, looks_secret, names_secret, reserved

Tree = dict[str, Any]

# Variables that programs read: such a one is kept also where the script itself reads it.
_OF_PROGRAMS = re.compile(
    r"(NCCL|TORCH|PYTORCH|CUDA|NVTE|WANDB|UCX|NVSHMEM|GLOO|OMP|MKL|TRITON|TRANSFORMERS|TOKENIZERS|PYTHON|NEMO|UB|LD|UV"
    r"|FLASH|TE|NVIDIA|HTTPX|HYDRA|OMPI|FI|IB|SHARP|TF|XLA|PATH)(_|\Z)|PYTHON|HF_(HUB|DATASETS|ENDPOINT|XET|ASSETS|ALLOW)"
)
_CACHE_KEYS = {variable: key for key, variable in CACHE_VARIABLES.items()}
_PLAIN_KEYS = frozenset(
    ("qos", "reservation", "constraint", "nodelist", "exclude", "dependency", "array", "comment", "mail-user")
)
_TIME = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class Surroundings:
    """Reads them from the options of a script and of its launches."""

    def __init__(self, script: Script, holes: Holes, report: Report) -> None:
        self.script = script
        self.holes = holes
        self.report = report
        self.literals = Literals(holes, report)

    def resources(self, main: Launch, options: list[Option]) -> Tree:
        """Return nodes, GPUs, time and what else the job asks for."""
        found: Tree = {}
        asked = last(options, "nodes")
        if asked and has_hole(asked.value or ""):
            shown = self.holes.show(asked.value or "")
            self.report.open("nodes", f"the number of nodes is `{shown}` (`--nodes` sets it)", asked.line)
        nodes = self._integer(asked) or self._torchrun_nodes(main)
        if nodes:
            found["nodes"] = nodes
        gpus = gpus_per_node(options)
        if gpus is None and main.program.torchrun is not None:
            gpus = ranks_per_node(main.program.torchrun)
        if gpus is None and options:
            gpus = self._gpus_by_tasks(main, options)
        if gpus is not None:
            found["gpus_per_node"] = gpus
        self._cpus(options, gpus, found)
        time = last(options, "time")
        if time and time.value:
            found["time"] = self._time(time)
        for name in ("partition", "account"):
            option = last(options, name)
            value = option and option.value and self.literals.text(option.value, f"the {name}", option.line)
            if option and value:
                self._put(found, name, value, f"/resources/{name}", option.line)
        exclusive, memory = last(options, "exclusive"), last(options, "mem")
        if options:
            found["exclusive"] = exclusive is not None
        if memory and memory.value and not (found.get("exclusive") and memory.value in ("0", "0G", "0M")):
            self._put(found, "memory", memory.value, "/resources/memory", memory.line)
        return {key: value for key, value in found.items() if value is not None}

    def _torchrun_nodes(self, main: Launch) -> int | None:
        value = (main.program.torchrun or {}).get("nnodes", "1").rpartition(":")[2]
        return int(value) if value.isdecimal() and 0 < int(value) < 1_000_000 else None

    def _gpus_by_tasks(self, main: Launch, options: list[Option]) -> int | None:
        """Return the GPUs of a node where no option names them: none, unless tasks are started for them."""
        tasks = self._integer(last(options, "ntasks-per-node", "tasks-per-node"))
        if tasks and tasks > 1:
            return tasks
        return 0 if not main.program.torchrun and last(options, "nodes") else None

    def _cpus(self, options: list[Option], gpus: int | None, found: Tree) -> None:
        cpus, tasks = (
            self._integer(last(options, "cpus-per-task")),
            self._integer(last(options, "ntasks-per-node")) or 1,
        )
        per_gpu = self._integer(last(options, "cpus-per-gpu"))
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

    def container(self, launches: list[Launch], folder: str | None, *, syncs: bool) -> Tree:
        """Return the container of the launches; ``{"enabled": False}`` where srun starts none.

        ``syncs`` is whether packages are synced in it: then it can be written without being said to.
        """
        started = [launch for launch in launches if launch.srun is not None]
        if not started:
            return {"workdir": folder} if folder else {}
        with_image = [launch for launch in started if last(launch.srun or [], "container-image")]
        found: Tree = {}
        if folder:
            found["workdir"] = folder
        if not with_image:
            return {"enabled": False, **found}
        main = with_image[-1]
        image = main.option("container-image") or ""
        found["image"] = self._image(image, main.call.line)
        mounts = self._mounts(main)
        if mounts:
            found["mounts"] = mounts
        if last(main.srun or [], "container-mount-home"):
            found["mount_home"] = True
        writable = last(main.srun or [], "container-writable", "container-readonly")
        if writable and not (syncs and writable.name == "container-writable"):
            found["writable"] = writable.name == "container-writable"
        return {key: value for key, value in found.items() if value is not None}

    def _image(self, image: str, line: int) -> str | None:
        if has_hole(image) or not image:
            shown = self.holes.show(image)
            self.report.open("image", f"the container image is {f'`{shown}`' if shown else 'empty'}: put it in", line)
            return None
        if misfit(image, schema_of("/container/image")):
            self.report.open("image", f"`{image}` is no image that a manifest can name", line)
            return None
        match = re.match(r"([^/#:]*\.[^/#:]*(?::\d+)?|[^/#:]+:\d+)/([^#]+)\Z", image)
        if match and not image.endswith(".sqsh"):
            better = f"{match.group(1)}#{match.group(2)}"
            self.report.bug(
                "registry-with-slash",
                f"Enroot asks Docker Hub for `{image}`; a registry ends with `#`: `{better}`",
                line,
            )
            return better
        return image

    def _mounts(self, launch: Launch) -> list[str]:
        options = [option for option in launch.srun or [] if option.name == "container-mounts" and option.value]
        if len(options) > 1:
            self.report.bug(
                "mounts-repeated",
                "`--container-mounts` is given several times, and pyxis takes only the last one; it was joined",
                launch.call.line,
            )
        found = []
        for text in dict.fromkeys(option.value or "" for option in options):
            for mount in re.split(r"[,\s]+", text):
                literal = self._mount(mount, launch.call.line)
                if literal and literal not in found:
                    found.append(literal)
        return found

    def _mount(self, mount: str, line: int) -> str | None:
        if not mount:
            return None
        if self.holes.alone(mount):
            self.report.open("mounts", f"the mounts are `{self.holes.show(mount)}`: put them in", line)
            return None
        parts = [
            self.literals.path(part, "a mount", line) if i < 2 else part for i, part in enumerate(mount.split(":"))
        ]
        literal = ":".join(part or "" for part in parts)
        if literal.startswith(":"):
            self.report.open("mounts", f"the mount `{literal}` has no folder of the host: put it in", line)
            return None
        if misfit(literal, {"type": "string", "pattern": schema_pattern("mount")}):
            self.report.left("mount", f"`{self.holes.show(mount)}` is no mount that pyxis takes", line)
            return None
        return literal

    def logs(self, options: list[Option], launches: list[Launch]) -> str | None:
        """Return the folder of the logs, where it is an absolute path."""
        output = last(options, "output")
        places = [(output.value or "", output.line)] if output else []
        places += [(launch.log, launch.line) for launch in (one.call for one in launches) if launch.log]
        places += [(launch.option("output") or "", launch.call.line) for launch in launches if launch.option("output")]
        for place, line in places:
            folder = posixpath.dirname(place)
            if place.startswith("/") and not has_hole(folder) and "%" not in folder:
                return folder or "/"
            if "<" in self.holes.show(folder) and folder:
                return self.literals.path(folder, "the log folder", line)
        if output:
            self.report.open(
                "logs",
                f"`{self.holes.show(output.value or '')}` lies where sbatch is called: a manifest has an absolute folder",
                output.line,
            )
        return None

    def environment(self, launches: list[Launch], text: str, *, own: bool) -> tuple[Tree, Tree, list[str]]:
        """Return the caches, the variables and the names of secrets; ``own`` is for a script of jobspec's."""
        caches: Tree = {}
        variables: Tree = {}
        secrets: list[str] = []
        helpers: dict[str, str] = {}
        for launch in launches:
            for name, value in launch.environment.items():
                if name in _CACHE_KEYS:
                    path = self._cache(name, value, launch.call.line)
                    if path:
                        caches[_CACHE_KEYS[name]] = path
                elif self._is_secret(name, value, launch):
                    secrets += [name] if name not in secrets else []
                elif reserved(name):
                    helpers[name] = reserved(name) or ""
                elif self._is_kept(name, text):
                    literal = self._variable(name, value, launch.call.line) if value or not own else value
                    if literal is not None:
                        self._tell_difference(name, variables.get(name, literal), literal, launch.call.line)
                        variables[name] = literal
                else:
                    helpers[name] = "they only carry values into the command line"
            for name in self._inherited_secrets(launch):
                secrets += [name] if name not in secrets else []
        for why in dict.fromkeys(helpers.values()):
            named = ", ".join(f"`{name}`" for name in sorted(helpers) if helpers[name] == why)
            self.report.left("variables", f"{named}: {why}")
        return caches, variables, secrets

    def _inherited_secrets(self, launch: Launch) -> list[str]:
        """Return what a launch passes on, or the script insists on, and nobody but the submitting shell sets."""
        passed = (launch.option("container-env") or "").split(",")
        insisted = [
            name
            for name in self.script.wanted
            if (name in passed or names_secret(name)) and self._is_required(self.script.values.get(name))
        ]
        return [name for name in insisted if name not in launch.environment]

    def _is_required(self, value: object) -> bool:
        hole = self.holes.alone(value) if isinstance(value, str) else None
        return hole is not None and hole.kind is Kind.REQUIRED

    def _tell_difference(self, name: str, before: str, after: str, line: int) -> None:
        if before != after:
            self.report.open(
                "variable-of-a-step",
                f"`{name}` is `{before}` for one launch and `{after}` for another: a job has one environment",
                line,
            )

    def _is_secret(self, name: str, value: str, launch: Launch) -> bool:
        if looks_secret(name, value):
            self.report.bug("secret-in-text", f"the value of `{name}` stands in the script; name it in `secrets`", 0)
            return True
        passed = (launch.option("container-env") or "").split(",")
        return names_secret(name) or (self._is_required(value) and name in passed)

    def _is_kept(self, name: str, text: str) -> bool:
        if _OF_PROGRAMS.match(name):
            return True
        return not re.search(rf"\$\{{?!?{re.escape(name)}\b", text)

    def _cache(self, name: str, value: str, line: int) -> str | None:
        if not value or self.holes.alone(value):
            return None
        return self.literals.path(value, f"`{name}`", line)

    def _variable(self, name: str, value: str, line: int) -> str | None:
        if name == "PYTHONPATH" or name.endswith("PATH"):
            parts = [part for part in value.split(":") if part and not has_hole(part)]
            opened = [part for part in value.split(":") if has_hole(part) and not self.holes.alone(part)]
            for part in opened:
                parts.append(self.literals.path(part, f"`{name}`", line) or "")
            return ":".join(part for part in parts if part) or None
        literal = self.literals.text(value, f"`{name}`", line)
        if literal is None or holds_secret(literal):
            return None
        if not literal:
            return None
        return literal

    def launch(self, script: Script, launches: list[Launch], warmups: list[Launch], secrets: Collection[str]) -> Tree:
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
            self._put(found, "cpu_bind", bind, "/launch/cpu_bind", main.call.line)
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
        if warmups:
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
            self._put(found, key, value, f"/slurm/{key}", option.line)
        elif name == "segment" and value and value.isdecimal():
            found["segment"] = int(value)
        elif name in ("requeue", "no-requeue"):
            found["requeue"] = name == "requeue"
        elif name == "mail-type" and value:
            self._put(found, "mail_type", value.upper().split(","), "/slurm/mail_type", option.line)
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
        else:
            self.report.left("signal", f"`--signal={option.value}`: a manifest has SIGTERM alone", option.line)

    def _put(self, found: Tree, key: str, value: Any, pointer: str, line: int) -> None:
        why = misfit(value, schema_of(pointer))
        if why:
            self.report.left("misfit", f"`{pointer.strip('/').replace('/', '.')}` cannot be `{value}`: {why}", line)
        else:
            found[key] = value

    @staticmethod
    def _integer(option: Option | None) -> int | None:
        text = (option.value or "").partition("-")[0] if option else ""
        return int(text) if re.fullmatch(r"[0-9]{1,7}", text) and int(text) > 0 else None


def schema_pattern(name: str) -> str:
    """Return the pattern of a definition that the schemas share."""
    from jobspec.schema.registry import load

    return str(load("job")["$defs"][name]["pattern"])
