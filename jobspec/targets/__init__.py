"""Targets: from a plan to a script."""
