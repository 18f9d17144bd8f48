"""The canonical form of a stored value: what makes two inputs equal."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from tracetape.model.report import Difference

__all__ = [
    "KEY_LIMIT",
    "canonical",
    "differences",
    "has_opaque",
    "is_transparent",
    "key_of",
    "match_key",
    "readable",
    "shared_length",
    "shortened",
    "text_of",
    "unordered_items",
]

_TAG = "$type"
_SETS = frozenset({"set", "frozenset"})
_UNORDERED = _SETS | {"dict", "defaultdict", "Counter"}
"""The types whose items are sorted by their text, for they have no order that counts."""
_NEVER = frozenset({"main"})
_UNSAID = {
    "opaque": _NEVER | {"text"},
    "dataclass": _NEVER | {"state"},
    "attrs": _NEVER | {"state"},
    "namedtuple": _NEVER | {"state"},
}
_SHOWN = 200
KEY_LIMIT = 64
"""Bytes. A longer key is kept as its digest."""


def canonical(tree: Any) -> Any:
    """A tree of stored JSON with all that does not identify a value taken out.

    Elements of sets are sorted by their text, and so are the entries of mappings whose order is no part of
    their equality; opaque values are reduced to their type; classes to their name; attributes that a
    record has besides its fields (caches, mostly) do not count. Keys of objects stay as they are, for
    `key_of` sorts them.
    """
    if isinstance(tree, list):
        return [canonical(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    tag = tree.get(_TAG)
    if type(tag) is not str:
        return {key: canonical(item) for key, item in tree.items()}
    plain = {key: canonical(item) for key, item in tree.items() if key not in _UNSAID.get(tag, _NEVER)}
    if isinstance(plain.get("class"), str):
        # One class is `agent:Order` in a script and `app.agent:Order` where a test imports it.
        plain["class"] = plain["class"].rpartition(":")[2]
    if tag == "exception" and _has_opaque(tree.get("args")):
        plain.pop("text", None)  # it is made of them
    items = unordered_items(plain)
    if items is not None:
        plain["items"] = sorted(items, key=text_of)
    return plain


def unordered_items(tree: dict[str, Any]) -> list[Any] | None:
    """The elements of a set, or the entries of a mapping, whose order does not count; None for anything else."""
    items, tag = tree.get("items"), tree.get(_TAG)
    return items if isinstance(items, list) and isinstance(tag, str) and tag in _UNORDERED else None


def _has_opaque(args: Any) -> bool:
    return isinstance(args, list) and any(isinstance(one, dict) and one.get(_TAG) == "opaque" for one in args)


def has_opaque(tree: Any) -> bool:
    """Whether some part of a tree is not known but by its type."""
    if isinstance(tree, list):
        return any(map(has_opaque, tree))
    return isinstance(tree, dict) and (tree.get(_TAG) == "opaque" or any(map(has_opaque, tree.values())))


def key_of(tree: Any) -> bytes:
    """Two canonical trees are equal exactly when these bytes are."""
    try:
        return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Of an edited file: nested more deeply than that takes, or with halves of surrogate pairs.
        return json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()


def match_key(tree: Any) -> bytes:
    """`key_of`, or its SHA-256 where that is shorter: what a table of many calls is kept by."""
    return shortened(key_of(tree))


def shortened(key: bytes) -> bytes:
    """The `match_key` of a `key_of`."""
    # A copy: what orjson gives keeps the buffer that it was written into: 1 or 4 KB.
    return bytes(memoryview(key)) if len(key) <= KEY_LIMIT else hashlib.sha256(key).digest()


def text_of(tree: Any) -> str:
    """JSON text with sorted keys, for people and for sorting."""
    return key_of(tree).decode("utf-8")


def differences(recorded: Any, replayed: Any) -> tuple[Difference, ...]:
    """Where two canonical trees differ: one entry for each leaf, in the order of the recorded one."""
    return tuple(_differences(recorded, replayed, "$"))


def _differences(recorded: Any, replayed: Any, path: str) -> Iterator[Difference]:
    if isinstance(recorded, dict) and isinstance(replayed, dict) and recorded.get(_TAG) == replayed.get(_TAG):
        items, others = unordered_items(recorded), unordered_items(replayed)
        if items is not None and others is not None:
            compared = _set_differences if recorded[_TAG] in _SETS else _entry_differences
            yield from compared(items, others, path)
            recorded, replayed = ({**side, "items": None} for side in (recorded, replayed))
        for key in dict.fromkeys((*recorded, *replayed)):
            below = path if is_transparent(recorded, key) else _member(path, key)
            yield from _either(recorded, replayed, key, key in recorded, key in replayed, below)
        return
    if isinstance(recorded, list) and isinstance(replayed, list):
        for index in range(max(len(recorded), len(replayed))):
            yield from _either(
                recorded, replayed, index, index < len(recorded), index < len(replayed), f"{path}[{index}]"
            )
        return
    if key_of(recorded) != key_of(replayed):
        yield Difference(path, *_shown_beside(recorded, replayed))


def _set_differences(recorded: list[Any], replayed: list[Any], path: str) -> Iterator[Difference]:
    """The elements that one side alone has."""
    of_recorded, of_replayed = (Counter(map(key_of, items)) for items in (recorded, replayed))
    left = [item for item in recorded if not _taken(of_replayed, item)]
    new = [item for item in replayed if not _taken(of_recorded, item)]
    for index in range(max(len(left), len(new))):
        yield from _either(left, new, index, index < len(left), index < len(new), f"{path}[*]")


def _entry_differences(recorded: list[Any], replayed: list[Any], path: str) -> Iterator[Difference]:
    """Of two mappings whose keys are no names: the values under the same key, the entries of one side alone."""
    if not all(isinstance(entry, list) and len(entry) == 2 for entry in (*recorded, *replayed)):
        yield from _differences(recorded, replayed, path)  # a file says so; no mapping is stored so
        return
    others = {key_of(entry[0]): (index, entry) for index, entry in enumerate(replayed)}
    for index, (key, value) in enumerate(recorded):
        _, entry = others.pop(key_of(key), (0, None))
        if entry is None:
            yield Difference(f"{path}[{index}]", _shown([key, value]), "")
        else:
            yield from _differences(value, entry[1], f"{path}[{index}][1]")
    for index, entry in others.values():
        yield Difference(f"{path}[{index}]", "", _shown(entry))


def _taken(counts: Counter[bytes], item: Any) -> bool:
    key = key_of(item)
    counts[key] -= 1
    return counts[key] >= 0


def _either(a: Any, b: Any, key: Any, in_a: bool, in_b: bool, path: str) -> Iterator[Difference]:
    if in_a and in_b:
        yield from _differences(a[key], b[key], path)
    else:
        yield Difference(path, _shown(a[key]) if in_a else "", _shown(b[key]) if in_b else "")


def is_transparent(tagged: Mapping[str, Any], key: str) -> bool:
    """What a tag wraps its content in is no part of the path that people read."""
    return _TAG in tagged and key in _WRAPPERS


_WRAPPERS = frozenset({"value", "items", "fields"})
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")


def _member(path: str, key: str) -> str:
    return f"{path}.{key}" if _PLAIN_NAME.match(key) else f"{path}[{text_of(key)}]"


def _shown_beside(recorded: Any, replayed: Any) -> tuple[str, str]:
    """Both sides, cut where they begin to differ: the first 200 characters of two prompts are the same."""
    one, other = text_of(readable(recorded)), text_of(readable(replayed))
    same = shared_length(one, other)
    if max(len(one), len(other)) <= _SHOWN or same < _SHOWN // 2:
        return _shown(recorded), _shown(replayed)
    start = same - _SHOWN // 4
    return _cut_from(one, start), _cut_from(other, start)


def shared_length(one: str, other: str) -> int:
    """How many characters two texts begin with alike. By halves, for a prompt is a long text."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _cut_from(text: str, start: int) -> str:
    end = start + _SHOWN
    return f"…{text[start:end]}" + ("…" if end < len(text) else "") + f" ({len(text):,} characters)"


