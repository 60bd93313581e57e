"""Folders and files as the login node sees them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from jobspec.host import slurm_host
from jobspec.site.mounts import FileSystem, file_system_of
from jobspec.site.report import FAILURE, PASS, UNKNOWN, WARNING, Line
from jobspec.site.wanted import WRITTEN, Path, caches_in_container
from jobspec.spec.model import Spec

#: The first bytes of a squashfs image (Linux, fs/squashfs/squashfs_fs.h, SQUASHFS_MAGIC).
_SQUASHFS = b"hsqs"
_NOWHERE = ("", "dangling")  # kinds of what is not there
_DEEP = "only nodes can tell: run with --deep"


def check_paths(paths: tuple[Path, ...], systems: tuple[FileSystem, ...]) -> Iterator[Line]:
    """Yield a line for each path, as far as this host can tell."""
    for one in paths:
        yield _check_written(one, systems) if one.kind in WRITTEN else _check_read(one)


def check_settings(spec: Spec) -> Iterator[Line]:
    """Yield what no path can be looked at for: what is not said, and what lies elsewhere."""
    if spec.logs is None:
        fix = "write `logs: FOLDER` in the cluster file: a folder that all nodes see"
        yield Line(FAILURE, "logs", "neither the manifest nor the cluster file names a log folder", fix)
    image = spec.container.image
    if spec.container.enabled and image is None:
        fix = "write `container: {image: FILE}` in the cluster file"
        yield Line(FAILURE, "image", "neither the manifest nor the cluster file names an image", fix)
    for name in caches_in_container(spec):
        fix = "put it below the target of a mount, or mount its folder"
        yield Line(WARNING, "cache", f"{name} is under no mount, so each node has its own", fix)


def check_unseen(spec: Spec) -> Iterator[Line]:
    """Yield what only nodes can tell."""
    image = spec.container.image
    if spec.container.enabled and image and not image.startswith("/"):
        yield Line(UNKNOWN, "image", f"`{image}`: each node pulls it for itself; {_DEEP}")
    for check, what in (
        ("uv", "whether uv is there" if spec.launch.uv else ""),
        ("clock", "whether the nodes' clocks agree"),
        ("names", "whether nodes find each other by name"),
        ("port", "whether nodes reach each other at MASTER_PORT"),
    ):
        if what:
            yield Line(UNKNOWN, check, f"{what}: {_DEEP}")


def _check_written(one: Path, systems: tuple[FileSystem, ...]) -> Line:
    folder = one.path
    while one.kind == "cache" and slurm_host().kind(folder) in _NOWHERE and folder != "/":
        folder = os.path.dirname(folder)
    about = f"{one.what} `{one.path}`"
    kind = slurm_host().kind(folder)
    if kind != "folder":
        there = bool(kind)
        message = f"{about} is no folder" if there else f"{about} is not there, and Slurm does not make it"
        return Line(FAILURE, one.kind, message, "name a folder" if there else f"mkdir -p {one.path}")
    why = _why_not_writable(folder)
    if why:
        return Line(FAILURE, one.kind, f"{about} cannot be written to: {why}", _fix_writing(folder))
    if folder != one.path:
        about += f", which will be made in {folder},"
    system = file_system_of(folder, systems)
    if system is not None and system.shared:
        return Line(PASS, one.kind, f"{about} is writable, and on {system.kind}, which nodes share")
    kind = f"on {system.kind}" if system else "on a file system that is not known"
    return Line(UNKNOWN, one.kind, f"{about} is writable here; whether nodes share it, {kind}, {_DEEP}")


def _this_host() -> str:
    return slurm_host().name or "this host"


def _fix_writing(folder: str) -> str:
    return f"name another folder, or have {folder} made writable for you"


def _why_not_writable(folder: str) -> str | None:
    """Return why no file can be made in a folder, by making one: rights alone do not tell (read-only, quota)."""
    try:
        slurm_host().try_writing(folder)
    except OSError as error:
        return "it is read-only" if error.errno == errno.EROFS else error.strerror or str(error)
    return None


def _check_read(one: Path) -> Line:
    about = f"{one.what} `{one.path}`"
    kind = slurm_host().kind(one.path)
    if not kind:
        if one.kind == "image":
            fix = f"enroot import --output {one.path} docker://REGISTRY#IMAGE, or correct `container.image`"
            return Line(FAILURE, one.kind, f"{about} is not there", fix)
        return Line(UNKNOWN, one.kind, f"{about} is not on {_this_host()}; whether nodes have it, {_DEEP}")
    if not slurm_host().is_readable(one.path):
        return Line(FAILURE, one.kind, f"{about} cannot be read", f"have {one.path} made readable for you")
    if one.kind == "image" and kind == "file" and slurm_host().read(one.path, 0, 4).data != _SQUASHFS:
        fix = "make one with `enroot import`, or correct `container.image`"
        return Line(FAILURE, one.kind, f"{about} is no squashfs file", fix)
    return Line(PASS, one.kind, f"{about} is there, on {_this_host()}")
