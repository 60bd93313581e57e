"""The paths on the host without which a job cannot start."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.spec.model import Mount, Spec

# A blend can have thousands of data sets; the first ones tell whether their folder is there.
_LISTED = 8


def required_paths(spec: Spec) -> tuple[str, ...]:
    """Return the image's file and the mounts, and what the launches read but none before them writes."""
    container = spec.container
    first = [mount.source for mount in container.mounts]
    if container.image and container.image.startswith("/"):
        first.insert(0, container.image)
    if not container.enabled:
        first = [container.workdir]
    written: list[str] = []
    read: list[str] = []
    for launch in spec.launches:
        read += [path for path in _read(launch) if not any(_is_within(path, folder) for folder in written)]
        written += _written(launch)
    on_host = [host_path(path, container.mounts) if container.enabled else path for path in read]
    return tuple(dict.fromkeys([*first, *(path for path in on_host if path)]))


def _read(spec: Spec) -> Iterator[str]:
    if spec.checkpoint.pretrained:
        yield spec.checkpoint.pretrained
    if spec.conversion and spec.task == "export" and spec.conversion.megatron_path:
        yield spec.conversion.megatron_path
    if spec.data.root:
        yield spec.data.root
    yield from (f"{prefix}.idx" for prefix in spec.data.paths[:_LISTED])
    if spec.launch.nsys:
        yield spec.launch.nsys.folder


def _written(spec: Spec) -> list[str]:
    """Return the folders that a launch fills."""
    converted = spec.conversion and (
        spec.conversion.megatron_path if spec.task == "import" else spec.conversion.hf_path
    )
    return [folder for folder in (spec.checkpoint.save, converted) if folder]


def _is_within(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def host_path(path: str, mounts: tuple[Mount, ...]) -> str | None:
    """Return where a path of the container lies on the host, ``None`` where it is the image's own."""
    inside = [mount for mount in mounts if _is_within(path, mount.target)]
    if not inside:
        return None
    mount = max(inside, key=lambda one: len(one.target))
    return mount.source.rstrip("/") + path[len(mount.target.rstrip("/")) :]
