"""The file that a new evaluator starts from: it runs as it is."""

from __future__ import annotations

import re
from typing import Final

from rejudge.scoring.version import check_evaluator_name

_TEMPLATE: Final = '''"""__TITLE__: does the agent answer without calling too many tools?

Try it:       rejudge evaluator test __FILE__ --sample
Register it:  rejudge evaluator register __NAME__ --script __FILE__
Use it:       rejudge session evaluate --all --evaluator __NAME__@latest
"""

from rejudge import EvaluationResult, MissingInput, SessionView


def evaluate(session: SessionView, *, maximum: int = 5) -> EvaluationResult:
    """Pass when the session has an answer and made at most `maximum` tool calls.

    Args:
        session: `session.session` has the run's own fields, `inputs` and `outputs`; `session.nodes` every step in
            order, with its payloads. What you do to it, no other evaluator sees.
        maximum: A parameter. Give another with --params '__NAME__@latest={"maximum": 3}'.
    """
    if session.session.outputs is None:
        raise MissingInput("the session has no answer")  # ends without a score, which is not the same as 0
    calls = [node for node in session.nodes if node.node_type == "tool_call"]
    return EvaluationResult(
        name="tool_calls",
        score=len(calls),  # a number; True or False, or value="a label", make other types
        passed=len(calls) <= maximum,
        direction="lower",
        explanation=f"{len(calls)} tool calls, at most {maximum} wanted",
        evidence={"nodes": [node.id for node in calls]},
    )
'''


def file_name(name: str) -> str:
    """The file that an evaluator of this name is scaffolded into.

    Example:
        >>> file_name("acme/refund-check")
        'refund_check.py'
    """
    stem = re.sub(r"\W+", "_", name.rpartition("/")[2]).strip("_").lower() or "evaluator"
    return f"{stem if not stem[0].isdigit() else f'evaluator_{stem}'}.py"


def scaffold(name: str) -> str:
    """A whole evaluator, with one parameter, ready to run.

    Args:
        name: What it will be registered as.

    Raises:
        UsageError: Where an evaluator may not be called so.
    """
    check_evaluator_name(name)
    title = re.sub(r"[-_.]+", " ", name.rpartition("/")[2]).strip().capitalize()
    text = _TEMPLATE.replace("__TITLE__", title).replace("__FILE__", file_name(name))
    return text.replace("__NAME__", name)
