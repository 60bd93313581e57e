"""What Slurm says of the site, asked from a login node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from jobspec.host import slurm_host
from jobspec.site.asking import Answer, Ask, ask
from jobspec.site.records import Gpus, gpus_of, list_of, number_of, records, seconds_of, settings, value_of

#: Words in a node's state that mean: no job starts there (Slurm, src/common/slurm_protocol_defs.c, node_state_string).
UNUSABLE = frozenset(
    {"DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "ERROR", "UNKNOWN", "FUTURE", "NOT_RESPONDING",
     "NO_RESPOND", "INVAL", "INVALID_REG", "MAINT", "REBOOT_ISSUED"}
)  # fmt: skip

_CONTAINER_OPTION = re.compile(r"--((?:no-)?container-[a-z][a-z-]*)")
_VERSION = re.compile(r"(\d+)\.(\d+)\.[\w.-]+")


class Partition(NamedTuple):
    """A partition; a limit that is ``None`` is none, and a list that is ``None`` is everybody."""

    name: str
    default: bool
    state: str
    max_nodes: int | None
    max_seconds: int | None
    nodes: int
    allowed_accounts: tuple[str, ...] | None
    denied_accounts: tuple[str, ...]
    allowed_groups: tuple[str, ...] | None
    qos: str | None


class Node(NamedTuple):
    """A node; memory in megabytes. ``reason`` is the administrator's."""

    name: str
    state: str
    partitions: tuple[str, ...]
    gpus: tuple[Gpus, ...]
    cpus: int | None
    memory: int | None
    reason: str | None

    @property
    def usable(self) -> bool:
        """Whether a job could start there, now or when others have ended."""
        return not UNUSABLE & {word.rstrip("*~#!%$@^-") for word in self.state.split("+")}


class Account(NamedTuple):
    """An account that the user may use, with the partitions that it is for; none is: all."""

    name: str
    partitions: frozenset[str]


class Site(NamedTuple):
    """What Slurm says of the site.

    Attributes:
        version: such as ``22.05.8``.
        accounts: those of the user; ``None`` where nobody knows.
        default_account: the one that sbatch takes by itself.
        mpi: kinds of ``srun --mpi``; ``None`` where nobody knows.
        container_options: pyxis's options of srun, without dashes; ``None`` where nobody knows.
        unknown: why something is not known: ``version``, ``config``, ``partitions``, ``nodes``, ``accounts``, ``mpi``
            and ``container``.
    """

    version: str | None
    config: Mapping[str, str]
    partitions: tuple[Partition, ...]
    nodes: tuple[Node, ...]
    accounts: tuple[Account, ...] | None
    default_account: str | None
    mpi: tuple[str, ...] | None
    container_options: frozenset[str] | None
    unknown: Mapping[str, str]

    def partition(self, name: str) -> Partition | None:
        """Return a partition by its name."""
        return next((one for one in self.partitions if one.name == name), None)

    @property
    def default_mpi(self) -> str | None:
        """The kind of MPI that srun takes where nobody says one."""
        return value_of(dict(self.config), "MpiDefault") or ("none" if "MpiDefault" in self.config else None)

    @property
    def needs_account(self) -> bool:
        """Whether a job without a valid account is refused (slurm.conf(5), AccountingStorageEnforce)."""
        enforced = self.config.get("AccountingStorageEnforce", "").lower()
        return any(word in enforced for word in ("associations", "limits", "qos", "safe", "all"))


def ask_site(asks: Ask = ask) -> Site:
    """Ask Slurm for all that a login node can tell; what it cannot is said in ``unknown``."""
    unknown: dict[str, str] = {}

    def text(what: str, *command: str, both: bool = False) -> str:
        answer: Answer = asks(command, both=both)
        if answer.problem:
            unknown.setdefault(what, answer.problem)
        return answer.text

    version = text("version", "sinfo", "--version").split()
    config = settings(text("config", "scontrol", "show", "config"))
    partitions = read_partitions(text("partitions", "scontrol", "--oneliner", "show", "partition"))
    if not partitions:
        unknown.setdefault("partitions", "`scontrol show partition` lists none")
    nodes = read_nodes(text("nodes", "scontrol", "--oneliner", "show", "node"))
    if not nodes:
        unknown.setdefault("nodes", "`scontrol show node` lists none")
    mpi = read_mpi(text("mpi", "srun", "--mpi=list", both=True))
    if not mpi:
        unknown.setdefault("mpi", "`srun --mpi=list` lists none")
    options = text("container", "srun", "--help", both=True)
    if "--nodes" not in options:
        unknown.setdefault("container", "`srun --help` does not list its options")
    user, cluster = slurm_host().user, value_of(config, "ClusterName")
    where = ("where", f"user={user}", *((f"cluster={cluster}",) if cluster else ()))
    listed = text("accounts", "sacctmgr", "-nP", "show", "assoc", *where, "format=account,partition")
    own = text("accounts", "sacctmgr", "-nP", "show", "user", "where", f"name={user}", "format=defaultaccount")
    return Site(
        version=version[-1] if version and _VERSION.fullmatch(version[-1]) else None,
        config=config,
        partitions=partitions,
        nodes=nodes,
        accounts=None if "accounts" in unknown else read_accounts(listed),
        default_account=own.strip().splitlines()[0].strip("| ") or None if own.strip() else None,
        mpi=mpi or None,
        container_options=None if "container" in unknown else frozenset(_CONTAINER_OPTION.findall(options)),
        unknown=unknown,
    )


def read_partitions(text: str) -> tuple[Partition, ...]:
    """Return the partitions of ``scontrol --oneliner show partition``."""
    return tuple(
        Partition(
            name=record["PartitionName"],
            default=record.get("Default") == "YES",
            state=record.get("State", "UNKNOWN"),
            max_nodes=number_of(record, "MaxNodes"),
            max_seconds=seconds_of(value_of(record, "MaxTime")) or None,
            nodes=number_of(record, "TotalNodes") or 0,
            allowed_accounts=list_of(record, "AllowAccounts"),
            denied_accounts=list_of(record, "DenyAccounts") or (),
            allowed_groups=list_of(record, "AllowGroups"),
            qos=value_of(record, "QoS"),
        )
        for record in records(text)
        if record.get("PartitionName")
    )


def read_nodes(text: str) -> tuple[Node, ...]:
    """Return the nodes of ``scontrol --oneliner show node``."""
    return tuple(
        Node(
            name=record["NodeName"],
            state=record.get("State", "UNKNOWN"),
            partitions=list_of(record, "Partitions") or (),
            gpus=gpus_of(record.get("Gres", "")),
            cpus=number_of(record, "CPUEfctv") or number_of(record, "CPUTot"),
            memory=number_of(record, "RealMemory"),
            reason=value_of(record, "Reason"),
        )
        for record in records(text)
        if record.get("NodeName")
    )


def read_mpi(text: str) -> tuple[str, ...]:
    """Return the kinds of ``srun --mpi=list``; older versions write them to standard error, after ``srun:``."""
    lines = [line.strip().removeprefix("srun:").strip() for line in text.splitlines()]
    kinds = [line for line in lines if re.fullmatch(r"[a-z][a-z0-9_]*", line)]
    return tuple(dict.fromkeys(kinds))


def read_accounts(text: str) -> tuple[Account, ...]:
    """Return the accounts of ``sacctmgr -nP show assoc format=account,partition``."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, partition = line.strip().partition("|")
        if name:
            found.setdefault(name, []).append(partition.strip("|"))
    return tuple(
        Account(name, frozenset() if "" in partitions else frozenset(partitions)) for name, partitions in found.items()
    )
