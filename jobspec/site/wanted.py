"""What a job, or any job of a cluster file, wants of the site."""

from __future__ import annotations

from typing import NamedTuple

from jobspec.ir.required_paths import host_path, required_paths
from jobspec.spec.model import Spec

#: Kinds of paths that are written to; all others are read.
WRITTEN = ("logs", "cache")
# Better on a disk of each node (schemas/v1/defs.schema.json), so nobody has to share it.
_OWN_CACHE = "TRITON_CACHE_DIR"


class Path(NamedTuple):
    """A path on the hosts: ``kind`` is ``logs``, ``cache``, ``image``, ``mount`` or ``read``, ``what`` its words."""

    kind: str
    what: str
    path: str


def wanted_paths(spec: Spec) -> tuple[Path, ...]:
    """Return the paths that a job needs on each node."""
    container = spec.container
    found = [Path("logs", "the log folder", spec.logs)] if spec.logs else []
    for name, cache in spec.caches.items():
        on_host = host_path(cache, container.mounts) if container.enabled else cache
        if on_host and name != _OWN_CACHE:
            found.append(Path("cache", name, on_host))
    sources = {mount.source for mount in container.mounts} if container.enabled else set()
    for path in required_paths(spec):
        if container.enabled and path == container.image:
            found.append(Path("image", "the image", path))
        elif path in sources:
            found.append(Path("mount", "the mount", path))
        else:
            found.append(Path("read", "the working directory" if path == container.workdir else "the path", path))
    return tuple(found)


def caches_in_container(spec: Spec) -> tuple[str, ...]:
    """Return the caches that no mount brings out of the container, so that each node has its own."""
    if not spec.container.enabled or spec.container.mount_home:
        return ()
    mounts = spec.container.mounts
    return tuple(name for name, path in spec.caches.items() if name != _OWN_CACHE and host_path(path, mounts) is None)
