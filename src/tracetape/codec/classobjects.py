"""Stores class objects by name: an exception's arguments, a response format, a tool's schema can be classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracetape.codec.classes import class_body
from tracetape.codec.opaque import OPAQUE
from tracetape.codec.raw import derives
from tracetape.codec.registry import CLASS, Codec, Read, Tree, Write, codec_for

__all__ = ["CODECS"]

# Their instances are JSON as they are.
_PLAIN = (bool, list)


def _is_served(cls: type) -> bool:
    """Whether a class is one that a trace may hand out: one whose instances it could have as well."""
    if any(cls is one for one in _PLAIN):
        return True
    codec = codec_for(cls)
    return codec is not None and codec.tag not in (OPAQUE, CLASS)


def _encode(value: type, write: Write) -> dict[str, Tree]:
    if not _is_served(value):
        raise TypeError("a class whose instances are not rebuilt is not handed out either")
    return class_body(value)


def _decode(body: Mapping[str, Tree], read: Read) -> Any:
    found = read.class_object(body)
    return found if found is not None and _is_served(found) else read.missing(body)


def _covers(cls: type) -> bool:
    return derives(cls, type)


CODECS = (Codec(tag=CLASS, covers=_covers, encode=_encode, decode=_decode, levels=1),)
