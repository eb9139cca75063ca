"""Comparing, gating, calibrating. Imports numpy and scipy: import it inside the commands that need it."""

from rejudge.compare.comparison import compare

__all__ = ["compare"]
