"""Which names in a graph of recorded references lie on a cycle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


def on_cycles(edges: Mapping[str, Sequence[str]]) -> set[str]:
    """The names that lie on a cycle, those that point at themselves included; linear in the edges.

    Args:
        edges: What each name points at; a target that is no key points nowhere.
    """
    found = {name for name, targets in edges.items() if name in targets}
    for component in _components(edges):
        if len(component) > 1:
            found.update(component)
    return found


def _components(edges: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Tarjan's strongly connected components, without recursion: a trace may be 20,000 nodes deep."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    pending: dict[str, None] = {}  # a stack that knows its members
    for root in edges:
        path = [] if root in order else [root]
        unseen: dict[str, Iterator[str]] = {}
        while path:
            name = path[-1]
            if name not in order:
                order[name] = lowest[name] = len(order)
                pending[name] = None
                unseen[name] = iter(edges[name])
            deeper = None
            for target in unseen[name]:
                if target in edges and target not in order:
                    deeper = target
                    break
                if target in pending:
                    lowest[name] = min(lowest[name], order[target])
            if deeper is not None:
                path.append(deeper)
                continue
            path.pop()
            if path:
                lowest[path[-1]] = min(lowest[path[-1]], lowest[name])
            if lowest[name] == order[name]:
                yield _popped(pending, down_to=name)


def _popped(pending: dict[str, None], *, down_to: str) -> list[str]:
    popped: list[str] = []
    while not popped or popped[-1] != down_to:
        popped.append(pending.popitem()[0])
    return popped
