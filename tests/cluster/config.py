"""The files that a Slurm of pretended nodes needs."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

#: RFC 2544's range for benchmarks; it lives only inside of our own network namespaces.
NET = "198.18.0"

CONTROLLER_PORT = 17000
NODE_PORT = 17001


@dataclass(frozen=True)
class Shape:
    """What the cluster looks like; ``local`` are directories that each node has for itself."""

    nodes: int = 4
    gpus: int = 8
    cpus: int = 16
    memory_mb: int = 64000
    local: tuple[str, ...] = ()
    site_mounts: tuple[str, ...] = field(default=())
    #: End a task that uses more than its --mem, without cgroups: Slurm itself looks at its memory each second.
    kill_over_memory: bool = False
    #: Seconds after which a node that does not answer counts as failed; None: Slurm's own 300.
    dead_after: int | None = None

    @property
    def names(self) -> list[str]:
        """The nodes' names."""
        return [f"node{number:02d}" for number in range(1, self.nodes + 1)]

    def address(self, name: str) -> str:
        """Return the address of a node, or of ``login``."""
        return f"{NET}.1" if name == "login" else f"{NET}.{10 + int(name.removeprefix('node'))}"


def write_files(folder: Path, shape: Shape, plugin: Path) -> None:
    """Write all configuration below ``folder``; nothing outside of it is touched."""
    for part in ("etc", "log", "state", "spool", "munge", "gpu", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "tmp").chmod(0o1777)
    for name in shape.names:
        (folder / "spool" / name).mkdir(exist_ok=True)
    _write_key(folder / "munge" / "key")
    _make_gpus(folder / "gpu", shape.gpus)
    arguments = [f"names={folder}/tmp", *(f"site={mount}" for mount in shape.site_mounts)]
    texts = {
        "slurm.conf": _slurm_conf(folder, shape),
        "gres.conf": f"Name=gpu File={folder}/gpu/nvidia[0-{shape.gpus - 1}]\n",
        "plugstack.conf": f"required {plugin} {' '.join(arguments)}\n",
        "hosts": _hosts(shape),
    }
    for name, text in texts.items():
        (folder / "etc" / name).write_text(text)


def _write_key(path: Path) -> None:
    path.touch(mode=0o600)
    path.write_bytes(os.urandom(128))


def _make_gpus(folder: Path, count: int) -> None:
    # slurmd wants a device file for each GPU and only looks whether it is there; gres.conf's Count without File gives 0
    for number in range(count):
        path = folder / f"nvidia{number}"
        if not path.exists():
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # a second /dev/null


def _hosts(shape: Shape) -> str:
    names: Sequence[str] = ["login", *shape.names]
    return "127.0.0.1 localhost\n" + "".join(f"{shape.address(name)} {name}\n" for name in names)


def _slurm_conf(folder: Path, shape: Shape) -> str:
    machine = (
        f"CPUs={shape.cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={shape.cpus} ThreadsPerCore=1 "
        f"RealMemory={shape.memory_mb} Gres=gpu:{shape.gpus}"
    )
    nodes = "".join(
        f"NodeName={name} NodeAddr={shape.address(name)} NodeHostname={name} Port={NODE_PORT} {machine}\n"
        for name in shape.names
    )
    gather = "JobAcctGatherType=jobacct_gather/none"
    if shape.kill_over_memory:
        gather = (
            "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=task=1\nJobAcctGatherParams=OverMemoryKill"
        )
    timeout = f"SlurmdTimeout={shape.dead_after}\n" if shape.dead_after else ""
    return f"""\
ClusterName=test
SlurmctldHost=login({shape.address("login")})
SlurmctldPort={CONTROLLER_PORT}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/sock,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/spool/%n/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
# no cgroups: works in a container and in a machine without a writable hierarchy
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
{gather}
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters={"CR_Core_Memory" if shape.kill_over_memory else "CR_Core"}
# take CPUs and memory from this file although the machine has less
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=5
ReturnToService=2
EnforcePartLimits=ALL
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=3
# `scontrol show job` answers for an hour, so that no accounting is needed
MinJobAge=3600
{timeout}\
GresTypes=gpu
PlugStackConfig={folder}/etc/plugstack.conf
# each node has its own directory here: mpi/pmix makes TmpFS/spmix_appdir_UID_JOB.STEP
TmpFS={folder}/tmp
MailProg=/bin/true
{nodes}\
PartitionName=batch Nodes=ALL Default=YES MaxTime=24:00:00 DefaultTime=30 State=UP
PartitionName=interactive Nodes=ALL MaxNodes=2 MaxTime=4:00:00 State=UP
PartitionName=urgent Nodes=ALL MaxTime=4:00:00 PriorityTier=10 State=UP
"""
