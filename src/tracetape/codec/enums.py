"""Stores members of enumerations, by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import EnumType, Flag
from types import NoneType
from typing import Any

from tracetape.codec.classes import class_body
from tracetape.codec.encoder import to_tree
from tracetape.codec.raw import class_dict, class_name, derives, is_enum, is_exactly, lookup, mro
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = ["CODECS"]

_PLAIN = (NoneType, bool, int, float, str, bytes)
# What `Flag` makes a combination with, and the program can define.
_ASKED = (
    "__eq__",
    "__getattr__",
    "__getattribute__",
    "__setattr__",
    "_iter_member_by_def_",
    "_iter_member_by_value_",
    "_numeric_repr_",
)


def _encode(value: Any, write: Write) -> dict[str, Tree]:
    cls = type(value)
    state = object.__getattribute__(value, "__dict__")
    body: dict[str, Tree] = {**class_body(cls), "value": write(state["_value_"])}
    if state["_name_"] in lookup(cls, "_member_map_"):
        body["name"] = write(state["_name_"])
    return body


def _decode(body: Mapping[str, Tree], read: Read) -> Any:
    cls = read.cls(body)
    members = lookup(cls, "_member_map_")
    name = body.get("name")
    if name is not None:
        if name not in members:
            read.refuse(f"which has no member {name!r} any more")
        member = members[name]
        # Compared as trees: the value's own `__eq__` is the program's. So is the `__repr__` of one that
        # cannot be stored.
        value = object.__getattribute__(member, "__dict__")["_value_"]
        if _is_plain(value) and to_tree(value) != body["value"]:
            read.note(f"its member {name} has another value now")
        return member
    value = read(body["value"], ".value")
    if not derives(cls, Flag) or type(value) is not int:
        read.refuse("a member without a name")
    known = lookup(cls, "_value2member_map_")
    return known[value] if value in known else _combination(cls, value, read)


def _is_plain(value: Any) -> bool:
    if is_exactly(value, tuple, list, frozenset):
        return all(_is_plain(one) for one in value)
    return is_exactly(value, *_PLAIN)


def _combination(cls: type, value: int, read: Read) -> Any:
    """A combination of flags that the program has not made yet, as `Flag` makes it."""
    own = [one for one in mro(cls) if not class_name(one)[0].startswith("enum:") and one is not object]
    if (
        type(cls) is not EnumType
        or lookup(cls, "_member_type_") not in (object, int)
        or any(name in class_dict(one) for one in own if one is not int for name in _ASKED)
    ):
        read.refuse("a combination of flags that cannot be made without running code of the class")
    # Not `cls(value)`: that would ask a `_missing_` of the program's.
    return class_dict(Flag)["_missing_"].__func__(cls, value)


CODECS = (Codec(tag="enum", covers=is_enum, encode=_encode, decode=_decode, levels=1),)
