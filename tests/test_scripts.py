"""Every golden script is clean for those who read shell for a living."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden_files import GOLDEN
from tests.test_golden import OF_SWEEPS, SCRIPTS

BIN = Path(sys.executable).parent

CHECKS = {
    "bash": ["bash", "-n"],
    "shellcheck": [str(BIN / "shellcheck"), "--shell=bash", "--severity=style"],
    "shfmt": [str(BIN / "shfmt"), "--language-dialect=bash", "--indent=2", "--case-indent", "--diff"],
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("path", [*SCRIPTS, *OF_SWEEPS])
def test_scripts_are_clean(path: str, check: str) -> None:
    """Bash parses the script, and shellcheck and shfmt have nothing to say."""
    done = subprocess.run([*CHECKS[check], str(GOLDEN / path)], capture_output=True, text=True, check=False)

    assert done.stdout + done.stderr == ""
    assert done.returncode == 0
