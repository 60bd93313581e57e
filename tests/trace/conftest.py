"""What the tests of this folder need: a system that allows a sandbox."""

from __future__ import annotations

import pytest

from tests.trace.sandbox import sandbox

__all__ = ["sandbox"]


@pytest.fixture(scope="session", autouse=True)
def _sandbox(sandbox: None) -> None:
    """Each test here runs something in one."""
