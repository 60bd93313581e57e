"""Cluster and model files: where they are looked for, and how they are merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobspec.driver import Compiled, Session
from tests.conftest import BASE, job

SITE: dict[str, Any] = {"jobspec": "v1", "kind": "cluster", **BASE["cluster"]}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a manifest two folders down, in which jobspec runs."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    write(root / "jobs" / "today" / "job.yaml", job(cluster="site"))
    monkeypatch.chdir(root)
    return root


def write(path: Path, content: dict[str, Any]) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def compiled(path: str = "jobs/today/job.yaml") -> Compiled:
    """Compile a manifest."""
    return Session().compile(path)


def codes(result: Compiled) -> list[str]:
    """Return the codes of a result."""
    return [found.kind.code for found in result.sink.sorted()]


@pytest.mark.parametrize("folder", ["jobs/today", "jobs", "."])
@pytest.mark.parametrize("suffix", ["yaml", "yml"])
def test_clusters_are_found_above(folder: str, suffix: str, repository: Path) -> None:
    """A cluster's file is found beside the manifest and in each folder above it, up to the repository's root."""
    write(repository / folder / "clusters" / f"site.{suffix}", SITE)

    assert codes(compiled()) == []


def test_the_nearest_cluster_wins(repository: Path) -> None:
    """Of two files with a name the one nearer to the manifest is taken."""
    write(repository / "clusters" / "site.yaml", SITE | {"logs": "/far"})
    write(repository / "jobs" / "clusters" / "site.yaml", SITE | {"logs": "/near"})
    spec = compiled().spec

    assert spec is not None
    assert spec.logs == "/near"


def test_nothing_is_found_above_the_root(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder above the repository's root is not looked at, and neither is the home folder."""
    write(repository.parent / "clusters" / "site.yaml", SITE)
    monkeypatch.setenv("HOME", str(repository.parent))
    (found,) = compiled().sink.sorted()

    assert found.kind.code == "JS301"
    assert found.notes[0].endswith("in `jobs/today/clusters`, `jobs/clusters`, `clusters`")


def test_misspelt_names_get_a_suggestion(repository: Path) -> None:
    """A name that is nearly right is named."""
    write(repository / "clusters" / "sites.yaml", SITE)
    (found,) = compiled().sink.sorted()

    assert found.help == ("did you mean `sites`?",)


def test_paths_are_relative_to_the_manifest(repository: Path) -> None:
    """A value with a slash or a suffix is a path, seen from the manifest's folder."""
    write(repository / "elsewhere" / "hgx.yaml", SITE)
    write(repository / "jobs" / "today" / "job.yaml", job(cluster="../../elsewhere/hgx.yaml"))
    assert codes(compiled()) == []
    write(repository / "jobs" / "today" / "job.yaml", job(cluster="none.yaml"))
    (found,) = compiled().sink.sorted()
    assert (found.kind.code, found.path) == ("JS001", "jobs/today/none.yaml")


def test_manifest_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of a repository only the manifest's own folder is looked at."""
    monkeypatch.setattr("jobspec.spec.references._ROOT_MARKS", ("no-such-mark",))
    write(tmp_path / "clusters" / "site.yaml", SITE)
    write(tmp_path / "deep" / "job.yaml", job(cluster="site"))
    write(tmp_path / "job.yaml", job(cluster="site"))

    assert codes(compiled(str(tmp_path / "job.yaml"))) == []
    assert codes(compiled(str(tmp_path / "deep" / "job.yaml"))) == ["JS301"]


def test_errors_in_a_cluster_file_point_into_it(repository: Path) -> None:
    """A fault in the cluster file is reported there, for each manifest that names it."""
    write(repository / "clusters" / "site.yaml", SITE | {"gpus_per_nod": 8})
    session = Session()
    for _ in range(2):
        (found,) = session.compile("jobs/today/job.yaml").sink.sorted()
        assert (found.kind.code, found.path) == ("JS101", "clusters/site.yaml")


def test_wrong_kinds_are_told_apart(repository: Path) -> None:
    """A model file for a cluster, a job manifest for a cluster and a cluster file for a job are refused."""
    write(repository / "clusters" / "site.yaml", {"jobspec": "v1", "kind": "model"})
    assert codes(compiled()) == ["JS303"]
    write(repository / "clusters" / "site.yaml", job())
    assert codes(compiled()) == ["JS303"]
    write(repository / "clusters" / "site.yaml", SITE)
    assert codes(compiled("clusters/site.yaml")) == ["JS303"]
    assert codes(Session().check("clusters/site.yaml")) == []


def test_sections_are_joined(repository: Path) -> None:
    """What a manifest leaves out comes from the cluster file, key by key; mounts are joined by their target."""
    container = {"image": "/site.sqsh", "mounts": ["/a", "/b:/data"], "mount_home": True}
    write(repository / "clusters" / "site.yaml", SITE | {"container": container, "env": {"A": "1", "B": "1"}})
    own = {"mounts": ["/c:/data:ro"], "mount_home": False}
    write(repository / "jobs" / "today" / "job.yaml", job(cluster="site", container=own, env={"B": "2"}))
    spec = compiled().spec

    assert spec is not None
    assert spec.container.image == "/site.sqsh"
    assert [(mount.source, mount.target, mount.options) for mount in spec.container.mounts] == [
        ("/a", "/a", ()),
        ("/c", "/data", ("ro",)),
    ]
    assert spec.container.mount_home is False
    assert spec.env == {"A": "1", "B": "2"}
    assert spec.resources.account == "llm"


def test_the_only_partition_is_taken(compile_job: Any) -> None:
    """Where a site has one partition, nobody has to name it."""
    cluster = BASE["cluster"] | {"partitions": {"gpu": {}}, "resources": {}}

    assert compile_job(job(cluster=cluster)).spec.resources.partition == "gpu"


def test_expert_tensor_parallel_default(compile_job: Any) -> None:
    """Without etp it is 1 where ep is above 1, else tp; what is given stands."""
    for parallelism, etp in (({"tp": 2, "ep": 8}, 1), ({"tp": 2}, 2), ({"tp": 2, "ep": 8, "etp": 2}, 2)):
        assert compile_job(job(parallelism=parallelism)).spec.layout.etp == etp
