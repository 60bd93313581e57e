"""What Slurm prints, of versions from 21.08 to 25.05, is read as the same facts.

The texts in ``slurm/VERSION`` are what controllers of these versions printed for one configuration: four nodes of eight
H100 of which one runs, one is drained and two do not answer, a node that is down with slices of an A100, and two nodes
without GPUs. There was no slurmdbd, so those of ``sacctmgr`` here are written after its manual page.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from jobspec.driver import Session
from jobspec.site import asking
from jobspec.site.asking import Answer
from jobspec.site.cluster_file import NotEnoughError, Said, limits_of, render, show_time
from jobspec.site.gpus import is_slice, product_of
from jobspec.site.mounts import file_system_of, read_mountinfo, shared_folders
from jobspec.site.records import Gpus, gpus_of, records, seconds_of
from jobspec.site.slurm import Account, Site, ask_site, read_accounts, read_mpi

FOLDER = Path(__file__).parent / "slurm"
VERSIONS = sorted(path.name for path in FOLDER.iterdir())

_FILES = {
    ("sinfo", "--version"): "version",
    ("scontrol", "show"): "config",
    ("scontrol", "--oneliner", "show", "partition"): "partition",
    ("scontrol", "--oneliner", "show", "node"): "node",
    ("srun", "--mpi=list"): "mpi",
    ("srun", "--help"): "srun-help",
}


def site_of(version: str, accounts: str | None = None, default: str = "") -> Site:
    """Return the site that the texts of a version describe; without ``accounts`` sacctmgr fails as it did there."""

    def answer(command: Sequence[str], *, both: bool = False) -> Answer:
        del both
        for words, name in _FILES.items():
            if tuple(command[: len(words)]) == words:
                return Answer((FOLDER / version / f"{name}.txt").read_text(), None)
        assert command[0] == "sacctmgr"
        if accounts is None:
            return Answer("", "`sacctmgr`: You are not running a supported accounting_storage plugin")
        return Answer(accounts if "assoc" in command else default, None)

    return ask_site(answer)


@pytest.mark.parametrize("version", VERSIONS)
def test_partitions(version: str) -> None:
    """Limits, defaults, states and who may use a partition are the same in every version."""
    found = {one.name: one for one in site_of(version).partitions}

    assert list(found) == ["batch", "debug", "long", "legacy", "cpu", "empty"]
    assert [name for name, one in found.items() if one.default] == ["batch"]
    assert {name: one.state for name, one in found.items() if one.state != "UP"} == {"legacy": "DRAIN"}
    assert (found["batch"].max_nodes, found["batch"].max_seconds, found["batch"].nodes) == (4, 172800, 4)
    assert (found["long"].max_nodes, found["long"].max_seconds) == (None, None)
    assert found["debug"].max_seconds == 1800
    assert found["debug"].allowed_accounts == ("llm", "vision")
    assert found["debug"].allowed_groups == ("ml",)
    assert found["long"].denied_accounts == ("guests",)
    assert found["batch"].allowed_accounts is None
    assert found["empty"].nodes == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes(version: str) -> None:
    """GPUs, sizes, reasons and whether a job could start are the same in every version."""
    found = {one.name: one for one in site_of(version).nodes}

    assert [name for name, one in found.items() if one.usable] == ["hgx01"]
    assert found["hgx01"].gpus == (Gpus("h100", 8),)
    assert (found["hgx01"].cpus, found["hgx01"].memory) == (112, 2000000)
    assert "batch" in found["hgx01"].partitions
    assert found["dgx01"].gpus == (Gpus("nvidia_a100_1g.5gb", 14), Gpus("a100", 6))
    assert str(found["dgx01"].reason).startswith("memory = bad, row=3 since Monday")
    assert str(found["hgx02"].reason).startswith("ECC errors, see #12")
    assert found["cpu1"].gpus == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_rest(version: str) -> None:
    """Version, kinds of MPI, options of containers, and why there are no accounts, are found in every version."""
    site = site_of(version)

    assert str(site.version).startswith(version)
    assert {"none", "pmi2"} <= set(site.mpi or ())
    assert site.default_mpi == "pmi2"
    assert {"container-image", "container-mounts", "no-container-mount-home"} <= (site.container_options or set())
    assert "container" not in (site.container_options or set())
    assert site.accounts is None
    assert not site.needs_account
    assert list(site.unknown) == ["accounts"]


@pytest.mark.parametrize("version", VERSIONS)
def test_cluster_file(version: str) -> None:
    """The file of each version has the same facts, passes the schema, and says as a comment what it cannot know."""
    text = render(site_of(version), [], Said())
    facts = yaml.safe_load(text)

    assert Session().check_text(text, "c.yaml").sink.sorted() == []
    facts.pop("mpi")  # the 22.05 of these texts was built with PMIx, the others without
    assert facts.pop("description").startswith("Cluster alpha, Slurm ")
    assert facts == {
        "jobspec": "v1",
        "kind": "cluster",
        "nodes": 7,
        "gpus_per_node": 8,
        "gpu": {"name": "H100", "architecture": "hopper"},
        "partitions": {
            "batch": {"max_nodes": 4, "max_time": "2-00:00:00"},
            "debug": {"max_nodes": 1, "max_time": "0:30:00"},
            "long": {"max_nodes": 4},
            "legacy": {"max_nodes": 1, "max_time": "7-00:00:00"},
            "cpu": {"max_nodes": 2, "max_time": "24:00:00"},
        },
        "resources": {"partition": "batch"},
    }
    for said in (
        "4 nodes: 8 GPUs of type h100",
        "accounts llm, vision only, groups ml only",
        "2 nodes, no GPUs",
        "not accounts guests",
        "# empty: left out, it has no nodes",
        "account: not known (`sacctmgr`: You are not running",
        "sold with 80 or 94 GB",
        "image: /SHARED/images/nemo.sqsh   # not known",
    ):
        assert said in text


def test_accounts() -> None:
    """The default account is taken where the partition allows it, and all are named."""
    listed = "llm|\nvision|debug\nvision|batch\nguests|\n"
    chosen = yaml.safe_load(render(site_of("22.05", listed, "guests\n"), [], Said()))["resources"]

    assert read_accounts(listed)[1] == Account("vision", frozenset({"debug", "batch"}))
    assert chosen == {"account": "guests", "partition": "batch"}
    assert "yours are llm, vision, guests" in render(site_of("22.05", listed), [], Said())
    assert yaml.safe_load(render(site_of("22.05", "llm|\n"), [], Said()))["resources"]["account"] == "llm"
    assert "account" not in yaml.safe_load(render(site_of("22.05", listed), [], Said()))["resources"]


def test_what_is_said_is_written_as_it_is() -> None:
    """Paths with blanks, quotes, `#` and letters of other scripts come back as they were said."""
    hostile = "/lustre/a b: #c 'd' \"é\" [x] 日本"
    text = render(site_of("22.05"), [], Said(4, hostile, hostile))
    facts = yaml.safe_load(text)

    assert (facts["container"]["image"], facts["logs"], facts["gpus_per_node"]) == (hostile, hostile, 4)
    assert Session().check_text(text, "c.yaml").sink.sorted() == []


def test_site_that_says_too_little() -> None:
    """Without partitions, or where nobody knows of GPUs, there is no file but a reason; a number that is said helps."""
    site = site_of("22.05")
    with pytest.raises(NotEnoughError, match="no partition"):
        render(site._replace(partitions=()), [], Said())
    bare = site._replace(nodes=tuple(one._replace(gpus=()) for one in site.nodes))
    with pytest.raises(NotEnoughError, match="--gpus-per-node N"):
        render(bare, [], Said())
    text = render(bare, [], Said(gpus_per_node=8))

    assert Session().check_text(text, "c.yaml").sink.sorted() == []
    assert "Slurm says nothing of GPUs" in text


def test_site_that_answers_nothing() -> None:
    """Where every command is missing all is unknown, with the reason, and nothing is raised."""
    site = ask_site(lambda command, both=False: Answer("", f"`{command[0]}` is not installed here"))

    assert (site.version, site.partitions, site.nodes, site.accounts, site.mpi) == (None, (), (), None, None)
    assert set(site.unknown) == {"version", "config", "partitions", "nodes", "mpi", "container", "accounts"}


@pytest.mark.parametrize("noise", ["", "\0\x1b[31m", "=\n==\nA=\n=B", "PartitionName=\nNodeName=", "slurm " * 1000])
def test_odd_answers(noise: str) -> None:
    """Whatever the commands print, asking ends without an error, and a file that is written passes the checks."""
    site = ask_site(lambda command, both=False: Answer(noise, None))
    try:
        text = render(site, [], Said(gpus_per_node=8))
    except NotEnoughError:
        return
    assert not Session().check_text(text, "c.yaml").sink.has_errors


@pytest.mark.parametrize(
    ("gres", "expected"),
    [
        ("gpu:8", [Gpus(None, 8)]),
        ("gpu:h100:8(S:0-1)", [Gpus("h100", 8)]),
        ("gpu:nvidia_h100_80gb_hbm3:8(S:0,2),nvme:1", [Gpus("nvidia_h100_80gb_hbm3", 8)]),
        ("gpu:a100:4,gpu:v100:2,mps:400", [Gpus("a100", 4), Gpus("v100", 2)]),
        ("gpu", [Gpus(None, 1)]),
        ("gpu:no_consume:2", [Gpus(None, 2)]),
        ("gpu:tesla", [Gpus("tesla", 1)]),
        ("(null)", []),
        ("gpu:0", []),
        ("craynetwork:4", []),
    ],
)
def test_gres(gres: str, expected: list[Gpus]) -> None:
    """Forms of a node's Gres (gres.conf(5), src/interfaces/gres.c)."""
    assert list(gpus_of(gres)) == expected


