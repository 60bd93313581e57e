"""A system that allows a sandbox, which some tests need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobspec.trace.inputs import Options, trace
from jobspec.trace.sandbox import SandboxError


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A sandbox can be made here; where none can, the tests are skipped, but not in CI."""
    script: Path = tmp_path_factory.mktemp("probe") / "script.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    try:
        trace(str(script), Options())
    except SandboxError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no sandbox in CI: {error}")
        pytest.skip(f"no sandbox on this machine: {error}")
