"""`jobspec status`, `logs` and `cancel` on a real Slurm."""

from __future__ import annotations

import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest
from jsonschema import Draft202012Validator

from jobspec.schema.registry import load
from tests.cluster.jobs import Site
from tests.cluster.test_submit import jobs_named, record_of, sleeper, wait_for

_LINES = r"""
for i in $(seq 1 {count}); do
  printf ' iteration %8d/%8d | elapsed time per iteration (ms): 100.0 | lm loss: 2.50E+00 |\n' "$i" 1000
  sleep {pause}
done
"""


def talker(count: int = 3, pause: float = 0.0, then: str = "sleep 60", **sections: Any) -> dict[str, Any]:
    """Return a job of one node that prints progress lines, and goes on."""
    script = _LINES.format(count=count, pause=pause) + then
    return sleeper(command={"argv": ["bash", "-c", script], "spread": "once"}, **sections)


@pytest.fixture(autouse=True)
def _idle(site: Site) -> Iterator[None]:
    """Leave no job behind."""
    yield
    site.cluster.run("scancel", "--user=root")


def submitted(site: Site, content: dict[str, Any], name: str = "job.yaml") -> str:
    """Submit a job, and return its ID."""
    done = site.jobspec("submit", site.manifest(content, name))
    assert done.returncode == 0, done.stderr
    return str(record_of(site, content["name"]).job)


def document(site: Site, *arguments: str) -> dict[str, Any]:
    """Return what a verb prints as JSON, valid under its schema."""
    found: dict[str, Any] = json.loads(site.jobspec(*arguments, "--format=json").stdout)
    Draft202012Validator(load("jobs")).validate(found)
    return found


def test_running_job_in_full(site: Site) -> None:
    """Of a job that runs its state, nodes, time, iteration, loss and expected end are told, however it is named."""
    content = talker()
    number = submitted(site, content)
    wait_for(lambda: "progress" in site.jobspec("status", number).stdout)
    shown = [site.jobspec("status", word).stdout for word in (number, content["name"], f"{site.folder}/job.yaml")]

    for text in shown:
        assert text.startswith(f"{content['name']}, job {number}: running\n  nodes     node01 (1)\n"), text
        assert re.search(r"\n  time      0:00:\d\d of 0:10:00\n  progress  iteration 3 of 1000, loss 2.5\n", text)
        assert re.search(r"\n  end       of the training expected \d{4}-\d\d-\d\d \d\d:\d\d\n", text)
        assert f"\n  log       {site.logs}/{content['name']}_{number}.out\n" in text
    (job,) = document(site, "status", number)["jobs"]
    assert job["progress"] == {"iteration": 3, "total": 1000, "loss": 2.5, "seconds_per_iteration": 0.1}
    assert (job["state"], job["manifest"]) == ("RUNNING", f"{site.folder}/job.yaml")


def test_waiting_job_says_why(site: Site) -> None:
    """Of a job that waits Slurm's reason is told in plain words."""
    content = sleeper()
    assert site.jobspec("submit", "--hold", site.manifest(content)).returncode == 0

    assert "pending: it is held: `scontrol release` lets it go" in site.jobspec("status", content["name"]).stdout


def test_forgotten_job_is_known_by_its_record(site: Site) -> None:
    """A job that Slurm has forgotten, on a site without accounts, is known from its record and its log."""
    content = talker(then="true")
    number = submitted(site, content)
    site.wait(int(number))
    for suffix in ("json", "sh", "out"):  # a number that this Slurm does not know
        path = site.logs / f"{content['name']}_{number}.{suffix}"
        path.rename(site.logs / f"{content['name']}_99999.{suffix}")
    text = site.jobspec("status", "--all", f"{site.folder}/job.yaml").stdout

    assert re.search(rf"\n99999  {content['name']}  forgotten .* 3/1000 +2.5\n +Slurm knows it no more\n", text), text
    assert "note: sacct: Slurm accounting storage is disabled" in text


