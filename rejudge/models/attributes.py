"""What our own spans are told by: known to those who write them and to those who read them."""

from __future__ import annotations

from typing import Final

SCOPE: Final = "rejudge"
"""Their instrumentation scope. Arguments and results in it are JSON text, exactly once."""

INPUTS: Final = "rejudge.inputs"
"""On a run's root span: what the run was started with, as JSON text."""

OUTPUTS: Final = "rejudge.outputs"
"""On a run's root span: its final answer, as JSON text."""

RAW_RESPONSE: Final = "rejudge.model.response"
"""On a model call: the wire form of the answer, as JSON text, where an adapter needs it again."""

ANSWER: Final = "rejudge.answer"
"""On a call in a replay: where the answer came from (``history``, ``static``, ``llm``, ``live``, ``miss``)."""

ANSWER_NODE: Final = "rejudge.answer.node"
"""On a call in a replay: the baseline node that answered."""

PARAMETERS: Final = "rejudge.parameters"
"""On an exported model call: its parameters under their own names, as JSON text."""

INCOMPLETE: Final = "rejudge.incomplete"
"""On an exported node: why its payloads are not whole."""
