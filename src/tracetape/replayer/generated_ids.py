"""Ids that every run makes anew: how they look, where they stand in a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tracetape.codec.canonical import text_of, unordered_items

__all__ = ["Id", "found_in", "has_ids", "ids_in", "map_ids", "masked"]

Id = tuple[str, str]
"""(kind, id): ids of one kind alone can stand for each other."""

# A UUID; or a prefix of words, `_` or `-`, then at least 8 letters and digits. Of a bounded number of words, and
# none given back: an alignment of `-` and letters is a long text.
_ID = re.compile(
    r"(?<![0-9A-Za-z])"
    r"(?:(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})(?![0-9A-Za-z])"
    r"|(?P<prefix>(?:[A-Za-z]++[_-]++){1,6}+)(?P<rest>[0-9A-Za-z]{8,})(?![0-9A-Za-z-]))"
)
_LEAST = 10
# Words that services and frameworks put before ids alone. Behind others (`orders_backup2024`, `get_temperature`)
# what follows must look drawn by lot: letters and digits that take turns.
_KNOWN = frozenset(
    {
        "asst",
        "call",
        "chatcmpl",
        "cmpl",
        "fc",
        "gen",
        "lc",
        "msg",
        "pyd",
        "req",
        "resp",
        "rs",
        "run",
        "srvtoolu",
        "thread",
        "toolu",
        "tooluse",
    }
)
_TURNS = re.compile(r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])")
_LEAST_TURNS = 4
_LEAST_TURNS_OF_KNOWN = 3
_HEX = re.compile("[0-9a-f]+")
_LONG = 20
_UUID_DIGITS = 32


def found_in(text: str) -> Iterator[tuple[Id, re.Match[str]]]:
    """Each generated id of a text, in its order."""
    if len(text) < _LEAST:
        return
    for found in _ID.finditer(text):
        if found["uuid"]:
            yield ("uuid", found[0]), found
        elif _is_drawn(found["prefix"], found["rest"]):
            yield (found["prefix"], found[0]), found


def _is_drawn(prefix: str, rest: str) -> bool:
    if len(rest) == _UUID_DIGITS and _HEX.fullmatch(rest):
        return True  # a UUID without its dashes, however few letters it has drawn
    turns = len(_TURNS.findall(rest))
    if re.split("[_-]+", prefix)[-2] not in _KNOWN:
        return turns >= _LEAST_TURNS
    # A word is of one case, a number says something. By chance some of 24 letters and digits have hardly a digit.
    is_mixed = not (rest.islower() or rest.isupper() or rest.isdigit())
    turns += is_mixed
    return (
        turns >= _LEAST_TURNS_OF_KNOWN or bool(turns and _HEX.fullmatch(rest)) or (is_mixed and len(rest) >= _LONG)
    )


def ids_in(tree: Any) -> Iterator[Id]:
    """Each generated id of a tree."""
    if isinstance(tree, str):
        yield from (one for one, _ in found_in(tree))
    elif isinstance(tree, list):
        for item in tree:
            yield from ids_in(item)
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from ids_in(key)
            yield from ids_in(item)


def has_ids(tree: Any) -> bool:
    return any(True for _ in ids_in(tree))


def map_ids(tree: Any, named: Callable[[Id], str]) -> Any:
    """The canonical tree with each id under the name that it is given; still canonical."""
    if isinstance(tree, str):
        return _mapped_text(tree, named)
    if isinstance(tree, list):
        return [map_ids(item, named) for item in tree]
    if not isinstance(tree, dict):
        return tree
    mapped = {_mapped_text(key, named): map_ids(item, named) for key, item in tree.items()}
    items = unordered_items(mapped)
    if items is not None:
        mapped["items"] = sorted(items, key=text_of)
    return mapped


def _mapped_text(text: str, named: Callable[[Id], str]) -> str:
    parts, position = [], 0
    for one, found in found_in(text):
        parts += [text[position : found.start()], named(one)]
        position = found.end()
    return "".join((*parts, text[position:])) if parts else text


def masked(tree: Any) -> str:
    """The text of a canonical tree with each id replaced by its kind, entries by ids in an order of their own."""
    if isinstance(tree, str):
        return text_of(_mapped_text(tree, lambda one: f"\0{one[0]}\0"))
    if isinstance(tree, list):
        return f"[{','.join(map(masked, tree))}]"
    if not isinstance(tree, dict):
        return text_of(tree)
    entries = [f"{masked(key)}:{masked(item)}" for key, item in tree.items() if key != "items"]
    items = unordered_items(tree)
    if items is not None:
        entries.append(f'"items":[{",".join(sorted(map(masked, items)))}]')
    elif "items" in tree:
        entries.append(f'"items":{masked(tree["items"])}')
    return f"{{{','.join(sorted(entries))}}}"