def test_failed_job_says_its_code(site: Site) -> None:
    """Of a job that has failed the exit code is told."""
    content = sleeper(command={"argv": ["bash", "-c", "exit 3"], "spread": "once"})
    number = submitted(site, content)
    site.wait(int(number))

    assert f"job {number}: failed (3:0): it ended with an exit code" in site.jobspec("status", number).stdout


def test_unknown_job(site: Site) -> None:
    """What is nowhere is told, with exit code 1, and a broken manifest by its name."""
    (site.folder / "broken.yaml").write_text("name: [")
    for word in ("99999", "nobody", f"{site.folder}/none.yaml", f"{site.folder}/broken.yaml"):
        for verb in (["status"], ["logs"], ["cancel", "--yes"]):
            done = site.jobspec(*verb, word)
            assert (done.returncode, done.stdout, word in done.stderr) == (1, "", True), done
            assert "Traceback" not in done.stderr
            assert "JS900" not in done.stderr


def test_table_of_an_array_fits_a_narrow_terminal(site: Site) -> None:
    """The tasks of an array are the rows of a table that is no wider than the terminal, and is whole when piped."""
    content = talker(slurm={"array": "0-2%1"})
    content["name"] = "a-name-that-is-longer-than-there-is-room-" + content["name"]
    number = submitted(site, content)
    wait_for(lambda: "running" in site.jobspec("status", number).stdout)
    narrow = site.jobspec("status", number, COLUMNS="80").stdout
    piped = site.jobspec("status", number).stdout

    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert narrow.count("…") >= 3
    assert piped.count(content["name"]) == 3
    assert "\x1b" not in piped
    assert piped.splitlines()[-1] in ("2 pending, 1 running", "1 running, 2 pending")
    assert piped.count("as many tasks of the array run as may at once") == 2


def test_logs_end_where_they_are_asked_to(site: Site) -> None:
    """The last lines of a log are printed, as many as are wanted; a rank's where lines say whose they are."""
    say = "import sys; print('one'); print('[rank1]: two'); print('3: three'); sys.stdout.write('half')"
    content = sleeper(command={"argv": ["/usr/bin/python3", "-c", say], "spread": "once"})
    number = submitted(site, content)
    site.wait(int(number))

    assert site.jobspec("logs", number, "-n2").stdout == f"3: three\nhalf{content['name']}: end of the run\n"
    assert site.jobspec("logs", number, "-n", "0").stdout == ""
    assert site.jobspec("logs", number, "-n", "all").stdout.startswith(f"{content['name']}: job {number} on 1 nodes")
    assert site.jobspec("logs", number, "--rank=1").stdout == "[rank1]: two\n"
    assert "do not say whose they are" in site.jobspec("logs", number, "--rank=1").stderr
    assert site.jobspec("logs", number, "-n", "x").returncode == 2
    (found,) = document(site, "logs", number)["jobs"]
    assert found["log"] == f"{site.logs}/{content['name']}_{number}.out"


def test_followed_log_is_whole(site: Site) -> None:
    """A log that is followed from before the job's start is printed to its last line, and then the command ends."""
    content = talker(20, 0.05, then="echo the end")
    number = submitted(site, content)
    started = site.start("logs", number, "--follow", "-n", "all")
    out, err = started.communicate(timeout=60)

    assert started.returncode == 0, err
    assert out == (site.logs / f"{content['name']}_{number}.out").read_text()
    assert out.endswith(f"the end\n{content['name']}: end of the run\n")


def test_followed_log_goes_on_after_a_restart(site: Site) -> None:
    """A job that starts again goes on in the same log, which is followed through its second wait."""
    content = talker(2, then="sleep 60 & wait")
    number = submitted(site, content)
    started = site.start("logs", number, "--follow", "-n", "all")
    log = site.logs / f"{content['name']}_{number}.out"
    wait_for(lambda: log.exists() and log.read_text().count("lm loss") == 2)
    assert site.cluster.run("scontrol", "requeue", number).returncode == 0
    wait_for(lambda: log.read_text().count("meeting at") == 2 and log.read_text().count("lm loss") == 4)
    time.sleep(1)
    assert site.jobspec("cancel", "--yes", number).returncode == 0
    out, err = started.communicate(timeout=60)

    assert out == log.read_text()
    assert out.count("lm loss") == 4
    assert f"job {number} waits to start again" in err


