"""What Slurm's programs print is read as it is meant."""

from __future__ import annotations

import re

import pytest

from jobspec.slurm import sacct, sbatch, squeue
from jobspec.slurm.programs import Answer, SlurmError, duration, moment
from jobspec.slurm.reasons import in_words
from tests.conftest import ROOT

ANSWERS = ROOT / "tests" / "slurm_answers"


def test_squeue_is_read() -> None:
    """The answer of a real squeue gives each job with its state, times, log, comment and exit code."""
    jobs = {job.label: job for job in squeue.parse((ANSWERS / "squeue-22.05.txt").read_text())}
    play, failed = jobs["11"], jobs["12"]
    waiting = next(job for job in jobs.values() if job.name == "odd")

    assert (play.state, play.nodes, play.node_count, play.elapsed, play.limit) == (
        "COMPLETED",
        "node[01-02]",
        2,
        3,
        600,
    )
    assert play.end == (play.start or 0) + play.elapsed
    assert play.log == "/site/logs/play_11.out"
    assert (failed.state, failed.exit_code, failed.reason) == ("FAILED", "3:0", "NonZeroExitCode")
    assert failed.log is None  # it has the node's name in it
    assert (waiting.limit, waiting.start) == (2 * 3600 + 4 * 60, None)
    assert waiting.log == f"/logs/odd_{waiting.label}.out"
    assert waiting.comment.startswith('it\'s "ours" a|b jobspec/0.1.0 id=')
    assert not waiting.has_ended


def test_sacct_is_read() -> None:
    """The answer of sacct, in the form that sacct(1) gives for --parsable2, gives each job with how it ended."""
    text = (
        "12|CANCELLED by 1000|0:15|61|10:00|1767225600|1767225661|2|node[01-02]|a|b\n"
        "13_1|TIMEOUT|0:0|0|UNLIMITED|None|Unknown|1|None assigned|c\n"
    )
    first, second = sacct.parse(text)

    assert (first.state, first.exit_code, first.elapsed, first.limit, first.name) == (
        "CANCELLED",
        "0:15",
        61,
        600,
        "a|b",
    )
    assert (second.number, second.limit, second.start, second.nodes) == ("13_1", None, None, "")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:05", 5), ("1:02:03", 3723), ("2-03:04:05", 183845), ("10", 10), ("UNLIMITED", None), ("INVALID", None)],
)
def test_durations(text: str, seconds: int | None) -> None:
    """Times as squeue prints them are seconds, and what is no time is none."""
    assert duration(text) == seconds


def test_moments() -> None:
    """A point in time is Unix seconds, and what is none is none."""
    assert [moment(text) for text in ("1767225600", "N/A", "")] == [1767225600, None, None]


def test_sbatch_answers_with_a_number() -> None:
    """The ID is the last line's, with or without the cluster's name behind it."""
    assert sbatch.job_of(Answer(0, "123\n", "")) == "123"
    assert sbatch.job_of(Answer(0, "a word of the site\n123;cluster\n", "")) == "123"


@pytest.mark.parametrize(
    ("answer", "unanswered"),
    [
        (Answer(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"), True),
        (Answer(1, "", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n"), True),
        (Answer(-9, "", ""), True),
        (Answer(0, "no number\n", ""), True),
        (Answer(1, "", "sbatch: error: Batch job submission failed: Invalid account specified\n"), False),
        (
            Answer(
                1,
                "",
                "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n",
            ),
            False,
        ),
    ],
)
def test_lost_answers_are_told_from_refusals(answer: Answer, unanswered: bool) -> None:
    """After a time-out or a signal nobody knows whether there is a job; after a refusal there is none."""
    with pytest.raises(SlurmError) as raised:
        sbatch.job_of(answer)

    assert raised.value.unanswered is unanswered


def test_reasons_are_said_in_words() -> None:
    """Each reason code of Slurm is said in words, none as it is."""
    codes = (ANSWERS / "reasons.txt").read_text().split()
    unsaid = [code for code in codes if in_words(code) == code]

    assert len(codes) > 200
    assert unsaid == []
    assert not [code for code in codes if re.search(r"  |^ | $", in_words(code))]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("QOSGrpGRES", "the QOS's limit of GPUs (GRES) is reached"),
        ("QOSMaxWallDurationPerJobLimit", "it asks for more time than the QOS allows a job"),
        ("AssocMaxJobsLimit", "the account's limit of running jobs is reached"),
        ("ReqNodeNotAvail, UnavailableNodes:node[1-2]", "a node that it needs is down, drained or reserved: node[1-2]"),
        ("SomethingNew", "SomethingNew"),
        ("None", ""),
    ],
)
def test_single_reasons(code: str, words: str) -> None:
    """Limits are said with whose they are and of what; a code that is not known is kept."""
    assert in_words(code) == words
