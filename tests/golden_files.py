"""Golden files: snapshots whose path is the test's own parameter, compared byte by byte.

A test `test_x[a/b.sh]` keeps what it got in `a/b.sh` below its extension's root. syrupy's own file names come from the
test's name; these are meant to be found and read by people.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
INVALID = ROOT / "tests" / "invalid"
#: The manifests of the repository: those of one job, and sweeps.
_MANIFESTS = sorted((ROOT / "manifests").glob("*.yaml"))
SWEEPS = [path for path in _MANIFESTS if "\nmatrix:" in path.read_text(encoding="utf-8")]
JOBS = [path for path in _MANIFESTS if path not in SWEEPS]


class GoldenFile(SingleFileSnapshotExtension):
    """A snapshot in the file that the test's parameter names; a CR LF or a blank at a line's end is a difference."""

    _write_mode = WriteMode.BINARY
    file_extension = ""
    root: Path

    def serialize(self, data: Any, **_options: Any) -> bytes:
        """Return the bytes to keep."""
        return str(data).encode()

    @classmethod
    def _path(cls, test_location: PyTestLocation) -> Path:
        return cls.root / str(test_location.nodename).partition("[")[2].removesuffix("]")

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of the snapshot."""
        return str(cls._path(test_location).parent)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """Return the name of the snapshot's file."""
        return cls._path(test_location).name

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Return the name by which syrupy tells used snapshots from unused ones."""
        return str(test_location.nodename)

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return a folder that is not that of one snapshot, so that files of others in it are left alone."""
        return str(cls.root.parent)

    def owns_snapshot_collection(self, *, filepath: str, test_location: PyTestLocation) -> bool:
        """Leave it to a test to find files that no test compares: syrupy would delete them."""
        return False

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a snapshot is this test's."""
        return cls._path(test_location) == Path(snapshot_location)


class GoldenScript(GoldenFile):
    """What is compiled from the manifests of the repository."""

    root = GOLDEN


class GoldenDiagnostics(GoldenFile):
    """What is said about the invalid manifests."""

    root = INVALID
