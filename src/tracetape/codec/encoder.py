"""Turns values into trees of JSON, by exact type."""

from __future__ import annotations

from typing import Any

import orjson

from tracetape.codec.opaque import opaque_tag
from tracetape.codec.plain import DEPTH_LIMIT, LEAST, MOST, plain_json
from tracetape.codec.registry import TAG, Codec, Tree, codec_for, codec_of
from tracetape.model.payload import Payload, digest_of

__all__ = ["DEPTH_LIMIT", "encode", "is_text", "json_text", "json_utf8", "to_tree"]

SIZE_LIMIT = 2_000_000
"""Containers in one value. Shared references come out as copies: thirty lists can mean 2^30 of them."""


def encode(value: Any) -> Payload:
    """Store a value. Raises no Exception: what cannot be stored becomes an opaque tag.

    What is no Exception goes through, for it is not about the value: SystemExit and KeyboardInterrupt of a
    handler of signals, the halt of a replay.
    """
    utf8 = json_utf8(value)
    return Payload(utf8.decode(), digest_of(utf8), len(utf8))


def json_text(value: Any) -> str:
    """The text alone, of what is a part of something stored. Raises like `encode`."""
    return json_utf8(value).decode()


def json_utf8(value: Any) -> bytes:
    """That text, as it is written. Raises like `encode`."""
    plain = plain_json(value)
    if plain is not None:
        return plain
    tree = to_tree(value)
    try:
        return orjson.dumps(tree)
    except (TypeError, ValueError, RecursionError, MemoryError):
        return orjson.dumps(opaque_tag(value, "could not be written as JSON"))


def to_tree(value: Any) -> Tree:
    """What `encode` writes, before it is text: dict, list, str, int, float, bool, None. Raises like `encode`."""
    try:
        return _Walk().tree(value)
    except Exception:  # noqa: BLE001 - recording must never be what breaks the program
        # A stack that is full to the last frame gets here, and a class whose name cannot be said.
        return {TAG: "opaque", "class": "builtins:object", "text": "could not be looked at"}


def is_text(value: str) -> bool:
    """Whether a str can be written as UTF-8, which lone surrogates cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Walk:
    """One value on its way to a tree.

    path:   ids of the containers around the current value: one that comes again is a cycle.
    depth:  how many levels of JSON they make.
    left:   how many more containers there may be.
    """

    __slots__ = ("depth", "left", "path")

    def __init__(self) -> None:
        self.path: set[int] = set()
        self.depth = 0
        self.left = SIZE_LIMIT

    def tree(self, value: Any) -> Tree:
        cls = type(value)
        if cls is str:
            return value if value.isascii() or is_text(value) else self.tagged(value, _TEXT)
        if cls is int:
            return value if LEAST <= value <= MOST else self.tagged(value, _INT)
        if value is None or cls is bool:
            return value
        if cls is float:
            # Infinities minus themselves are NaN, which equals nothing.
            return value if value - value == 0.0 else self.tagged(value, _FLOAT)
        if cls is dict or cls is list:
            return self.container(value, cls)
        return self.other(value, cls)

    def container(self, value: Any, cls: type) -> Tree:
        key = id(value)
        if key in self.path:
            return opaque_tag(value, "a reference to a value that it is in itself")
        if self.depth >= DEPTH_LIMIT:
            return opaque_tag(value, f"nested more than {DEPTH_LIMIT} levels deep")
        self.left -= 1
        if self.left < 0:
            return opaque_tag(value, f"one of more than {SIZE_LIMIT:,} containers")
        self.path.add(key)
        self.depth += 1
        try:
            if cls is list:
                tree = self.tree
                return [tree(one) for one in value.copy()]
            return self.mapping(value.copy())
        except (RecursionError, MemoryError):
            # Values answer for their own exceptions, in `tagged`. If there is no room for this either, the next
            # one out does it.
            return opaque_tag(value)
        finally:
            self.depth -= 1
            self.path.discard(key)

    def mapping(self, value: dict[Any, Any]) -> Tree:
        tree = self.tree
        made = {}
        for key, one in value.items():
            if type(key) is not str or key == TAG or not (key.isascii() or is_text(key)):
                return self.pairs(value)
            # Most values are texts and small numbers: they are spared the call.
            cls = type(one)
            plain = (cls is str and one.isascii()) or (cls is int and LEAST <= one <= MOST) or one is None
            made[key] = one if plain else tree(one)
        return made

    def pairs(self, value: dict[Any, Any]) -> Tree:
        # On top of the level that every dict is counted for.
        self.depth += 2
        try:
            return {TAG: _DICT, **_codec(_DICT).encode(value, self.tree)}
        finally:
            self.depth -= 2

    def other(self, value: Any, cls: type) -> Tree:
        try:
            codec = codec_for(cls)
        except Exception:  # noqa: BLE001 - a metaclass can make a class unhashable, or worse
            return opaque_tag(value)
        return opaque_tag(value) if codec is None else self.tagged(value, codec.tag, codec)

    def tagged(self, value: Any, tag: str, codec: Codec | None = None) -> Tree:
        codec = codec or _codec(tag)
        key = id(value)
        if key in self.path:
            return opaque_tag(value, "a reference to a value that it is in itself")
        if self.depth + codec.levels > DEPTH_LIMIT:
            return opaque_tag(value, f"nested more than {DEPTH_LIMIT} levels deep")
        self.left -= 1
        if self.left < 0:
            return opaque_tag(value, f"one of more than {SIZE_LIMIT:,} containers")
        self.path.add(key)
        self.depth += codec.levels
        try:
            return {TAG: tag, **codec.encode(value, self.tree)}
        except Exception:  # noqa: BLE001 - codecs give up by raising, and may have called methods of the value
            return opaque_tag(value)
        finally:
            self.depth -= codec.levels
            self.path.discard(key)


_TEXT, _INT, _FLOAT, _DICT = "str", "int", "float", "dict"


def _codec(tag: str) -> Codec:
    found = codec_of(tag)
    assert found is not None, tag  # noqa: S101 - registered by the package itself
    return found
