"""Tests with torch itself, for `make test-torch`: JOBSPEC_TORCH is the virtual environment that has it."""

from __future__ import annotations

import os

from tests.cluster.conftest import cluster as cluster
from tests.cluster.conftest import site as site

collect_ignore = [] if "JOBSPEC_TORCH" in os.environ else ["test_torch.py"]
