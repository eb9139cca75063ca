"""Where a judging model is asked: an OpenAI-compatible endpoint, given by a connection in three variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from rejudge.errors import EvaluationError

PROVIDER: Final = "judge"
"""Name of the connection: its fields arrive as ``REJUDGE_JUDGE_BASE_URL``, ``…_API_KEY`` and ``…_MODEL``."""

SHARED_FOLDER: Final = "REJUDGE_SHARED_FOLDER"
"""Names a folder that the evaluators' processes of one batch share while it runs; unset outside of batches."""

CONNECTION_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "base_url": {"type": "string", "description": "The endpoint, with its version: https://api.openai.com/v1"},
        "api_key": {"type": "string", "writeOnly": True, "description": "Not needed by most local servers"},
        "model": {"type": "string", "description": "The model that judges"},
    },
    "required": ["base_url", "model"],
    "additionalProperties": False,
}
"""What a connection to a judging model holds."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint and the model to ask there."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)


def endpoint_from(environment: Mapping[str, str] | None = None, *, model: str | None = None) -> Endpoint:
    """The endpoint that the connection's variables name.

    Args:
        environment: Instead of the process's own: an evaluator's process is handed its connection there.
        model: Instead of the connection's model.

    Raises:
        EvaluationError: Not retryable, where a variable is missing or the address is none.
    """
    variables = os.environ if environment is None else environment
    base_url = variables.get("REJUDGE_JUDGE_BASE_URL", "").strip().rstrip("/")
    asked = model or variables.get("REJUDGE_JUDGE_MODEL", "").strip()
    missing = [
        name for name, value in (("REJUDGE_JUDGE_BASE_URL", base_url), ("REJUDGE_JUDGE_MODEL", asked)) if not value
    ]
    if missing:
        raise EvaluationError(
            f"no judging model is configured: {' and '.join(missing)} missing; give the evaluator a connection",
            retryable=False,
        )
    if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).netloc:
        raise EvaluationError("REJUDGE_JUDGE_BASE_URL is no http or https address", retryable=False)
    return Endpoint(base_url, asked, variables.get("REJUDGE_JUDGE_API_KEY", "").strip())


def is_configured(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a connection to a judging model is there."""
    variables = os.environ if environment is None else environment
    return bool(variables.get("REJUDGE_JUDGE_BASE_URL", "").strip())
