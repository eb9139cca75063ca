"""The store a command works on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rejudge.cli.importing import import_models

if TYPE_CHECKING:
    from rejudge.api import Store


@contextmanager
def opened() -> Iterator[Store]:
    """The store that the settings name, closed again at the end; what is imported by then is never collected."""
    import_models()
    import rejudge.api

    with rejudge.api.open() as store:
        gc.freeze()
        gc.enable()
        yield store