@pytest.mark.parametrize(
    ("word", "name", "architecture", "memory"),
    [
        ("h100", "H100", "hopper", (80, 94)),
        ("nvidia_h100_80gb_hbm3", "H100", "hopper", (80,)),
        ("NVIDIA-A100-SXM4-40GB", "A100", "ampere", (40,)),
        ("gb200", "GB200", "blackwell", (186,)),
        ("gh200", "GH200", "hopper", (96, 144)),
        ("l40s", "L40S", None, (48,)),
    ],
)
def test_products(word: str, name: str, architecture: str | None, memory: tuple[int, ...]) -> None:
    """A gres type that names a product is known, with the memory that the word itself tells."""
    found = product_of(word)

    assert found
    assert found[:3] == (name, architecture, memory)


@pytest.mark.parametrize("word", [None, "", "gpu", "tesla", "h1000", "xb200x", "nvidia_a100_1g.5gb"])
def test_no_products(word: str | None) -> None:
    """A word that names no product, or a slice of one, is not guessed at."""
    assert product_of(word) is None
    assert is_slice(word) == (word == "nvidia_a100_1g.5gb")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-00:00:00", 86400), ("04:00:00", 14400), ("30:00", 1800), ("90", 5400), ("2-12", 216000), ("UNLIMITED", None)],
)
def test_times(text: str, seconds: int | None) -> None:
    """Times as Slurm prints them are seconds, and a file has them in the form of the schema."""
    assert seconds_of(text) == seconds
    assert show_time(86400) == "24:00:00"
    assert show_time(86460) == "1-00:01:00"
    assert show_time(1800) == "0:30:00"
    assert show_time(None) is show_time(10_000 * 86400) is None


