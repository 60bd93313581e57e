"""Records, dependencies, logs and tables of jobs, without a Slurm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from jobspec.driver import Session
from jobspec.run import dependency, lock, progress, provenance, recovery, table
from jobspec.run import record as records
from jobspec.run.dependency import DependencyError
from jobspec.run.jobs import Job
from jobspec.run.outlook import Outlook
from jobspec.run.progress import Progress
from jobspec.run.reading import Reader
from jobspec.run.record import Record
from jobspec.schema.registry import load
from jobspec.slurm.squeue import Queued
from tests.conftest import job

RECORD = Record(
    name="train",
    nonce="0123456789ab",
    job=None,
    at="2026-01-02T03:04:05Z",
    manifest="/x/it's é.yaml",
    digest="ab" * 32,
    files=(("/x/it's é.yaml", "cd" * 32),),
    git=("12" * 20, True),
    version="0.1.0",
    target="srun-native",
    options=("--export=ALL",),
)


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    """A record comes back as it was, valid under its schema, and its comment says which one it is."""
    records.write(str(tmp_path), RECORD)
    (path,) = tmp_path.iterdir()

    assert records.read(str(path)) == RECORD
    Draft202012Validator(load("record")).validate(json.loads(path.read_text()))
    assert RECORD.comment == f"jobspec/0.1.0 id=0123456789ab manifest={'ab' * 6} git={'12' * 6}+"
    assert records.identity(f"our own, {RECORD.comment} words") == ("0123456789ab", "ab" * 6, None)
    assert records.identity("jobspec") is None


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"schema": "jobspec/record/v1"}', '{"schema": 1}', "\xff"])
def test_file_that_is_no_record(text: str, tmp_path: Path) -> None:
    """A file that is no record, or broken, is none."""
    path = tmp_path / "train_1.json"
    path.write_text(text, encoding="latin-1")

    assert records.read(str(path)) is None


def test_settled_record_has_its_number_even_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the record cannot be written anew its file's name says the job."""
    records.write(str(tmp_path), RECORD)
    (tmp_path / "train_submit-0123456789ab.sh").touch()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "write", full)
    recovery.settle(str(tmp_path), RECORD, "42")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["train_42.json", "train_42.sh"]
    assert records.read(str(tmp_path / "train_42.json")) == RECORD._replace(job="42")
    assert records.numbers_in(str(tmp_path)) == {"train": ["42"]}
    assert records.pending_in(str(tmp_path)) == {}


def test_one_lock_at_a_time(tmp_path: Path) -> None:
    """A name that is locked cannot be locked again, another one can."""
    folder = str(tmp_path)
    with (
        lock.hold(folder, "a", 0),
        lock.hold(folder, "b", 0),
        pytest.raises(lock.LockedError),
        lock.hold(folder, "a", 0.1),
    ):
        pass
    with lock.hold(str(tmp_path), "a", 0):
        pass


def test_digest_is_of_all_that_was_read(manifest_file: Any, tmp_path: Path) -> None:
    """Manifest, cluster and model each change the digest, and so does the kind of script of the command line."""
    cluster = {"jobspec": "v1", "kind": "cluster"} | job()["cluster"]
    manifest_file(cluster, "c.yaml")
    model = {"jobspec": "v1", "kind": "model", "num_layers": 46}
    manifest_file(model, "m.yaml")
    path = manifest_file(job(cluster="c.yaml", model="m.yaml"))

    def digest(target: str | None = None) -> tuple[str, list[str]]:
        spec = Session().compile(path, target).spec
        assert spec is not None
        files = provenance.files_of(spec)
        return provenance.digest_of(files, target), [Path(one).name for one, _ in files]

    first = digest()
    assert first[1] == ["job.yaml", "c.yaml", "m.yaml"]
    assert digest() == first
    seen = {first[0], digest("torchrun")[0]}
    for name, changed in (("c.yaml", cluster | {"nodes": 99}), ("m.yaml", model | {"num_attention_heads": 96})):
        manifest_file(changed, name)
        seen.add(digest()[0])
    assert len(seen) == 4


def queued(number: int, name: str, state: str = "RUNNING") -> Queued:
    """Return a job as squeue would tell it."""
    fields: dict[str, Any] = dict.fromkeys(Queued._fields, "")
    fields |= {"elapsed": 0, "node_count": 1, "restarts": 0, "limit": None, "end": None, "start": None}
    return Queued(**fields | {"number": str(number), "label": str(number), "name": name, "state": state})


