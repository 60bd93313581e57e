"""Directives reach sbatch as they were given, through Slurm's own lexer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.shell.sbatch import Directive, show_directive
from tests.slurm_lexer import UnmatchedQuoteError, sbatch_arguments

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    st.text(st.sampled_from("a1 #\\\"'=$`:-/é名"), max_size=15),
)


@settings(max_examples=2000)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_values_arrive_unchanged(values: list[str]) -> None:
    """Any value without a control character is one argument with the same characters."""
    script = "#!/bin/bash\n" + "\n".join(show_directive(Directive("comment", value)) for value in values)

    assert sbatch_arguments(script) == [f"--comment={value}" for value in values]


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "\x7f"])
def test_control_characters_are_refused(value: str) -> None:
    """A directive is one line, so a value with a control character cannot be printed."""
    with pytest.raises(ValueError, match="control character"):
        show_directive(Directive("comment", value))


def test_the_shells_quotes_would_be_wrong() -> None:
    """The lexer is not the shell's: it drops a backslash between single quotes, and stops at a command."""
    assert sbatch_arguments(r"#SBATCH --comment='a\b'") == ["--comment=ab"]
    assert sbatch_arguments("#SBATCH --a # not this\ntrue\n#SBATCH --b") == ["--a"]
    with pytest.raises(UnmatchedQuoteError):
        sbatch_arguments("#SBATCH --comment='it'\\''s")
