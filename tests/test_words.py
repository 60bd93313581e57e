"""Words reach the process as they were given, through bash."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.shell.commands import command, show_command, show_comment, show_heredoc
from jobspec.shell.words import Var, Word, show, word

# NUL ends a C string, so no argument can hold it; lone surrogates have no UTF-8.
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
HOSTILE = st.text(st.sampled_from("a1 -=~/$`\\\"'!#&;|<>(){}[]*?\n\t\r%:,@+^é名😀"), max_size=15)
TEXTS = st.one_of(ANY, HOSTILE)


def bash(script: str, **environment: str) -> bytes:
    """Run a script as a job's bash would, and return its output."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"} | environment
    done = subprocess.run(["bash", "-c", script], capture_output=True, env=environment, check=True)
    assert done.stderr == b""
    return done.stdout


def argv(words: list[Word | str], **environment: str) -> list[str]:
    """Return the arguments that a program gets from printed words."""
    printed = bash(f"printf '%s\\0' {' '.join(show(one) for one in words)}", **environment)
    return printed.decode().split("\0")[:-1]


@settings(max_examples=300, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=20))
def test_literal_words_arrive_unchanged(texts: list[str]) -> None:
    """Any text is one argument with the same characters."""
    assert argv(list(texts)) == texts


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(TEXTS, st.just(Var("VALUE"))), min_size=1, max_size=6), TEXTS)
def test_expansions_are_replaced_and_nothing_else(parts: list[str | Var], value: str) -> None:
    """A word with a variable is its literal parts with the variable's value between them, never split."""
    expected = "".join(part if isinstance(part, str) else value for part in parts)

    assert argv([word(*parts)], VALUE=value) == [expected]


def test_the_most_readable_form_is_taken() -> None:
    """Safe text stays bare; quotes begin behind the `=` of a flag; a control character shows as its escape."""
    assert show("/lustre/a-b_c.1") == "/lustre/a-b_c.1"
    assert show("a b") == "'a b'"
    assert show("it's") == '"it\'s"'
    assert show("it's $5") == "'it'\\''s $5'"
    assert show("a\nb") == "$'a\\nb'"
    assert show("--image=/a b") == "--image='/a b'"
    assert show("key=") == "key="
    assert show("") == "''"
    assert show(word("/log_", Var("ID"), ".log")) == '"/log_$ID.log"'
    assert show(word(Var("A"), "b")) == '"${A}b"'


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=5))
def test_commands_keep_their_arguments(groups: list[list[str]]) -> None:
    """A command over several lines has the same arguments as its groups in a row."""
    printed = show_command(command("printf", "%s\\0", *(tuple(group) for group in groups)))

    assert bash(printed).decode().split("\0")[:-1] == [text for group in groups for text in group]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(HOSTILE, st.sampled_from(["END", "END_", "END__"])), max_size=6))
def test_heredocs_keep_their_text(lines: list[str]) -> None:
    """A heredoc is read as it stands, even where a line of it equals the delimiter."""
    text = "".join(line.replace("\r", "").replace("\n", "") + "\n" for line in lines)
    script = f"IFS= read -r -d '' text {show_heredoc('END', text)}\nprintf '%s' \"$text\""

    assert bash(script).decode() == text


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_comments_run_nothing(text: str) -> None:
    """Text in a comment is no command, and no #SBATCH line."""
    printed = show_comment(text)

    assert bash(f"{printed}\ntrue") == b""
    assert not any(line.startswith(("#SBATCH", "#SLURM")) for line in printed.split("\n"))
