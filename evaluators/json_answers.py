"""The JSON object in a model's answer, whatever the model wrote around it."""

from __future__ import annotations

import json
from typing import Any


def first_object(text: str) -> dict[str, Any]:
    """The JSON object that an answer is, or that stands in it (in a code block, after a sentence).

    Raises:
        ValueError: Where there is none, or more than one of different content: which one is meant cannot be told.
    """
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        return whole
    found = _objects(text)
    if not found:
        raise ValueError("there is no JSON object in it")
    if any(each != found[0] for each in found[1:]):
        raise ValueError(f"there are {len(found)} JSON objects in it that differ")
    return found[0]


def _objects(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    position = text.find("{")
    tries = 0
    while position >= 0 and tries < 200:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position = text.find("{", position + 1)
            continue
        if isinstance(value, dict):
            found.append(value)
        position = text.find("{", end)
    return found
