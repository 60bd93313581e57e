"""Environment variable names that a job cannot set, or must not set for the batch part of the script."""

from __future__ import annotations

import re

# bash sets these itself: an assignment is an error, or has no effect on what a program sees (bash 5.2, tried out).
_BASH = frozenset(
    (
        *("COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD"),
        *("IFS", "LINENO", "OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PPID", "PS1", "PS4", "PWD", "RANDOM", "SECONDS"),
        *("SHELLOPTS", "SHLVL", "SRANDOM", "UID", "_"),
    )
)
_LAUNCHER = frozenset(("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"))
_SCRIPT = frozenset(("hosts", "launch_exit", "launch_log", "path", "rank_program", "warmup_program"))

#: Variables that would steer the batch shell or srun on the host; they are set inside the container instead.
STEERING = frozenset(
    (
        *("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "ENV", "CDPATH", "GLOBIGNORE"),
        *("POSIXLY_CORRECT", "TMOUT", "TIMEFORMAT"),
    )
)


def reserved(name: str) -> str | None:
    """Return who owns a variable, so that a job cannot set it; ``None`` where nobody does."""
    if name in _BASH or name.startswith("BASH"):
        return "bash sets it itself"
    if name in _LAUNCHER:
        return "the script sets it, from what Slurm says"
    if name in _SCRIPT:
        return "the script uses it"
    if name == "CUDA_VISIBLE_DEVICES":
        return "Slurm sets it for each step, from the GPUs of the job"
    if re.match(r"SLURM_|SBATCH_|SALLOC_|SLURMD_|PMIX?_", name):
        return "Slurm reads or sets it"
    return None


_SECRET_NAME = re.compile(r"(?:\A|_)(?:TOKEN|API_?KEY|ACCESS_KEY|SECRET|SECRET_KEY|PASSWORD|PASSWD)\Z", re.IGNORECASE)
# The prefixes that the issuers give their tokens so that they can be found: Hugging Face, GitHub, NGC, OpenAI, AWS.
_SECRET_VALUE = re.compile(r"(?:hf_|ghp_|github_pat_|nvapi-|sk-|AKIA)[A-Za-z0-9_-]{12,}")


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable most likely holds a password or a token."""
    return bool(value) and bool(_SECRET_NAME.search(name) or _SECRET_VALUE.match(value))
