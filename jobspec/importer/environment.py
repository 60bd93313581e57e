"""Environment variables: what of them is the job's, what is a cache's place, and what is a secret."""

from __future__ import annotations

import re

from jobspec.importer.holes import Kind, has_hole
from jobspec.importer.launches import Launch
from jobspec.importer.surroundings import Surroundings, Tree
from jobspec.spec.build import CACHE_VARIABLES
from jobspec.spec.environment import holds_secret, looks_secret, names_secret, reserved

# Variables that programs read: such a one is kept also where the script itself reads it.
_OF_PROGRAMS = re.compile(
    r"(NCCL|TORCH|PYTORCH|CUDA|NVTE|WANDB|UCX|NVSHMEM|GLOO|OMP|MKL|TRITON|TRANSFORMERS|TOKENIZERS|PYTHON|NEMO|UB|LD|UV"
    r"|FLASH|TE|NVIDIA|HTTPX|HYDRA|OMPI|FI|IB|SHARP|TF|XLA|PATH)(_|\Z)|PYTHON|HF_(HUB|DATASETS|ENDPOINT|XET|ASSETS|ALLOW)"
)
# What the program of a rank in a script of jobspec's sets for the launcher, by the target (targets/torchrun).
_OF_OUR_TARGETS = ("PET_SIGNALS_TO_HANDLE",)
_CACHE_KEYS = {variable: key for key, variable in CACHE_VARIABLES.items()}


class EnvironmentReader(Surroundings):
    """Reads the sections ``caches``, ``env`` and ``secrets``."""

    def environment(self, launches: list[Launch], text: str, *, own: bool) -> tuple[Tree, Tree, list[str]]:
        """Return the caches, the variables and the names of secrets; ``own`` is for a script of jobspec's."""
        self._caches: Tree = {}
        self._variables: Tree = {}
        self._secrets: dict[str, None] = {}
        self._dropped: dict[str, str] = {}
        for launch in launches:
            for name, value in launch.environment.items():
                self._sort(name, value, launch, text, own=own)
            self._secrets |= dict.fromkeys(self._inherited_secrets(launch))
        self._tell_all(launches)
        for why in dict.fromkeys(self._dropped.values()):
            named = ", ".join(f"`{name}`" for name in sorted(self._dropped) if self._dropped[name] == why)
            self.report.left("variables", f"{named}: {why}")
        return self._caches, self._variables, list(self._secrets)

    def _sort(self, name: str, value: str, launch: Launch, text: str, *, own: bool) -> None:
        """Put one variable where it belongs."""
        if name in _CACHE_KEYS:
            path = self._cache(name, value, launch.call.line)
            if path:
                self._caches[_CACHE_KEYS[name]] = path
        elif self._is_secret(name, value, launch):
            self._secrets[name] = None
        elif own and name in _OF_OUR_TARGETS:
            pass
        elif reserved(name):
            self._dropped[name] = reserved(name) or ""
        elif not self._is_kept(name, text):
            self._dropped[name] = "they only carry values into the command line"
        else:
            literal = self._variable(name, value, launch.call.line) if value or not own else value
            if literal is not None:
                self._tell_difference(name, self._variables.get(name, literal), literal, launch.call.line)
                self._variables[name] = literal

    def _tell_all(self, launches: list[Launch]) -> None:
        """Report the variables that only some launches have: a job has one environment."""
        some = [name for name in self._variables if any(name not in launch.environment for launch in launches)]
        if some:
            named = ", ".join(f"`{name}`" for name in sorted(some))
            self.report.changed("variable-of-all", f"{named}: set for some launches, and now for all of the job")

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
            if name == "PYTHONPATH" and parts and "" in self.holes.fill(value, {Kind.UNSET: ""}).split(":"):
                self.report.changed(
                    "empty-path-part",
                    "`PYTHONPATH` has an empty part, the working directory to Python; it is left out",
                    line,
                )
            opened = [part for part in value.split(":") if has_hole(part) and not self.holes.alone(part)]
            parts += [self.literals.path(part, f"`{name}`", line) or "" for part in opened]
            return ":".join(part for part in parts if part) or None
        literal = self.literals.text(value, f"`{name}`", line)
        if literal is None or holds_secret(literal):
            return None
        if not literal:
            return None
        return literal
