"""jobspec on a laptop, Slurm on the login host: all that passes between them goes over a real OpenSSH."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cluster.jobs import Site
from tests.cluster.laptop import Laptop
from tests.cluster.test_status import talker
from tests.cluster.test_submit import jobs_named, record_of, sleeper, slow_sbatch, wait_for

HOST = ("--host", "root@login")


@pytest.fixture
def laptop(site: Site) -> Iterator[Laptop]:
    """A laptop that reaches the login host of the cluster."""
    if not shutil.which("sshd", path="/usr/sbin"):
        pytest.fail("no sshd: see tests/cluster/packages.txt")
    made = Laptop(site)
    yield made
    made.close()
    site.cluster.run("scancel", "--user=root")


def submitted(laptop: Laptop, content: dict[str, object]) -> str:
    """Submit a job from the laptop, and return its ID."""
    done = laptop.jobspec("submit", *HOST, laptop.site.manifest(content))
    assert done.returncode == 0, done.stderr
    return str(record_of(laptop.site, str(content["name"])).job)


def test_job_from_a_laptop(laptop: Laptop) -> None:
    """Submitted, shown, read and cancelled over one connection; script, record and log are on the other side alone."""
    content = talker(count=3, slurm={"comment": 'it\'s "ours" $HOME é'})
    manifest = laptop.site.manifest(content)
    done = laptop.jobspec("submit", *HOST, manifest)
    assert done.returncode == 0, done.stderr
    number = str(record_of(laptop.site, content["name"]).job)
    assert f"jobspec status {number} --watch --host root@login\n" in done.stdout
    script = laptop.site.logs / f"{content['name']}_{number}.sh"
    assert script.read_text() == laptop.jobspec("compile", manifest).stdout
    assert script.stat().st_mode & 0o777 == 0o755
    wait_for(lambda: "progress" in laptop.jobspec("status", *HOST, number).stdout)
    shown = laptop.jobspec("status", *HOST, manifest).stdout
    read = laptop.jobspec("logs", *HOST, "-n", "2", content["name"])
    document = json.loads(laptop.jobspec("status", *HOST, number, "--format=json").stdout)
    cancelled = laptop.jobspec("cancel", *HOST, "--yes", number)

    assert shown.startswith(f"{content['name']}, job {number}: running\n")
    assert "progress  iteration 3 of 1000, loss 2.5\n" in shown
    assert f"manifest  {manifest}\n" in shown
    assert read.stdout.count("\n") == 2
    assert "iteration        3/    1000" in read.stdout
    assert document["jobs"][0]["digest"] == record_of(laptop.site, content["name"]).digest
    assert f"{content['name']}, job {number}: cancelled" in cancelled.stdout
    assert record_of(laptop.site, content["name"]).cancelled_at
    assert len([one for one in laptop.calls() if "-G" not in one]) > 5
    assert len(list(Path(laptop.runtime, "jobspec").glob("*"))) == 1


def test_log_is_followed_over_one_connection(laptop: Laptop) -> None:
    """`logs --follow` prints each line once as it grows, until the job has ended, by one shell there."""
    content = talker(count=8, pause=0.5, then="echo ended")
    number = submitted(laptop, content)
    before = len(laptop.calls())
    done = laptop.jobspec("logs", *HOST, "--follow", "-n", "all", number)

    assert done.returncode == 0, done.stderr
    for iteration in range(1, 9):
        assert done.stdout.count(f" iteration {iteration:8d}/") == 1
    assert done.stdout.endswith("ended\n") or "ended\n" in done.stdout
    assert len(laptop.calls()) - before == 3  # for the configuration, for the connection that is open, and the shell


def test_log_is_followed_through_a_lost_connection(laptop: Laptop) -> None:
    """Where the connection breaks while a log is followed it is made anew, and no line is missing or there twice."""
    content = talker(count=16, pause=0.5, then="echo ended")
    number = submitted(laptop, content)
    process = laptop.start("logs", *HOST, "--follow", "-n", "all", number)
    time.sleep(3)
    laptop.hang_up()
    out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert "was lost" in err
    assert [out.count(f" iteration {iteration:8d}/") for iteration in range(1, 17)] == [1] * 16


def test_same_manifest_twice_is_refused(laptop: Laptop) -> None:
    """What was submitted from the laptop is refused there and on the login host, and the other way round."""
    content = sleeper()
    number = submitted(laptop, content)
    manifest = laptop.site.manifest(content)
    for second in (laptop.jobspec("submit", *HOST, manifest), laptop.site.jobspec("submit", manifest)):
        assert second.returncode == 1
        assert f"the same manifest is submitted already: job {number}" in second.stderr
    other = laptop.site.manifest(sleeper())
    assert laptop.site.jobspec("submit", other).returncode == 0
    assert laptop.jobspec("submit", *HOST, other).returncode == 1


def test_laptop_and_login_host_exclude_each_other(laptop: Laptop) -> None:
    """Of submits from the laptop and on the login host at the same moment one starts the job."""
    content = sleeper()
    manifest = laptop.site.manifest(content)
    path = slow_sbatch(laptop.site, before=1)
    laptop.profile(f"PATH={path}\n")
    started = [laptop.start("submit", *HOST, manifest) for _ in range(2)]
    started += [laptop.site.start("submit", manifest, PATH=path) for _ in range(2)]
    told = [one.communicate(timeout=120) for one in started]

    assert sorted(one.returncode for one in started) == [0, 1, 1, 1], told
    assert len(jobs_named(laptop.site, content["name"])) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_connection_that_breaks_while_sbatch_runs(when: str, laptop: Laptop) -> None:
    """A connection that breaks before or after the controller has the job loses nothing: the next submit finds it."""
    content = sleeper()
    manifest = laptop.site.manifest(content)
    laptop.profile(f"PATH={slow_sbatch(laptop.site, **{when: 3.0})}\n")
    first = laptop.start("submit", *HOST, manifest)
    wait_for((laptop.site.folder / "slow" / "pids").exists)
    if when == "after":
        wait_for(lambda: jobs_named(laptop.site, content["name"]))
    laptop.hang_up()
    _, err = first.communicate(timeout=60)
    assert first.returncode == 1
    assert "Whether there is a job is not known; run the same command again" in err
    assert list(laptop.site.logs.glob(f"{content['name']}_submit-*.json"))
    second = laptop.jobspec("submit", *HOST, manifest)

    assert second.returncode == 0, second.stderr
    assert "Found (the answer to an earlier submit was lost) job " in second.stdout
    assert list(jobs_named(laptop.site, content["name"])) == [record_of(laptop.site, content["name"]).job]
    assert not list(laptop.site.logs.glob(f"{content['name']}_submit-*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_submit_that_ends_at_any_moment(number: signal.Signals, laptop: Laptop) -> None:
    """Whenever a submit is ended, it and the next one together start one job."""
    laptop.profile(f"PATH={slow_sbatch(laptop.site, before=0.2, after=0.2)}\n")
    for moment in range(4):
        content = sleeper()
        manifest = laptop.site.manifest(content)
        first = laptop.start("submit", *HOST, manifest)
        wait_for((laptop.site.logs / f".{content['name']}.lock").exists)
        time.sleep(moment * 0.15)
        first.send_signal(number)
        first.communicate(timeout=60)
        time.sleep(1)
        second = laptop.jobspec("submit", *HOST, manifest)
        assert second.returncode == 0 or "is submitted already" in second.stderr, second.stderr
        assert list(jobs_named(laptop.site, content["name"])) == [record_of(laptop.site, content["name"]).job]


def test_interrupted_submit_says_what_it_did(laptop: Laptop) -> None:
    """Ctrl-C on the laptop's terminal, while sbatch runs over there, is obeyed when it has answered."""
    content = sleeper()
    laptop.profile(f"PATH={slow_sbatch(laptop.site, after=2)}\n")
    process = laptop.start("submit", *HOST, laptop.site.manifest(content), start_new_session=True)
    wait_for(lambda: jobs_named(laptop.site, content["name"]))
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130, err
    assert "waiting for sbatch's answer" in err
    assert f"Submitted job {record_of(laptop.site, content['name']).job}" in out


