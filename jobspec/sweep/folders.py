"""What the points of a sweep write, so that no two write to the same place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.diagnostics.model import Label, Sink
from jobspec.spec.model import Spec
from jobspec.sweep import codes
from jobspec.sweep.model import PointJob
from jobspec.syntax.nodes import find


def check_folders(jobs: Sequence[PointJob], sink: Sink) -> None:
    """Report each key by which two points write to the same folder."""
    owners: dict[str, tuple[PointJob, str]] = {}
    told: set[str] = set()
    for job in jobs:
        for pointer, folder, launch in _written(job.compiled.spec):
            plain = folder.rstrip("/") or "/"
            other, _ = owners.setdefault(plain, (job, pointer))
            if other is job or pointer in told:
                continue
            told.add(pointer)
            node = find(launch.tree, pointer)
            key = pointer.strip("/").replace("/", ".")
            sink.report(
                codes.POINTS_SHARE_A_FOLDER,
                f"several points write to `{folder}`",
                at=Label(node.span) if node else None,
                pointer=pointer,
                notes=(f"two of them are {other.point.shown}, and {job.point.shown}",),
                help=(f'put the point\'s name into it: `{key}: "{plain}/{{sweep.point}}"`',),
            )


def _written(spec: Spec) -> Iterator[tuple[str, str, Spec]]:
    """Yield pointer and path of each folder that a launch of a job writes its own results to."""
    for launch in spec.launches:
        conversion = launch.conversion
        folders = {
            "/checkpoint/save": launch.checkpoint.save,
            "/logging/tensorboard": launch.logging.tensorboard,
            "/launch/nsys/folder": launch.launch.nsys and launch.launch.nsys.folder,
            "/conversion/megatron_path": conversion and launch.task == "import" and conversion.megatron_path,
            "/conversion/hf_path": conversion and launch.task == "export" and conversion.hf_path,
        }
        yield from ((pointer, folder, launch) for pointer, folder in folders.items() if folder)
