"""Environment variable names that a job cannot set, or must not set for the batch part of the script."""

from __future__ import annotations

import re

# bash sets these itself: an assignment is an error, or has no effect on what a program sees (bash 5.2, tried out).
_BASH = frozenset(
    (
        *("COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "FUNCNAME", "GROUPS", "HISTCMD"),
        *("IFS", "LINENO", "OLDPWD", "OPTARG", "OPTERR", "OPTIND", "PIPESTATUS", "PPID", "PS1", "PS2", "PS4", "PWD"),
        *("RANDOM", "SECONDS", "SHELLOPTS", "SHLVL", "SRANDOM", "UID", "_"),
    )
)
_LAUNCHER = frozenset(("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"))
_SCRIPT = frozenset(
    (
        *("hosts", "launch_exit", "launch_log", "path", "rank_program", "warmup_program", "unless", "job_exit", "code"),
        *("done_file", "numa_node", "profiler", "terminal", "shell_program"),
    )
)

#: Variables that would steer the batch shell or srun on the host; they are set inside the container instead.
STEERING = frozenset(
    (
        *("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "ENV", "CDPATH"),
        *("EXECIGNORE", "GLOBIGNORE", "POSIXLY_CORRECT", "TMOUT", "TIMEFORMAT"),
    )
)


def reserved(name: str) -> str | None:
    """Return who owns a variable, so that a job cannot set it; ``None`` where nobody does."""
    if name in _BASH or name.startswith("BASH"):
        return "bash sets it itself"
    if name in _LAUNCHER:
        return "the script sets it, from what Slurm says"
    if name == "PET_SIGNALS_TO_HANDLE":
        return "the script sets it for torchrun, where `slurm` has a `signal`"
    if name in _SCRIPT:
        return "the script uses it"
    if name == "CUDA_VISIBLE_DEVICES":
        return "Slurm sets it for each step, from the GPUs of the job"
    if re.match(r"SLURM_|SBATCH_|SALLOC_|SRUN_|SCONTROL_|SLURMD_|PMIX?_", name):
        return "Slurm reads or sets it"
    return None


# Enroot keeps variables in a file of lines and takes off quotes around a value (common.sh, envfmt), and pyxis writes no
# empty ones there (pyxis_slurmstepd.c).
_CHANGED_BY_ENROOT = re.compile(r"""\A\Z|[\n\r]|\A["'].*["']\s*\Z""", re.DOTALL)


def is_carried(value: str) -> bool:
    """Whether a value comes into the container as it is by ``--container-env``."""
    return not _CHANGED_BY_ENROOT.search(value)


_PASSWORD_NAME = re.compile(r"(?:\A|_)(?:SECRET|PASSWORD|PASSWD|PASSPHRASE)\Z", re.IGNORECASE)
_TOKEN_NAME = re.compile(r"(?:\A|_)(?:TOKEN|API_?KEY|ACCESS_KEY|SECRET_KEY|PAT)\Z", re.IGNORECASE)
_KEY_NAME = re.compile(r"_KEY\Z", re.IGNORECASE)
# A token is no word: it has a digit, and no path.
_TOKEN = re.compile(r"(?=[^\d]*\d)[A-Za-z0-9_.+=-]{8,}\Z")
_LONG_TOKEN = re.compile(r"(?=[^\d]*\d)[A-Za-z0-9_-]{32,}\Z")
# The prefixes that the issuers give their tokens so that they can be found: Hugging Face, GitHub, GitLab, NGC, OpenAI,
# AWS; and a password in a URL.
_SECRET_TEXT = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|nvapi-[\w-]{16,}"
    r"|xox[abp]-[\w-]{10,}|sk-(?=[\w-]*\d)[\w-]{20,}|AKIA[A-Z0-9]{16})\b|\w://[^\s/@:]+:[^\s/@]+@"
)


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable or a field with this name most likely holds a password or a token."""
    return (
        bool(_PASSWORD_NAME.search(name) and re.match(r"[^<$/][^/]{5,}\Z", value))
        or bool(_TOKEN_NAME.search(name) and _TOKEN.match(value))
        or bool(_KEY_NAME.search(name) and _LONG_TOKEN.match(value))
        or holds_secret(value)
    )


def holds_secret(text: str) -> bool:
    """Whether a text holds what only a password or a token looks like."""
    return bool(_SECRET_TEXT.search(text))


def names_secret(name: str) -> bool:
    """Whether a variable with this name holds a password or a token, whatever its value."""
    return bool(_PASSWORD_NAME.search(name) or _TOKEN_NAME.search(name))


def redact(text: str) -> str:
    """Return a text in which what only a password or a token looks like is not shown."""
    return _SECRET_TEXT.sub("[secret]", text)