def _shown(tree: Any) -> str:
    text = text_of(readable(tree))
    return text if len(text) <= _SHOWN else text[:_SHOWN] + f"… ({len(text):,} characters)"


def readable(tree: Any) -> Any:
    """A stored tree as people would write the value: for showing, not for reading back."""
    if isinstance(tree, list):
        return [readable(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    tag = tree.get(_TAG)
    if not isinstance(tag, str):
        return {key: readable(item) for key, item in tree.items()}
    name = str(tree.get("class", tag)).rpartition(":")[2]
    if tag == "exception":
        return f"{name}({', '.join(text_of(readable(arg)) for arg in tree.get('args', ()))})"
    if tag == "enum":
        return f"{name}.{tree['name']}" if tree.get("name") else f"{name}({tree.get('value')})"
    if tag == "class":
        return f"<class {name}>"
    if tag == "subclass":
        return readable(tree.get("value"))
    if tag == "opaque":
        return f"<{name}>" if not tree.get("text") else f"<{name} {tree['text']}>"
    if "fields" in tree:
        return {name: readable(tree["fields"])}
    if "items" in tree:
        return _readable_items(tag, tree["items"])
    rest = [item for key, item in tree.items() if key not in (_TAG, "class")]
    return f"{name}({', '.join(item if isinstance(item, str) else text_of(readable(item)) for item in rest)})"


def _readable_items(tag: str, items: Any) -> Any:
    """Entries of mappings as an object where their keys can be its keys."""
    if isinstance(items, list) and tag not in ("tuple", "set", "frozenset", "deque"):
        pairs = [pair for pair in items if isinstance(pair, list) and len(pair) == 2]
        keys = [pair[0] if isinstance(pair[0], str) else text_of(readable(pair[0])) for pair in pairs]
        return dict(zip(keys, (readable(pair[1]) for pair in pairs), strict=True))
    return readable(items)
