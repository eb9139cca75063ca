"""Importing what an optional extra brings: quietly, and with the way to get it where it is missing."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from rejudge.errors import UsageError

_SILENT: Final[Mapping[str, Mapping[str, str]]] = {
    "deepeval": {
        "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
        "DEEPEVAL_DISABLE_DOTENV": "1",
        "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
        "DEEPEVAL_FILE_SYSTEM": "READ_ONLY",
        "ERROR_REPORTING": "0",
    },
    "opik": {
        "OPIK_TRACK_DISABLE": "true",
        "OPIK_SENTRY_ENABLE": "false",
        "OPIK_ANALYTICS_ENABLE": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    },
    "jev": {},
}
"""What each library reads when it is imported, so that it reports nothing to anybody."""


def import_extra(extra: str, module: str, *, feature: str) -> ModuleType:
    """A module of an optional extra, with the library's telemetry switched off before it is imported.

    Raises:
        UsageError: Where it is not installed, naming the feature and what to install.
    """
    for name, value in {"DO_NOT_TRACK": "1", **_SILENT[extra]}.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{feature} needs the optional extra {extra!r}, which is not installed ({error})",
            mend=f'pip install "rejudge[{extra}]"',
        ) from error
