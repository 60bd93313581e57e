"""The file systems that this host sees, and which of them other hosts are likely to see too."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobspec.host import slurm_host

#: Kinds of file system that several hosts share: those of training sites, by the names that Linux gives them.
SHARED = frozenset(
    {"lustre", "gpfs", "beegfs", "ceph", "wekafs", "panfs", "orangefs", "pvfs2", "daos", "glusterfs", "afs", "cvmfs",
     "nfs", "nfs4", "cifs", "smb3", "virtiofs", "9p", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs", "fuse.daos",
     "fuse.sshfs", "fuse.moosefs", "fuse.mfs", "fuse.quobyte", "fuse.vastdata", "fuse.cephfs", "fuse.dfuse"}
)  # fmt: skip
#: Kinds that belong to one host.
LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "ramfs", "overlay", "squashfs", "f2fs"})

# Places of the system, and of software, which nobody's logs or data belong on.
_OF_THE_SYSTEM = tuple(
    f"/{name}" for name in ["proc", "sys", "dev", "run", "boot", "etc", "usr", "var", "opt", "snap", "cvmfs", "tmp"]
)
_ESCAPE = re.compile(r"\\([0-7]{3})")


class FileSystem(NamedTuple):
    """A mounted file system; ``writable`` is the mount's own word, not the permissions'."""

    place: str
    kind: str
    writable: bool

    @property
    def shared(self) -> bool | None:
        """Whether hosts share it, by its kind; ``None`` where the kind does not tell."""
        return True if self.kind in SHARED else False if self.kind in LOCAL else None


def mounted() -> tuple[FileSystem, ...]:
    """Return what is mounted, in order; nothing where the system does not tell (proc_pid_mountinfo(5))."""
    return read_mountinfo(slurm_host().mounts())


def read_mountinfo(text: str) -> tuple[FileSystem, ...]:
    """Return the file systems of a ``mountinfo``."""
    found = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) >= 6 and after:
            options = fields[5].split(",") + after.split(" ")[-1].split(",")
            place = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4])
            found.append(FileSystem(place, after.split(" ")[0], "ro" not in options))
    return tuple(found)


def shared_folders(systems: tuple[FileSystem, ...]) -> list[FileSystem]:
    """Return the file systems that look shared and made for users, the outermost ones; NFS comes after faster ones."""
    found: list[FileSystem] = []
    for one in sorted(set(systems)):
        inside = any(one.place.startswith(f"{other.place.rstrip('/')}/") for other in found)
        own = one.place == "/" or any(f"{one.place}/".startswith(f"{place}/") for place in _OF_THE_SYSTEM)
        if one.shared and one.writable and not inside and not own:
            found.append(one)
    return sorted(found, key=lambda one: (one.kind.startswith("nfs"), one.place))


def file_system_of(path: str, systems: tuple[FileSystem, ...]) -> FileSystem | None:
    """Return the file system that a path lies on; of several at one place the last one is seen."""
    real = slurm_host().real(path)
    around = [one for one in systems if f"{real}/".startswith(f"{one.place.rstrip('/')}/")]
    longest = max((len(one.place) for one in around), default=0)
    return next((one for one in reversed(around) if len(one.place) == longest), None)