def test_cancelled_job_says_who_did_it(site: Site) -> None:
    """A job that is cancelled ends, and its record says that it was done from here; once more it is told as ended."""
    content = sleeper(100)
    number = submitted(site, content)
    wait_for(lambda: "RUNNING" in jobs_named(site, content["name"]).values())
    done = site.jobspec("cancel", "--yes", f"{site.folder}/job.yaml")
    wait_for(lambda: jobs_named(site, content["name"])[number] == "CANCELLED")

    assert done.stdout == f"{content['name']}, job {number}: cancelled\n"
    assert record_of(site, content["name"]).cancelled_at
    assert "`jobspec cancel` ended it at " in site.jobspec("status", number).stdout
    assert "had ended already (cancelled)" in site.jobspec("cancel", "--yes", number).stdout
    assert document(site, "cancel", "--yes", number)["jobs"][0]["outcome"] == "had-ended"


def test_cancel_during_the_warmup(site: Site) -> None:
    """A job that is cancelled while its warm-up runs starts no rank."""
    content = sleeper(launch={"warmup": "once"}, env={"UV_SLEEP": "yes"})
    uv = site.image / "opt" / "uv" / "uv"
    uv.write_text(
        uv.read_text().replace(
            'if sys.argv[1] == "sync":\n', 'if sys.argv[1] == "sync":\n    __import__("time").sleep(60)\n'
        )
    )
    number = submitted(site, content)
    wait_for(lambda: "RUNNING" in jobs_named(site, content["name"]).values())
    assert site.jobspec("cancel", "--yes", number).returncode == 0
    wait_for(lambda: jobs_named(site, content["name"])[number] == "CANCELLED")

    assert not list(site.logs.glob(f"{content['name']}_{number}.log"))


def terminal(site: Site, *arguments: str, columns: int = 80) -> pexpect.spawn[str]:
    """Start jobspec in a terminal of the login host."""
    command, *rest = site.cluster.enter(sys.executable, "-m", "jobspec", *arguments)
    environment = site.cluster.environment() | site.environment(TERM="xterm")
    return pexpect.spawn(command, rest, env=environment, encoding="utf-8", dimensions=(24, columns), timeout=30)


def test_questions_on_a_terminal(site: Site) -> None:
    """On a terminal a second submit and a cancel are asked for; only yes is yes. Elsewhere a cancel needs --yes."""
    content = sleeper()
    number = submitted(site, content)
    for answer, count in (("n", 1), ("", 1), ("y", 2)):
        asked = terminal(site, "submit", f"{site.folder}/job.yaml")
        asked.expect(r"Submit it again\? \[y/N\] ")
        asked.sendline(answer)
        asked.expect(pexpect.EOF)
        assert len(jobs_named(site, content["name"])) == count
    assert site.jobspec("cancel", number).returncode == 2
    for answer, code in (("n", 1), ("y", 0)):
        asked = terminal(site, "cancel", number)
        asked.expect(r"Cancel this job\? \[y/N\] ")
        asked.sendline(answer)
        asked.expect(pexpect.EOF)
        asked.close()
        assert asked.exitstatus == code
    wait_for(lambda: jobs_named(site, content["name"])[number] == "CANCELLED")