def test_records_with_blanks() -> None:
    """Values may have blanks and equals signs, and of a key that comes twice the first counts."""
    [record] = records("NodeName=n1 OS=Linux 6.1 #1 SMP  State=DOWN Reason=x = y State=UP [root]")

    assert record == {"NodeName": "n1", "OS": "Linux 6.1 #1 SMP", "State": "DOWN", "Reason": "x = y"}


def test_partition_of_all_nodes_has_no_limit() -> None:
    """A partition without MaxNodes is limited by its nodes, and one of all nodes not at all."""
    batch = site_of("22.05").partitions[0]._replace(max_nodes=None, max_seconds=None)

    assert limits_of(batch, 7) == {"max_nodes": 4}
    assert limits_of(batch, 4) == {}


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /proc rw - proc proc rw
40 22 0:40 / /lustre rw,flock - lustre 10.0.0.1@o2ib:/fs rw
41 40 0:41 / /lustre/inner rw - lustre 10.0.0.1@o2ib:/fs2 rw
42 22 0:42 / /home\\040of\\040all rw,noatime shared:9 - nfs4 nas:/home rw,vers=4.2
43 22 0:43 / /opt/software ro - nfs nas:/sw ro
44 22 0:44 / /archive ro - nfs nas:/old ro
45 22 0:45 / /cvmfs/x ro - fuse cvmfs2 ro
46 22 0:46 / /weka rw - wekafs weka rw
broken line
"""


def test_mounts() -> None:
    """Of what is mounted, shared file systems for users are named, the outermost and writable ones."""
    systems = read_mountinfo(MOUNTS)

    assert [(one.place, one.kind) for one in shared_folders(systems)] == [
        ("/lustre", "lustre"), ("/weka", "wekafs"), ("/home of all", "nfs4")
    ]  # fmt: skip
    found = file_system_of("/lustre/inner/x", systems)
    assert found
    assert (found.place, found.shared) == ("/lustre/inner", True)
    text = render(site_of("22.05"), shared_folders(systems), Said())
    assert "# shared: [/lustre, /weka, /home of all]   # by their kinds: lustre, wekafs, nfs4" in text


def test_mpi_of_older_versions() -> None:
    """Version 21.08 writes the kinds to standard error, after its name."""
    assert read_mpi("srun: MPI types are...\nsrun: none\nsrun: pmix_v3\nsrun: pmix\n") == ("none", "pmix_v3", "pmix")


def test_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is missing, fails, or takes too long is told in words, and nothing is raised."""
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    assert asking.ask(["no-such-command"]).problem == "`no-such-command` is not installed here"
    assert asking.ask(["slow"], seconds=0.05).problem == "`slow` did not answer within 0.05 s"
    assert asking.ask(["ls", "/nowhere-at-all"]).problem == (
        "`ls`: " + subprocess.run(["ls", "/nowhere-at-all"], capture_output=True, text=True, check=False).stderr.strip()
    )
    assert asking.ask(["echo", "$HOME;id"]).text == "$HOME;id\n"
