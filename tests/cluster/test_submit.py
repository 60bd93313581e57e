"""`jobspec submit` on a real Slurm: what goes well, and what may go wrong between us, sbatch and the controller."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobspec.run.record import Record, read
from tests.cluster.jobs import Site
from tests.conftest import job


def sleeper(seconds: int = 60, **sections: Any) -> dict[str, Any]:
    """Return a job of one node that sleeps."""
    base: dict[str, Any] = {
        "name": f"sleep-{os.urandom(3).hex()}",
        "task": "command",
        "resources": {"nodes": 1, "time": "0:10:00"},
        "launch": {"warmup": "none"},
        "command": {"argv": ["sleep", str(seconds)], "spread": "once"},
    }
    return job(**(base | sections))


@pytest.fixture(autouse=True)
def _idle(site: Site) -> Iterator[None]:
    """Leave no job behind."""
    yield
    site.cluster.run("scancel", "--user=root")


def jobs_named(site: Site, name: str) -> dict[str, str]:
    """Return the state of each job with a name that Slurm knows."""
    out = site.cluster.run("squeue", "--noheader", "--states=all", f"--name={name}", "--format=%i %T").stdout
    return dict(line.split() for line in out.splitlines())


def record_of(site: Site, name: str) -> Record:
    """Return the one record of a name."""
    (path,) = site.logs.glob(f"{name}_*.json")
    record = read(str(path))
    assert record is not None
    return record


def slow_sbatch(site: Site, before: float = 0, after: float = 0) -> str:
    """Put a program before sbatch on PATH that sleeps before and after the real one; return the PATH."""
    folder = site.folder / "slow"
    folder.mkdir(exist_ok=True)
    wrapper = folder / "sbatch"
    wrapper.write_text(f'#!/bin/bash\necho $$ >> {folder}/pids\nsleep {before}\n/usr/bin/sbatch "$@"\nsleep {after}\n')
    wrapper.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


def wait_for(what: Any, seconds: float = 60) -> Any:
    """Wait until a function gives something."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_job_is_submitted_with_what_it_was_made_of(site: Site) -> None:
    """The script is kept byte by byte, the record has the digests of what was read, and the comment the nonce."""
    content = sleeper(slurm={"comment": 'it\'s "ours"'})
    manifest = site.manifest(content)
    done = site.jobspec("submit", manifest)
    assert done.returncode == 0, done.stderr
    record = record_of(site, content["name"])
    compiled = site.jobspec("compile", manifest).stdout
    shown = site.cluster.run("scontrol", "show", "job", str(record.job)).stdout

    assert f"Submitted job {record.job}: {content['name']}, 1 node for 0:10:00 in batch\n" in done.stdout
    assert (site.logs / f"{content['name']}_{record.job}.sh").read_text() == compiled
    assert f'Comment=it\'s "ours" {record.comment}' in shown
    assert record.files[0][0] == manifest
    digest = subprocess.run(["sha256sum", manifest], capture_output=True, text=True, check=True).stdout.split()[0]
    assert record.files[0][1] == digest


def test_commit_and_changes_are_noted(site: Site) -> None:
    """The record has the commit, and whether a tracked file is changed or what was read is not tracked."""
    folder = site.folder / "repo"
    folder.mkdir()
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    (folder / "a").write_text("1")
    content = sleeper()
    path = Path(site.manifest(content, "repo/job.yaml"))
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    seen = []
    for change in (lambda: None, lambda: subprocess.run([*git, "add", "job.yaml"], check=True), lambda: None):
        change()
        assert site.jobspec("submit", "--again", str(path)).returncode == 0
        records = sorted(site.logs.glob(f"{content['name']}_*.json"), key=os.path.getmtime)
        seen.append(json.loads(records[-1].read_text())["git"])
        subprocess.run([*git, "commit", "-qm", "y"], check=False)

    assert [one["dirty"] for one in seen] == [True, True, False]
    assert seen[0]["commit"] == head