JOBS = [queued(1, "a", "COMPLETED"), queued(2, "a"), queued(3, "b", "FAILED"), queued(4, "c"), queued(5, "c")]


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("afterok:a", "afterok:2"),
        ("afterok:17", "afterok:17"),
        ("afterany:b:a,afterok:9_3", "afterany:3:2,afterok:9_3"),
        ("afterok:a?afternotok:b", "afterok:2?afternotok:3"),
        ("singleton,afterok:a", "singleton,afterok:2"),
        ("after:17+5", "after:17+5"),
    ],
)
def test_names_become_numbers(text: str, resolved: str) -> None:
    """The names in a dependency become the IDs of jobs, and all else stays."""
    assert dependency.resolve(text, JOBS) == resolved


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("afterok:b", "has ended with FAILED"),
        ("afterok:c", "several such jobs, 4, 5"),
        ("afterok:d", "no such job"),
        ("afterok", "is no dependency"),
        ("afterok:", "is no dependency"),
        ("afterok:a:", "a name is missing"),
        ("afterok:a,afterok:a?singleton", "do not go together"),
        ("a", "is no dependency"),
        ("", "is no dependency"),
    ],
)
def test_wrong_dependencies(text: str, why: str) -> None:
    """A dependency that cannot be is told with the reason."""
    with pytest.raises(DependencyError, match=why):
        dependency.resolve(text, JOBS)


def test_dependency_of_manifest_and_command_line() -> None:
    """Both have to hold; an alternative cannot be joined."""
    assert dependency.joined("afterok:1", "afterany:2") == "afterok:1,afterany:2"
    assert dependency.joined(None, "afterany:2") == "afterany:2"
    with pytest.raises(DependencyError):
        dependency.joined("afterok:1?afterok:2", "afterany:3")


LINE = " iteration {:8d}/    1000 | elapsed time per iteration (ms): 1500.0 | lm loss: {} |\n"


def test_progress_is_the_last_whole_line(tmp_path: Path) -> None:
    """The last line of progress counts, though much may stand after it, and a half one does not."""
    log = tmp_path / "log"
    log.write_text(LINE.format(1, "2.5E+00") + LINE.format(2, "nan") + " iteration        3/    10")
    seen = progress.of_log(str(log))
    assert seen is not None
    assert (seen.iteration, seen.total, seen.left) == (2, 1000, 998 * 1.5)
    with log.open("a") as file:
        file.write("x" * 200_000)
    assert progress.of_log(str(log)) is not None
    assert progress.of_log(str(tmp_path / "none")) is None


@given(st.lists(st.sampled_from(["", "a", "bb\r", "é" * 9]), max_size=9), st.integers(0, 12), st.booleans())
def test_last_lines_are_the_last_lines(lines: list[str], count: int, whole: bool) -> None:
    """Of a text the last lines are printed, as many as are wanted, and the half one."""
    import io
    import sys
    import tempfile

    text = "".join(f"{line}\n" for line in lines) + ("" if whole else "half")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(text.encode())
        printed = io.TextIOWrapper(io.BytesIO())
        before, sys.stdout = sys.stdout, printed
        try:
            reader = Reader([Job("1", "1", "a", "RUNNING", log=str(log))], lines=count, rank=None)
            reader.read()
            reader.finish()
        finally:
            sys.stdout = before
    wanted = [*lines, *([] if whole else ["half"])]
    wanted = wanted[len(wanted) - count :] if count < len(wanted) else wanted
    assert printed.buffer.getvalue().decode() == "".join(f"{line}\n" for line in wanted)


def test_table_gives_way_in_the_name() -> None:
    """A table is as wide as the terminal, all columns but the name are whole, and control characters are shown."""
    jobs = [
        Job("1234567", "1", "name-" * 20, "RUNNING", elapsed=90_061, limit=7_200_000, node_count=128, end=10**12),
        Job("1234568_1", "2", "\x1b[31mred\n", "PENDING", reason="Priority"),
    ]
    seen = Progress(10, 1000, 2.5, 1.0)
    found = [Outlook(jobs[0], seen, 1767225600), Outlook(jobs[1], None, None)]
    narrow = table.render(found, width=80, color=False)

    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert "1-01:01:01/83-08:00:00" in narrow
    assert "\x1b" not in table.render(found, width=None, color=False)
    assert "\\x1b[31mred\\n" in table.render(found, width=None, color=False)
    assert "other jobs have a higher priority" in narrow
    assert narrow.endswith("\n1 running, 1 pending\n")
    assert "\x1b[32mrunning\x1b[0m" in table.render(found, width=80, color=True)
