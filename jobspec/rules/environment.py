"""Environment variables and secrets."""

from __future__ import annotations

from jobspec.diagnostics.model import Severity
from jobspec.rules.registry import Report, rule
from jobspec.spec.build import CACHE_VARIABLES
from jobspec.spec.environment import STEERING, looks_secret, reserved
from jobspec.spec.model import Spec
from jobspec.syntax.nodes import texts


@rule("JS241", "reserved-variable", Severity.ERROR)
def reserved_variable(spec: Spec, report: Report) -> None:
    """Finds an environment variable that is not the job's to set.

    Why it matters: bash refuses some names and overwrites others, Slurm takes its own as options of srun, and rank and
    master address are the launcher's. What the manifest says would not reach the program, or would break the script.

    Example:

    ```yaml
    env: {RANK: "0"}
    ```

    Use instead:

    ```yaml
    env: {NCCL_DEBUG: INFO}
    ```

    Source: bash(1), "Shell Variables"; srun(1), "INPUT ENVIRONMENT VARIABLES" and "OUTPUT ENVIRONMENT VARIABLES"
    """
    named = [(f"/env/{name}", name, reserved(name)) for name in spec.env]
    for index, name in enumerate(spec.secrets):
        # The host's own value would come into the container.
        owner = reserved(name) or ("the container has one of its own" if name in STEERING else None)
        named.append((f"/secrets/{index}", name, owner))
    for pointer, name, owner in named:
        if owner:
            report(f"`{name}` cannot be set by a job: {owner}", at=pointer, help=(f"remove `{name}`",))


@rule("JS242", "secret-in-text", Severity.ERROR)
def secret_in_text(spec: Spec, report: Report) -> None:
    """Finds a password or a token written into a manifest or a cluster file.

    Why it matters: the text is committed, and the script, the job's log and Slurm's accounting are readable by others.
    A name under `secrets` is taken from the shell that submits the job, and its value is never written anywhere.

    Example:

    ```yaml
    env: {WANDB_API_KEY: "0123456789abcdef"}
    ```

    Use instead:

    ```yaml
    secrets: [WANDB_API_KEY]
    ```

    Source: docs/guide.md, "Secrets"
    """
    for pointer, name, value in texts(spec.tree):
        if looks_secret(name.rpartition(".")[2].replace("-", "_"), value) and not reserved(name):
            variable = name if pointer.startswith("/env/") else "VARIABLE"
            report(
                f"`{name}` looks like a secret, and its value stands in the file",
                at=pointer,
                help=(f"remove it, revoke the value if it is real, and write `secrets: [{variable}]`",),
            )


@rule("JS243", "variable-and-secret", Severity.ERROR, unless=("JS242",))
def variable_and_secret(spec: Spec, report: Report) -> None:
    """Finds an environment variable with two values: as a secret, from `env` and from `caches`.

    Why it matters: of a name that is a secret too, the script would ask for the value of the submitting shell and then
    overwrite it; and of a cache that `env` points elsewhere, nothing would say which of the two holds.

    Example:

    ```yaml
    env: {HF_HUB_OFFLINE: "1"}
    secrets: [HF_HUB_OFFLINE]
    ```

    Use instead:

    ```yaml
    env: {HF_HUB_OFFLINE: "1"}
    ```

    Source: docs/guide.md, "Secrets"
    """
    caches = {variable: f"/caches/{key}" for key, variable in CACHE_VARIABLES.items() if variable in spec.caches}
    for index, name in enumerate(spec.secrets):
        if name in spec.env or name in caches:
            report(
                f"`{name}` is both a secret and a variable with a value",
                at=f"/secrets/{index}",
                also={f"/env/{name}" if name in spec.env else caches[name]: "its value"},
                help=("remove one of the two",),
            )
    for name, pointer in caches.items():
        if name in spec.env:
            report(
                f"`{name}` is set by `env` and by `caches`",
                at=f"/env/{name}",
                also={pointer: "set here too"},
                help=("remove one of the two",),
            )
