"""`ignore=[…]`: paths to what is left out before inputs are compared."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from tracetape.codec.canonical import is_transparent
from tracetape.errors import UsageError

__all__ = ["IgnorePaths"]


class IgnorePaths:
    """`ignore=[…]`: paths whose values are left out before inputs are compared.

    `$` is the mapping of the arguments. `.name` is a member, `..name` a member at any depth, `[n]` an
    element, `[*]` every element or member.

    Raises UsageError naming the path and the place where it cannot be read.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        if isinstance(paths, str):
            paths = (paths,)
        self.written = tuple(paths)
        self._paths = tuple(_parsed(path) for path in paths)

    def __bool__(self) -> bool:
        return bool(self._paths)

    def unmatched(self, trees: Iterable[Any]) -> list[str]:
        """The paths, as they were written, that leave nothing out of any of these."""
        left = dict(zip(self.written, self._paths, strict=True))
        for tree in trees:
            if not left:
                break
            left = {text: path for text, path in left.items() if _without(tree, path) == tree}
        return list(left)

    def prune(self, tree: Any) -> Any:
        """The canonical tree without what the paths name."""
        for path in self._paths:
            tree = _without(tree, path)
        return tree


_STEP = re.compile(
    r"\.\.(?P<deep>[^.\[\]]+)|\.(?P<member>[^.\[\]]+)|\[(?P<index>\d+)\]|\[(?P<every>\*)\]"
    r'|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]'
)
_Step = tuple[str, str]


def _parsed(path: str) -> tuple[_Step, ...]:
    if not isinstance(path, str):
        raise UsageError(f"ignore=[…] takes paths such as '$.messages[*].id' or '..created', not {path!r}")
    rest = path.removeprefix("$")
    steps: list[_Step] = []
    position = 0
    while position < len(rest):
        found = _STEP.match(rest, position)
        if found is None:
            raise UsageError(
                f"ignore path {path!r} cannot be read at {rest[position:]!r}: a path is made of .name, ..name, "
                "[0], [*] and [\"odd name\"], as in '$.messages[*].id' or '..created'"
            )
        kind = found.lastgroup or ""
        steps.append(("member", orjson.loads(found[kind])) if kind == "quoted" else (kind, found[kind]))
        position = found.end()
    if not steps:
        raise UsageError(f"ignore path {path!r} would leave nothing to compare; name a member, as in '$.created'")
    return tuple(steps)


def _without(tree: Any, steps: tuple[_Step, ...]) -> Any:
    kind, name = steps[0]
    if kind == "deep":
        return _without_deep(tree, name, steps)
    if isinstance(tree, dict):
        wrapper = next((key for key in tree if is_transparent(tree, key)), None)
        if wrapper is not None:
            return {**tree, wrapper: _without(tree[wrapper], steps)}
        if kind == "every":
            hit = set(tree)
        else:
            hit = {name} if kind == "member" and name in tree else set()
        return _replaced(tree, hit, steps)
    if isinstance(tree, list) and kind in ("index", "every"):
        chosen = range(len(tree)) if kind == "every" else [int(name)]
        return _replaced_items(tree, chosen, steps)
    return tree


def _replaced(tree: dict[str, Any], hit: set[str], steps: tuple[_Step, ...]) -> dict[str, Any]:
    if len(steps) == 1:
        return {key: item for key, item in tree.items() if key not in hit}
    return {key: _without(item, steps[1:]) if key in hit else item for key, item in tree.items()}


def _replaced_items(tree: list[Any], chosen: Any, steps: tuple[_Step, ...]) -> list[Any]:
    if len(steps) == 1:
        # None, not gone: the elements behind it keep their numbers.
        return [None if index in chosen else item for index, item in enumerate(tree)]
    return [_without(item, steps[1:]) if index in chosen else item for index, item in enumerate(tree)]


def _without_deep(tree: Any, name: str, steps: tuple[_Step, ...]) -> Any:
    if isinstance(tree, list):
        return [_without_deep(item, name, steps) for item in tree]
    if not isinstance(tree, dict):
        return tree
    below = {key: _without_deep(item, name, steps) for key, item in tree.items()}
    return _replaced(below, {name} & set(below), steps)