def test_sbatch_that_does_not_answer(laptop: Laptop) -> None:
    """Where sbatch hangs over there after the controller took the job, the job is found by its comment."""
    content = sleeper()
    laptop.profile(f"PATH={slow_sbatch(laptop.site, after=100)}\n")
    done = laptop.jobspec("submit", *HOST, "--timeout=2", laptop.site.manifest(content))

    assert done.returncode == 0, done.stderr
    assert list(jobs_named(laptop.site, content["name"])) == [record_of(laptop.site, content["name"]).job]


def test_refused_job_leaves_nothing(laptop: Laptop) -> None:
    """What Slurm refuses is told in its words, and neither script nor record is left; --dry-run writes nothing."""
    content = sleeper(slurm={"nodelist": "node99"})
    manifest = laptop.site.manifest(content)
    rehearsed = laptop.jobspec("submit", *HOST, "--dry-run", manifest)
    assert not list(laptop.site.logs.iterdir())
    done = laptop.jobspec("submit", *HOST, manifest)

    assert (done.returncode, rehearsed.returncode) == (1, 1)
    assert "sbatch: " in done.stderr
    assert [path.name for path in laptop.site.logs.iterdir()] == [f".{content['name']}.lock"]


def test_secret_is_looked_for_there(laptop: Laptop) -> None:
    """A secret of the laptop's does not count and does not cross; one of the login shell there reaches the job."""
    echo = {"argv": ["bash", "-c", 'echo "<$HF_TOKEN>"'], "spread": "once"}
    content = sleeper(secrets=["HF_TOKEN"], command=echo)
    manifest = laptop.site.manifest(content)
    done = laptop.jobspec("submit", *HOST, manifest, HF_TOKEN="of-the-laptop")
    assert done.returncode == 1
    assert "the secret HF_TOKEN is not set on root@login" in done.stderr
    assert not list(laptop.site.logs.iterdir())

    value = "a $b 'c'"
    laptop.profile('export HF_TOKEN="a \\$b \'c\'"\necho Welcome; echo to the cluster >&2; read -r x && echo "$x"\n')
    done = laptop.jobspec("submit", *HOST, manifest, HF_TOKEN="of-the-laptop")
    assert done.returncode == 0, done.stderr
    assert "Welcome" not in done.stdout + done.stderr
    result = laptop.site.wait(int(record_of(laptop.site, content["name"]).job or 0))
    assert f"<{value}>" in result.output
    assert value not in done.stdout + done.stderr
    assert all(value not in path.read_text() for path in laptop.site.logs.glob("*.[js]*"))


