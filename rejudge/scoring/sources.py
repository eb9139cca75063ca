"""Python source as it counts in a fingerprint: comments, layout and docstrings do not."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from typing import Final

_DOCUMENTED: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_UNCOUNTED: Final = frozenset({"ctx", "type_comment", "kind", "type_ignores"})


def parse(source: str, file: str) -> ast.Module:
    """The syntax tree.

    Raises:
        SyntaxError: With file and line.
    """
    try:
        return ast.parse(source, file)
    except ValueError as error:  # NUL bytes
        raise SyntaxError(f"{file}: {error}") from error


def normalised_digest(tree: ast.Module, source: str) -> str:
    """Hex SHA-256 of the source without what cannot change an answer; the same on every Python version.

    Docstrings count only in a source that reads them (``__doc__``, ``getdoc``): a judge's prompt may stand in one.
    """
    keep = "__doc__" in source or "getdoc" in source
    digest = hashlib.sha256()
    for part in _dumped(tree, keep):
        digest.update(part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _dumped(value: object, keep: bool) -> Iterator[str]:
    # ast.dump differs between Python versions; empty fields are left out here, so that new ones do not count.
    if isinstance(value, ast.AST):
        yield f"({type(value).__name__}"
        for name, child in ast.iter_fields(value):
            if name == "body" and not keep and isinstance(value, _DOCUMENTED):
                child = _without_docstring(child)
            if name == "values" and isinstance(value, ast.JoinedStr):
                child = _joined(child)
            if child is None and not isinstance(value, ast.Constant):
                continue
            if child == [] or name in _UNCOUNTED:
                continue
            yield f" {name}="
            yield from _dumped(child, keep)
        yield ")"
    elif isinstance(value, list):
        yield "["
        for item in value:
            yield from _dumped(item, keep)
            yield ","
        yield "]"
    else:
        yield repr(value)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def _joined(values: list[ast.expr]) -> list[ast.expr]:
    """The parts of an f-string, its text whole: Python 3.12 cuts it in other places."""
    joined: list[ast.expr] = []
    for value in values:
        last = joined[-1] if joined else None
        if isinstance(value, ast.Constant) and isinstance(last, ast.Constant):
            joined[-1] = ast.Constant(str(last.value) + str(value.value))
        elif not (isinstance(value, ast.Constant) and value.value == ""):
            joined.append(value)
    return joined


def imported_names(tree: ast.Module, package: str = "") -> list[str]:
    """Dotted names that a source may import, whole and by each of their beginnings.

    Args:
        tree: Its syntax tree.
        package: The package that relative imports start from.
    """
    names: dict[str, None] = {}
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                _add(names, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            if base is not None:
                _add(names, base)
                for alias in node.names:
                    _add(names, f"{base}.{alias.name}" if base else alias.name)
    return [name for name in names if name and not name.endswith("*")]


def _add(names: dict[str, None], dotted: str) -> None:
    parts = dotted.split(".")
    for length in range(1, len(parts) + 1):
        names.setdefault(".".join(parts[:length]))


def _absolute(node: ast.ImportFrom, package: str) -> str | None:
    if not node.level:
        return node.module or ""
    parts = package.split(".") if package else []
    kept = parts[: len(parts) - (node.level - 1)]
    if len(parts) < node.level - 1 or not kept:
        return None
    return ".".join([*kept, *([node.module] if node.module else [])])


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, but for what only type checkers run."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and _is_type_checking(child.test):
            for other in child.orelse:
                yield other
                yield from _executed(other)
            continue
        yield child
        yield from _executed(child)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )
