"""The source of an agent: its file and the project's own files that it imports, and their digest."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

_FOREIGN: Final = frozenset({"site-packages", "dist-packages", "node_modules", ".venv", "venv"})
_SCRIPTS: Final = frozenset({".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"})
_SCRIPT_IMPORT: Final = re.compile(r"""(?:from|import|require\s*\(|import\s*\()\s*["'](\.{1,2}/[^"'\n]+)["']""")
_MOST_FILES: Final = 5000


def source_files(starts: Iterable[Path], *, roots: Sequence[Path]) -> list[Path]:
    """The files themselves and every file of the project that they import, directly or not, sorted.

    Python's imports are looked up in the roots and relative to the file; JavaScript's and TypeScript's relative
    ones too. What is installed is not the project's.
    """
    found: set[Path] = set()
    waiting = [path.resolve() for path in starts]
    folders = [root.resolve() for root in roots]
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        waiting.extend(_imported(path, folders))
    return sorted(found)


def source_digest(files: Sequence[Path], folder: Path) -> str:
    """Hex SHA-256 over the files' places and contents; the same wherever the project lies."""
    digest = hashlib.sha256()
    base = folder.resolve()
    for path in files:
        place = str(path.relative_to(base)) if base in path.parents else path.name
        content = path.read_bytes()
        digest.update(f"{place}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _imported(path: Path, roots: Sequence[Path]) -> Iterator[Path]:
    if path.suffix == ".py":
        yield from _python_imports(path, roots)
    elif path.suffix in _SCRIPTS:
        yield from _script_imports(path)


def _python_imports(path: Path, roots: Sequence[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _find([alias.name], roots)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = path.parents[min(node.level, len(path.parents)) - 1]
                where: Sequence[Path] = (base,)
            else:
                where = roots
            module = node.module or ""
            names = [f"{module}.{alias.name}" if module else alias.name for alias in node.names]
            yield from _find([*([module] if module else []), *names], where)


def _find(names: Iterable[str], roots: Sequence[Path]) -> Iterator[Path]:
    for name in names:
        for root in roots:
            files = list(_files_of(root, name.split(".")))
            if files:
                yield from files
                break


def _files_of(root: Path, steps: list[str]) -> Iterator[Path]:
    """The module's file, and the ``__init__`` of every package above it."""
    place = root
    for at, step in enumerate(steps):
        module = place / f"{step}.py"
        place = place / step
        if module.is_file() and _is_own(module):
            yield module.resolve()
            return
        package = place / "__init__.py"
        if package.is_file() and _is_own(package):
            yield package.resolve()
        elif not place.is_dir() or at == len(steps) - 1:
            return


def _is_own(path: Path) -> bool:
    return not _FOREIGN.intersection(path.parts)


def _script_imports(path: Path) -> Iterator[Path]:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    for written in _SCRIPT_IMPORT.findall(text):
        target = path.parent / written
        ends = [target, *(target.with_name(target.name + suffix) for suffix in sorted(_SCRIPTS))]
        # TypeScript writes the .js that a .ts will be compiled to.
        ends += [target.with_suffix(suffix) for suffix in (".ts", ".tsx", ".mts") if target.suffix in {".js", ".mjs"}]
        ends += [target / f"index{suffix}" for suffix in sorted(_SCRIPTS)]
        yield from (end.resolve() for end in ends[:] if end.is_file() and _is_own(end))