def test_hostile_paths(laptop: Laptop) -> None:
    """Blanks, quotes, dollars and Unicode in the paths over there are as they are."""
    odd = "odd 'folder' $HOME \"x\" é!"
    laptop.site.facts["logs"] = str(laptop.site.folder / odd / "logs")
    content = sleeper(1)
    done = laptop.jobspec("submit", *HOST, laptop.site.manifest(content))
    assert done.returncode == 0, done.stderr
    logs = laptop.site.folder / odd / "logs"
    (path,) = logs.glob(f"{content['name']}_*.json")
    number = path.stem.rpartition("_")[2]

    assert laptop.site.wait(int(number)).state == "COMPLETED"
    assert laptop.jobspec("logs", *HOST, number).returncode == 0


def test_cluster_file_is_written_here(laptop: Laptop) -> None:
    """`init --cluster --host` asks there, and writes here."""
    place = laptop.folder / "clusters" / "there.yaml"
    options = ("--image", str(laptop.site.image), "--logs", str(laptop.site.logs), "-o", str(place))
    done = laptop.jobspec("init", "--cluster", "there", *HOST, *options)
    assert done.returncode == 0, done.stderr
    written = yaml.safe_load(place.read_text())

    assert written["gpus_per_node"] == 8
    assert set(written["partitions"]) == {"batch", "interactive", "urgent"}


def test_doctor_looks_there(laptop: Laptop) -> None:
    """The doctor tells what the login host sees: a log folder that the laptop has not, and one that nobody has."""

    def lines(*arguments: str) -> dict[str, str]:
        done = laptop.jobspec("doctor", *HOST, "--cluster", str(laptop.cluster_file()), "--format=json", *arguments)
        assert done.stdout, done.stderr
        return {line["check"]: f"{line['level']} {line['message']}" for line in json.loads(done.stdout)["lines"]}

    found = lines()
    assert found["partition"].startswith("pass `batch`")
    assert found["logs"].startswith(("pass ", "unknown ")), found
    assert "is writable" in found["logs"]
    assert "on root@login" in found["mount"] + found["image"]
    deep = lines("--deep", "--nodes", "2", "--wait", "60")
    assert deep["clock"].startswith("pass "), deep
    assert deep["port"].startswith("pass "), deep
    laptop.site.facts["logs"] = str(laptop.folder / "none")
    assert "is not there" in lines()["logs"]


def test_interrupted_doctor_leaves_no_job(laptop: Laptop) -> None:
    """Ctrl-C while the doctor's job waits for nodes revokes it over there."""
    busy = sleeper(resources={"nodes": 4, "time": "0:10:00"})
    submitted(laptop, busy)
    wait_for(lambda: "RUNNING" in jobs_named(laptop.site, busy["name"]).values())
    words = ("doctor", *HOST, "--cluster", str(laptop.cluster_file()), "--deep", "--nodes", "2")
    process = laptop.start(*words, start_new_session=True)
    waits = ["squeue", "--noheader", "--name=jobspec-doctor"]
    wait_for(lambda: laptop.site.cluster.run(*waits).stdout)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130
    wait_for(lambda: not laptop.site.cluster.run(*waits).stdout, 10)


def test_no_slurm_there(laptop: Laptop) -> None:
    """A machine without Slurm is told by its name, and nothing is left there."""
    laptop.serve("for one in sbatch squeue; do mount --bind /dev/null /usr/bin/$one; done")
    done = laptop.jobspec("status", *HOST)
    assert (done.returncode, done.stdout) == (1, "")
    assert "squeue is not installed on root@login" in done.stderr
    done = laptop.jobspec("submit", *HOST, laptop.site.manifest(sleeper()))
    assert done.returncode == 1
    assert not list(laptop.site.logs.glob("*_*"))


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("nowhere", "ssh does not reach nowhere: "),
        ("wrong-key", "ssh does not reach wrong-key: "),
        ("no such host", "--host 'no such host': a machine's name has no blanks"),
        ("-oProxyCommand=touch /tmp/x", "a machine's name does not begin with a dash"),
    ],
)
def test_machine_that_is_not_reached(host: str, said: str, laptop: Laptop) -> None:
    """What ssh says is told in one line, with what to try."""
    done = laptop.jobspec("status", f"--host={host}")

    assert done.returncode == (2 if "machine's name" in said else 1)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "machine's name" in said or f"try `ssh {host} true`" in done.stderr
