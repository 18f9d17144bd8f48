"""Stores instances of attrs classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any

import attr  # type: ignore[import-not-found, unused-ignore]

from tracetape.codec.raw import c_base, is_enum, lookup
from tracetape.codec.records import ABSENT, encode_record, plain_default, rebuild_record
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = ["CODECS"]


def _fields(cls: type) -> tuple[Any, ...]:
    found: tuple[Any, ...] = lookup(cls, "__attrs_attrs__")
    return found


def _covers(cls: type) -> bool:
    return lookup(cls, "__attrs_attrs__") is not None and c_base(cls) is object and not is_enum(cls)


def _encode(value: object, write: Write) -> dict[str, Tree]:
    return encode_record(value, {field.name: field for field in _fields(type(value))}, write)


def _decode(body: Mapping[str, Tree], read: Read) -> Any:
    defaults = {}
    for field in _fields(read.cls(body)):
        factory = field.default.factory if type(field.default) is attr.Factory else None
        default = plain_default(attr.NOTHING if factory else field.default, factory, attr.NOTHING)
        defaults[field.name] = ABSENT if default is MISSING and not field.init else default
    return rebuild_record(body, defaults, read)


CODECS = (Codec(tag="attrs", covers=_covers, encode=_encode, decode=_decode, levels=1),)
