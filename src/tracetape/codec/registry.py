"""Keeps the codecs: which one writes a type, which one reads a tag.

A new kind of value is one `Codec` in the `CODECS` of one module. Those of optional libraries are loaded when
the library itself has been: a value of its types cannot exist before.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any, NoReturn, Protocol
from weakref import WeakKeyDictionary

from tracetape.codec.raw import lookup

__all__ = [
    "CLASS",
    "OPTIONAL",
    "TAG",
    "Codec",
    "Read",
    "Tree",
    "Write",
    "codec_for",
    "codec_of",
    "codecs",
    "register",
    "storable",
]

Tree = Any
"""What JSON can say: dict with str keys, list, str, int, finite float, bool, None, each of exactly that type."""

TAG = "$type"
CLASS = "class"
"""The tag of class objects."""

Write = Callable[[Any], Tree]
"""Writes a value that is inside another."""


class Read(Protocol):
    """What a codec is given to read with."""

    def __call__(self, tree: Tree, step: str = "") -> Any:
        """The value of a tree that is inside another; `step` is how messages go on: `.name` or `[0]`."""

    def error(self, tree: Tree, step: str) -> BaseException:
        """An exception inside another; a RecordedError where its class is not at hand."""

    def cls(self, body: Mapping[str, Tree]) -> type:
        """The class that a body names, if its codec is the one whose tag the body has."""

    def class_object(self, body: Mapping[str, Tree]) -> type | None:
        """The class that a body names, of whatever kind; None where it is not at hand and a Missing will do."""

    def missing(self, body: Mapping[str, Tree]) -> Any:
        """What is served in place of a part that was not stored."""

    def refuse(self, why: str) -> NoReturn:
        """Give up this value."""

    def note(self, text: str) -> None:
        """Remember that the value comes back a little different."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """How one kind of value is stored.

    tag:     its `$type`. No two codecs have the same.
    types:   the exact types that it writes.
    covers:  whether it writes a class that is nobody's exact type. Of two that do, the first one registered
             does (that is how secrets are kept out); otherwise no class is covered twice.
    encode:  the value's body; what is inside goes through `write`. May raise: the value is opaque then.
    decode:  the value of a body; what is inside goes through `read`. May raise: the value is refused then.
    levels:  how many levels of JSON lie between the value and what is inside it.
    """

    tag: str
    encode: Callable[[Any, Write], dict[str, Tree]]
    decode: Callable[[Mapping[str, Tree], Read], Any]
    types: tuple[type, ...] = ()
    covers: Callable[[type], bool] | None = None
    levels: int = 2


# The library's module in sys.modules, and ours.
OPTIONAL = {"pydantic": "tracetape.codec.pydantic", "attr": "tracetape.codec.attrs"}

_by_tag: dict[str, Codec] = {}
_by_type: dict[type, Codec] = {}
_resolved: WeakKeyDictionary[type, Codec | None] = WeakKeyDictionary()
# By metaclass: whether it has a hash or an equality of its own.
_hashing: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
_loaded: set[str] = set()
_loading = RLock()


def register(*new: Codec) -> None:
    """Add codecs. Raises ValueError where a tag or an exact type is taken."""
    for codec in new:
        if codec.tag in _by_tag:
            raise ValueError(f"two codecs have the tag {codec.tag!r}")
        for one in codec.types:
            if one in _by_type:
                raise ValueError(f"{one!r} is written by {_by_type[one].tag!r} and by {codec.tag!r}")
            _by_type[one] = codec
        _by_tag[codec.tag] = codec
    _resolved.clear()


def codecs() -> tuple[Codec, ...]:
    """All of them, those of libraries that are loaded included."""
    _load_optional()
    return tuple(_by_tag.values())


def codec_for(cls: type) -> Codec | None:
    """The codec that writes instances of `cls`; None where nothing does."""
    if type(cls) is not type and _hashes_itself(type(cls)):
        # Never asked for its hash, which would be the program's code.
        _load_optional()
        return _covering(cls)
    found = _by_type.get(cls)
    if found is not None:
        return found
    if cls in _resolved:
        return _resolved[cls]
    _load_optional()
    found = _by_type.get(cls)
    if found is None:
        found = _covering(cls)
    _resolved[cls] = found
    return found


def _covering(cls: type) -> Codec | None:
    return next((codec for codec in _by_tag.values() if codec.covers and codec.covers(cls)), None)


def _hashes_itself(meta: type) -> bool:
    """Whether a metaclass has a hash or an equality of its own. Asked for each value, and answered once: ABCs,
    enums and pydantic's models share a few metaclasses."""
    if type(meta) is not type:  # its own hash may be the program's code
        return _differs(meta)
    found = _hashing.get(meta)
    if found is None:
        found = _hashing[meta] = _differs(meta)
    return found


def _differs(meta: type) -> bool:
    return any(lookup(meta, name) is not lookup(type, name) for name in ("__hash__", "__eq__"))


def storable(cls: type) -> bool:
    """Whether something writes instances of `cls`. Never raises: of a class that cannot be looked at, they are
    taken for values."""
    try:
        return codec_for(cls) is not None
    except Exception:  # noqa: BLE001 - a metaclass can make a class unhashable
        return True


def codec_of(tag: Tree) -> Codec | None:
    """The codec that reads a tag; None where nothing does."""
    if type(tag) is not str:
        return None
    if tag not in _by_tag:
        _load_optional()
    return _by_tag.get(tag)


def _load_optional() -> None:
    for library, ours in OPTIONAL.items():
        if ours in _loaded or library not in sys.modules:
            continue
        # Whoever finds the library loaded must not go on before its codecs are there.
        with _loading:
            if ours in _loaded:
                continue
            try:
                module = importlib.import_module(ours)
            except (ImportError, AttributeError):
                # Too old a version, or one that is just being imported: tried again at the next new type.
                continue
            register(*module.CODECS)
            _loaded.add(ours)
