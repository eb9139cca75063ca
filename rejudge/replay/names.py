"""What a Python file defines at its top level, told without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rejudge.errors import UsageError

_DYNAMIC: Final = frozenset({"globals", "vars", "exec", "setattr", "__getattr__"})
"""Where one of these is named, a file may define more than can be read in it."""
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def require_name(path: Path, name: str, *, shown: str) -> None:
    """Refuse a name that a Python file cannot hold.

    Args:
        name: A function of the file, or a method in dotted form.
        shown: The file as the user wrote it.

    Raises:
        UsageError: Where the file is no Python, or nothing of that name is in it, with the functions it has.
    """
    if path.suffix != ".py":
        return
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise UsageError(
            f"{shown}{line} is no Python: {reason}", mend="mend the file, and register it again"
        ) from error
    names = set(_bound(tree))
    if name.partition(".")[0] in names or "*" in names or _is_dynamic(tree):
        return
    functions = [one.name for one in tree.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    offered = [one for one in functions if not one.startswith("_")]
    raise UsageError(f"{shown!r} has no function {name!r}", mend=f"it has: {', '.join(offered) or 'none'}")


def _bound(node: ast.AST) -> Iterator[str]:
    """The names bound outside of functions and classes, and those that functions bind as `global`."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (one.asname or one.name.partition(".")[0] for one in names)
            case ast.Name(id=name, ctx=ast.Store()) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case _:
                pass
        if isinstance(child, _SCOPES):
            yield from (name for one in ast.walk(child) if isinstance(one, ast.Global) for name in one.names)
        else:
            yield from _bound(child)


def _is_dynamic(tree: ast.AST) -> bool:
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    return bool(_DYNAMIC & (names | set(_bound(tree))))
