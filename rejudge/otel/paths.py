"""What a user names on the command line: files, folders, globs, ``-`` for standard input."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rejudge.otel.refusal import Refusal


def expand(paths: Sequence[str | Path], refuse: Callable[[Refusal], None]) -> Iterator[str]:
    """Every file that some paths name, each once; folders give their files in order of name, hidden ones left out."""
    seen: set[str] = set()
    for path in paths:
        for name in _files(str(path), refuse):
            identity = name if name == "-" else os.path.realpath(name)
            if identity not in seen:
                seen.add(identity)
                yield name


def _files(path: str, refuse: Callable[[Refusal], None]) -> Iterator[str]:
    if path == "-":
        yield path
    elif os.path.isdir(path):
        found = False
        for name in _walk(path):
            found = True
            yield name
        if not found:
            refuse(Refusal(path, "a folder without files"))
    elif os.path.exists(path):
        yield path
    elif glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))
        if not matches:
            refuse(Refusal(path, "no file matches this pattern"))
        for match in matches:
            if os.path.isdir(match):
                yield from _walk(match)
            else:
                yield match
    else:
        refuse(Refusal(path, "no such file"))


def _walk(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            full = os.path.join(parent, name)
            if not name.startswith(".") and os.path.isfile(full):
                yield full