def test_watch_draws_until_the_end(site: Site) -> None:
    """On a terminal the job is drawn in place, in colour, until it has ended; Ctrl-C ends the watching alone."""
    content = sleeper(4)
    number = submitted(site, content)
    seen = terminal(site, "status", number, "--watch")
    seen.expect("\x1b\\[H\x1b\\[J" + content["name"])
    seen.expect("\x1b\\[32mrunning\x1b\\[0m")
    seen.expect("\x1b\\[32mcompleted\x1b\\[0m")
    seen.expect(pexpect.EOF)
    seen.close()
    assert seen.exitstatus == 0

    other = sleeper()
    number = submitted(site, other, "other.yaml")
    seen = terminal(site, "status", number, "--watch", "--color=never")
    seen.expect(other["name"])
    seen.kill(signal.SIGINT)
    seen.expect(pexpect.EOF)
    seen.close()
    assert seen.exitstatus == 130
    assert jobs_named(site, other["name"])[number] in ("PENDING", "RUNNING")


def test_watch_outlives_a_restart_of_the_controller(site: Site) -> None:
    """While the controller restarts the watching says so and goes on; piped it prints a job when its state changes."""
    content = sleeper(100)
    number = submitted(site, content)
    wait_for(lambda: "RUNNING" in jobs_named(site, content["name"]).values())
    started = site.start("status", number, "--watch")
    assert started.stdout is not None
    first = started.stdout.readline()
    restart = site.cluster.folder / "restart"
    restart.touch()
    try:
        assert site.cluster.run("scontrol", "shutdown", "slurmctld").returncode == 0
        wait_for(lambda: site.cluster.run("squeue").returncode != 0)
        assert started.stderr is not None
        said = started.stderr.readline()
    finally:
        restart.unlink()
    wait_for(lambda: site.cluster.run("squeue").returncode == 0)
    assert site.jobspec("cancel", "--yes", number).returncode == 0
    out, err = started.communicate(timeout=120)

    assert started.returncode == 0, err
    assert "asking again in " in said
    assert (first + out).count(f"job {number}: running\n") == 1
    assert f"job {number}: cancelled" in out


def test_node_that_fails(site: Site) -> None:
    """A job whose node fails goes back into the queue, and its restarts are counted; its log is one."""
    content = talker(slurm={"requeue": True})
    number = submitted(site, content)
    log = site.logs / f"{content['name']}_{number}.out"
    wait_for(lambda: log.exists() and "iteration" in log.read_text())
    node = document(site, "status", number)["jobs"][0]["nodes"]
    try:
        site.cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        wait_for(lambda: log.read_text().count("meeting at") == 2)
    finally:
        site.cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    (job,) = document(site, "status", number)["jobs"]

    assert (job["restarts"], job["state"]) == (1, "RUNNING")
    assert "  restarts  1\n" in site.jobspec("status", number).stdout


def test_preempted_job_goes_on_later(site: Site) -> None:
    """A job that a more urgent one displaces goes back into the queue, and runs again when that has ended."""
    content = talker(resources={"nodes": 4, "time": "0:10:00"}, slurm={"requeue": True})
    number = submitted(site, content)
    log = site.logs / f"{content['name']}_{number}.out"
    wait_for(lambda: log.exists() and "lm loss" in log.read_text())
    site.facts["partitions"] |= {"urgent": {}}
    resources = {"nodes": 4, "time": "0:10:00", "partition": "urgent"}
    urgent = submitted(site, sleeper(3, resources=resources), "urgent.yaml")
    wait_for(lambda: document(site, "status", number)["jobs"][0]["state"] == "PENDING")
    assert site.wait(int(urgent)).state == "COMPLETED"
    wait_for(lambda: log.read_text().count("meeting at") == 2)

    assert document(site, "status", number)["jobs"][0]["restarts"] == 1


def test_thousand_jobs_in_one_question(site: Site) -> None:
    """A thousand jobs are told by one squeue."""
    content = sleeper(slurm={"array": "0-999%1"})
    number = submitted(site, content)
    counter = site.folder / "count"
    counter.mkdir()
    wrapper = counter / "squeue"
    wrapper.write_text(f'#!/bin/bash\necho x >> {counter}/calls\nexec /usr/bin/squeue "$@"\n')
    wrapper.chmod(0o755)
    done = site.jobspec("status", number, PATH=f"{counter}:/usr/bin:/bin")

    assert len(done.stdout.splitlines()) > 1000
    assert (counter / "calls").read_text() == "x\n"