def test_same_manifest_twice_is_refused(site: Site) -> None:
    """Where the same waits or runs, a second submit is refused; --again, or another content, is none of that."""
    content = sleeper()
    manifest = site.manifest(content)
    assert site.jobspec("submit", manifest).returncode == 0
    second = site.jobspec("submit", manifest)

    assert second.returncode == 1
    assert "the same manifest is submitted already: job " in second.stderr
    assert len(jobs_named(site, content["name"])) == 1
    assert site.jobspec("submit", "--again", manifest).returncode == 0
    site.manifest(content | {"description": "another"})
    assert site.jobspec("submit", manifest).returncode == 0
    assert len(jobs_named(site, content["name"])) == 3


def test_two_submits_at_once_start_one_job(site: Site) -> None:
    """Of several submits at the same moment one starts the job, and the others are refused."""
    content = sleeper()
    manifest = site.manifest(content)
    started = [site.start("submit", manifest, PATH=slow_sbatch(site, before=0.3)) for _ in range(4)]
    codes = sorted(one.wait() for one in started)
    for one in started:
        one.communicate()

    assert codes == [0, 1, 1, 1]
    assert len(jobs_named(site, content["name"])) == 1


def test_sbatch_that_does_not_answer(site: Site) -> None:
    """Where sbatch hangs after the controller took the job, the job is found by its comment."""
    content = sleeper()
    manifest = site.manifest(content)
    done = site.jobspec("submit", "--timeout=2", manifest, PATH=slow_sbatch(site, after=100))

    assert done.returncode == 0, done.stderr
    assert list(jobs_named(site, content["name"])) == [record_of(site, content["name"]).job]


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_submit_is_found_by_the_next(when: str, site: Site) -> None:
    """Killed while sbatch runs on, a submit is completed by the next one, which starts no second job."""
    content = sleeper()
    manifest = site.manifest(content)
    first = site.start("submit", manifest, PATH=slow_sbatch(site, **{when: 2.0}))
    wait_for(lambda: (site.folder / "slow" / "pids").exists())
    if when == "after":
        wait_for(lambda: jobs_named(site, content["name"]))
    first.kill()
    first.communicate()
    assert list(site.logs.glob(f"{content['name']}_submit-*.json"))
    second = site.jobspec("submit", manifest)

    assert second.returncode == 0, second.stderr
    assert "Found (the answer to an earlier submit was lost) job " in second.stdout
    assert list(jobs_named(site, content["name"])) == [record_of(site, content["name"]).job]
    assert not list(site.logs.glob(f"{content['name']}_submit-*"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_submit_that_ends_at_any_moment(number: signal.Signals, site: Site) -> None:
    """Whenever a submit is ended, it and the next one together start one job."""
    path = slow_sbatch(site, before=0.1, after=0.1)
    for moment in range(6):
        content = sleeper()
        manifest = site.manifest(content)
        first = site.start("submit", manifest, PATH=path)
        wait_for(lambda: (site.logs / f".{content['name']}.lock").exists())  # noqa: B023 (called at once)
        time.sleep(moment * 0.08)
        first.send_signal(number)
        first.communicate()
        time.sleep(1)  # an sbatch that was started ends
        for pending in site.logs.glob(f"{content['name']}_submit-*.json"):
            os.utime(pending, (time.time() - 90, time.time() - 90))
        second = site.jobspec("submit", manifest)

        assert second.returncode in (0, 1), second.stderr
        assert second.returncode == 0 or "is submitted already" in second.stderr
        assert list(jobs_named(site, content["name"])) == [record_of(site, content["name"]).job]
        assert not list(site.logs.glob(f"{content['name']}_submit-*"))


def test_submit_that_never_reached_slurm(site: Site) -> None:
    """Killed with its sbatch before the controller was asked, a submit has left nothing, and the next one submits."""
    content = sleeper()
    manifest = site.manifest(content)
    first = site.start("submit", manifest, PATH=slow_sbatch(site, before=100))
    pids = site.folder / "slow" / "pids"
    wait_for(lambda: pids.exists() and pids.read_text())
    first.kill()
    first.communicate()
    (wrapper,) = wait_for(lambda: _same_in_our_namespace(f"{site.folder}/slow/sbatch"))
    os.killpg(wrapper, signal.SIGKILL)
    (pending,) = site.logs.glob(f"{content['name']}_submit-*.json")
    os.utime(pending, (time.time() - 90, time.time() - 90))
    second = site.jobspec("submit", manifest)

    assert second.returncode == 0, second.stderr
    assert "has started no job" in second.stderr
    assert "Submitted job" in second.stdout
    assert len(jobs_named(site, content["name"])) == 1


def _same_in_our_namespace(program: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if program.encode() in words[:2]:
                found.append(int(entry.name))
    return found


def test_job_that_came_and_went_is_found_by_its_output(site: Site) -> None:
    """A job whose answer was lost, and which Slurm has forgotten since, is known by the output that it left."""
    content = sleeper(1)
    manifest = site.manifest(content)
    assert site.jobspec("submit", manifest).returncode == 0
    record = record_of(site, content["name"])
    output = site.logs / f"{content['name']}_{record.job}.out"
    wait_for(output.exists)
    # What a killed submit leaves: the record under its nonce. The number is one that this Slurm does not know.
    for suffix in ("json", "sh"):
        kept = site.logs / f"{content['name']}_{record.job}.{suffix}"
        kept.rename(site.logs / f"{content['name']}_submit-000000000000.{suffix}")
    pending = site.logs / f"{content['name']}_submit-000000000000.json"
    pending.write_text(json.dumps(json.loads(pending.read_text()) | {"nonce": "0" * 12, "job": None}))
    os.utime(pending, (time.time() - 90, time.time() - 90))
    output.rename(site.logs / f"{content['name']}_99999.out")
    second = site.jobspec("submit", manifest)

    assert second.returncode == 0, second.stderr
    assert "was lost) job 99999" in second.stdout


def test_interrupted_submit_says_what_it_did(site: Site) -> None:
    """Ctrl-C while sbatch runs is obeyed when it has answered: the job is told, and its record complete."""
    content = sleeper()
    started = site.start("submit", site.manifest(content), PATH=slow_sbatch(site, after=1))
    wait_for(lambda: jobs_named(site, content["name"]))
    os.kill(started.pid, signal.SIGINT)
    out, err = started.communicate()

    assert started.returncode == 130
    assert "waiting for sbatch's answer" in err
    assert f"Submitted job {record_of(site, content['name']).job}" in out


def test_refused_job_leaves_nothing(site: Site) -> None:
    """What Slurm refuses is told in its words, and neither script nor record is left."""
    content = sleeper(slurm={"nodelist": "node99"})
    done = site.jobspec("submit", site.manifest(content))

    assert done.returncode == 1
    assert "sbatch: " in done.stderr
    assert "node99" in done.stderr or "Invalid node name" in done.stderr
    assert [path.name for path in site.logs.iterdir()] == [f".{content['name']}.lock"]


def test_full_disk_submits_nothing(site: Site) -> None:
    """Where the record cannot be written nothing is submitted."""
    content = sleeper()
    manifest = site.manifest(content)
    full = 'mount -t tmpfs -o size=4k none "$1" && shift && : > /dev/null && head -c 4096 /dev/zero > "$1/full"; shift'
    script = f'{full}; exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", str(site.logs), str(site.logs)]
    done = site.cluster.run(*words, sys.executable, "-m", "jobspec", "submit", manifest, **site.environment())

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert jobs_named(site, content["name"]) == {}


def test_missing_secret_is_told_before(site: Site) -> None:
    """A secret that is not set is told before anything is submitted; one that is reaches the job by inheritance."""
    echo = {"argv": ["bash", "-c", 'echo "<$HF_TOKEN>"'], "spread": "once"}
    content = sleeper(secrets=["HF_TOKEN"], command=echo)
    manifest = site.manifest(content)
    done = site.jobspec("submit", manifest)
    assert done.returncode == 1
    assert "the secret HF_TOKEN is not set" in done.stderr
    assert list(site.logs.iterdir()) == []

    value = "a $b 'c'"
    done = site.jobspec("submit", manifest, HF_TOKEN=value, SBATCH_EXPORT="NONE")
    assert done.returncode == 0, done.stderr
    result = site.wait(int(record_of(site, content["name"]).job or 0))
    assert f"<{value}>" in result.output
    assert all(value not in path.read_text() for path in site.logs.glob("*.json"))
    assert all(value not in path.read_text() for path in site.logs.glob("*.sh"))


def test_variables_do_not_win_over_the_manifest(site: Site) -> None:
    """SBATCH_ variables of the user's, which Slurm prefers to a script, do not change what was compiled."""
    content = sleeper()
    wrong = {"SBATCH_PARTITION": "interactive", "SBATCH_TIMELIMIT": "1:00", "SBATCH_JOB_NAME": "x"}
    assert site.jobspec("submit", site.manifest(content), **wrong).returncode == 0
    shown = site.cluster.run("scontrol", "show", "job", str(record_of(site, content["name"]).job)).stdout

    assert "Partition=batch" in shown
    assert "TimeLimit=00:10:00" in shown


def test_chain_runs_one_after_the_other(site: Site) -> None:
    """Of a chain each waits for the one before; where one fails those after it end instead of waiting for ever."""
    contents = [sleeper(1), sleeper(command={"argv": ["false"], "spread": "once"}), sleeper(1)]
    manifests = [site.manifest(one, f"{number}.yaml") for number, one in enumerate(contents)]
    done = site.jobspec("submit", "--chain", *manifests)
    assert done.returncode == 0, done.stderr
    names = [one["name"] for one in contents]
    ended = ("COMPLETED", "FAILED", "CANCELLED")
    wait_for(lambda: all(state in ended for name in names for state in jobs_named(site, name).values()))

    assert [list(jobs_named(site, name).values()) for name in names] == [["COMPLETED"], ["FAILED"], ["CANCELLED"]]


def test_dependency_by_name(site: Site) -> None:
    """A dependency names a job; one that is nowhere, or is there twice, is told before anything is submitted."""
    first, second = sleeper(), sleeper()
    path = site.manifest(first, "first.yaml")
    assert site.jobspec("submit", path).returncode == 0
    number = record_of(site, first["name"]).job
    done = site.jobspec("submit", f"--dependency=afterok:{first['name']}", site.manifest(second))
    assert done.returncode == 0, done.stderr
    shown = site.cluster.run("scontrol", "show", "job", str(record_of(site, second["name"]).job)).stdout
    assert f"Dependency=afterok:{number}(" in shown

    nowhere = site.jobspec("submit", "--again", "--dependency=afterok:nobody", path)
    assert (nowhere.returncode, "`nobody`: you have no such job" in nowhere.stderr) == (1, True)
    assert site.jobspec("submit", "--again", path).returncode == 0
    twice = site.jobspec("submit", "--again", f"--dependency=afterok:{first['name']}", site.manifest(second))
    assert (twice.returncode, "several such jobs" in twice.stderr) == (1, True)
    wrong = site.jobspec("submit", "--dependency=after", path)
    assert (wrong.returncode, "is no dependency" in wrong.stderr) == (2, True)


def test_nodes_are_kept_away_from(site: Site) -> None:
    """Nodes of the command line and of the manifest are both excluded."""
    content = sleeper(resources={"nodes": 2, "time": "0:10:00"}, slurm={"exclude": "node01"})
    done = site.jobspec("submit", site.manifest(content), "--exclude", "node03")
    assert done.returncode == 0, done.stderr
    number = wait_for(lambda: [one for one, state in jobs_named(site, content["name"]).items() if state == "RUNNING"])[
        0
    ]

    assert site.cluster.run("squeue", "--noheader", f"--jobs={number}", "--format=%N").stdout == "node[02,04]\n"


def test_dry_run_does_nothing(site: Site) -> None:
    """A dry run says what would be done and what Slurm says to it, and leaves nothing; a refusal gives 1."""
    content = sleeper()
    site.facts["logs"] = str(site.folder / "other logs")
    done = site.jobspec("submit", "--dry-run", site.manifest(content))
    assert done.returncode == 0, done.stderr
    assert f"folder   {site.folder}/other logs (would be made)" in done.stdout
    assert "to start at" in done.stdout
    assert not (site.folder / "other logs").exists()
    assert jobs_named(site, content["name"]) == {}

    refused = site.jobspec("submit", "--dry-run", site.manifest(sleeper(resources={"nodes": 9, "time": "1:00:00"})))
    assert refused.returncode == 1
    assert "allocation failure: " in refused.stdout


def test_hostile_log_folder_and_path(site: Site) -> None:
    """Blanks, quotes, dollars and Unicode in the paths reach sbatch as they are."""
    odd = "odd 'folder' $HOME \"x\" é"
    site.facts["logs"] = str(site.folder / odd / "logs")
    (site.folder / odd).mkdir()
    content = sleeper(1)
    done = site.jobspec("submit", site.manifest(content, f"{odd}/job;id.yaml"))
    assert done.returncode == 0, done.stderr
    logs = site.folder / odd / "logs"
    (path,) = logs.glob(f"{content['name']}_*.json")
    record = read(str(path))
    assert record is not None

    assert record.manifest == str(site.folder / odd / "job;id.yaml")
    assert site.wait(int(record.job or 0)).state == "COMPLETED"
    assert (logs / f"{content['name']}_{record.job}.out").exists()


def test_chain_waits_for_a_training_that_starts_again(site: Site) -> None:
    """What follows a training in a chain waits until it is finished, and not only until it starts again."""
    save = site.folder / "save"
    save.mkdir()
    name = f"train-{os.urandom(3).hex()}"
    first = job(
        name=name,
        resources={"nodes": 1, "time": "0:10:00"},
        parallelism={"pp": 8},
        training={"micro_batch_size": 1, "global_batch_size": 128, "train_iters": 200},
        checkpoint={"pretrained": str(site.folder), "save": str(save), "minutes_before_limit": 2},
        launch={"resume": {"attempts": 3}, "warmup": "none"},
    )
    then = sleeper(1)
    paths = [site.manifest(first, "first.yaml"), site.manifest(then, "then.yaml")]
    done = site.jobspec("submit", "--chain", *paths, TEST_ITERATIONS="200")
    assert done.returncode == 0, done.stderr
    number = record_of(site, name).job or ""
    output = site.logs / f"{name}_{number}.out"
    wait_for(lambda: list(site.record.glob("rank7.json")))
    time.sleep(4)  # the ranks have written down what they were given, and begin to train
    site.cluster.run("scancel", "--signal=TERM", number)  # what `slurm.signal` and the clock of the program do
    wait_for(lambda: output.read_text().count("meeting at") == 2)
    assert list(jobs_named(site, then["name"]).values()) == ["PENDING"]
    wait_for(lambda: jobs_named(site, name)[number] == "COMPLETED")
    wait_for(lambda: list(jobs_named(site, then["name"]).values()) == ["COMPLETED"])

    assert (save / "latest_checkpointed_iteration.txt").read_text() == "200"
    assert "restarts  1\n" in site.jobspec("status", name).stdout
