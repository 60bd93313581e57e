"""What the comparisons need: a system that allows a sandbox."""

from tests.trace.sandbox import sandbox

__all__ = ["sandbox"]
