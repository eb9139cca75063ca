"""What our own spans are told by."""

from __future__ import annotations

from typing import Final

SCOPE: Final = "rejudge"
"""Their instrumentation scope. Arguments and results in it are JSON text, exactly once."""

INPUTS: Final = "rejudge.inputs"
"""Attribute of a run's root span: what the run was started with, as JSON text."""

OUTPUTS: Final = "rejudge.outputs"
"""Attribute of a run's root span: its final answer, as JSON text."""
