"""Stores records: instances of dataclasses, of named tuples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field
from typing import Any

from tracetape.codec.classes import class_body
from tracetape.codec.raw import c_base, class_dict, derives, is_enum, lookup, mro, read_state, write_state
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = [
    "ABSENT",
    "CODECS",
    "attributes_of",
    "encode_record",
    "fit_fields",
    "is_named_tuple",
    "plain_default",
    "rebuild_record",
    "state_body",
]

ABSENT: Any = object()
"""What a field that the trace does not have is to be left as: not there."""

_HARMLESS = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)


def state_body(state: Mapping[str, Any], write: Write) -> dict[str, Tree]:
    """Attributes besides the fields; no key at all where there are none."""
    return {"state": write(dict(state))} if state else {}


def encode_record(value: object, names: Mapping[str, Any], write: Write) -> dict[str, Tree]:
    """An instance whose fields are attributes: the fields, then the attributes that are none."""
    state = read_state(value)
    fields = {name: state.pop(name) for name in names if name in state}
    return {**class_body(type(value)), "fields": write(fields), **state_body(state, write)}


def rebuild_record(body: Mapping[str, Tree], defaults: Mapping[str, Any], read: Read) -> Any:
    """The instance again, its attributes put where `encode_record` found them."""
    cls = read.cls(body)
    fields = fit_fields(attributes_of(body, "fields", read), defaults, read)
    made: Any = object.__new__(cls)
    for name in write_state(made, {**attributes_of(body, "state", read), **fields}):
        read.note(f"its attribute {name} has no place in the class any more and was left out")
    return made


def fit_fields(fields: dict[str, Any], defaults: Mapping[str, Any], read: Read) -> dict[str, Any]:
    """The recorded fields, made to fit today's class: what it added gets its default, what it dropped goes.

    defaults:  every field of today's class; `MISSING` where it needs a value, `ABSENT` where it needs none.
    """
    fitting = {}
    for name, default in defaults.items():
        if name in fields:
            fitting[name] = fields[name]
        elif default is MISSING:
            read.refuse(f"which has a field {name} now that was not recorded and has no plain default")
        elif default is not ABSENT:
            fitting[name] = default
            read.note(f"its field {name} was not recorded and has its default")
    for name in fields:
        if name not in defaults:
            read.note(f"its field {name} is gone from the class and was left out")
    return fitting


def attributes_of(body: Mapping[str, Tree], key: str, read: Read) -> dict[str, Any]:
    """Attributes by name; empty where the body has none."""
    attributes: Any = read(body[key]) if key in body else {}
    if type(attributes) is not dict or any(type(name) is not str for name in attributes):
        raise TypeError(f"its {key} are not attributes by name")
    return attributes


def plain_default(default: Any, factory: Any, nothing: Any) -> Any:
    """A field's default, made where the factory is a builtin; else `MISSING`.

    nothing:  what `default` is where the field has none.
    """
    if default is not nothing:
        return default.copy() if type(default) in (dict, list, set) else default
    return factory() if any(factory is one for one in _HARMLESS) else MISSING


def _fields(cls: type) -> dict[str, Field[Any]]:
    found = lookup(cls, "__dataclass_fields__")
    # ClassVar and InitVar are in there too, marked.
    return {name: one for name, one in found.items() if one._field_type.name == "_FIELD"}


def _is_dataclass(cls: type) -> bool:
    return (
        type(lookup(cls, "__dataclass_fields__")) is dict
        and c_base(cls) is object
        and not is_enum(cls)
        and lookup(cls, "__attrs_attrs__") is None
    )


def _encode_dataclass(value: object, write: Write) -> dict[str, Tree]:
    return encode_record(value, _fields(type(value)), write)


def _decode_dataclass(body: Mapping[str, Tree], read: Read) -> Any:
    defaults = {}
    for name, field in _fields(read.cls(body)).items():
        default = plain_default(field.default, field.default_factory, MISSING)
        defaults[name] = ABSENT if default is MISSING and not field.init else default
    return rebuild_record(body, defaults, read)


def is_named_tuple(cls: type) -> bool:
    """Whether a class was made by `NamedTuple` or `namedtuple`, or derives from one that was."""
    return (
        derives(cls, tuple)
        and c_base(cls) is tuple
        and not is_enum(cls)
        and any("_fields" in class_dict(one) and "_field_defaults" in class_dict(one) for one in mro(cls))
    )


def _encode_named_tuple(value: tuple[Any, ...], write: Write) -> dict[str, Tree]:
    cls = type(value)
    fields = dict(zip(lookup(cls, "_fields"), tuple.__iter__(value), strict=True))
    return {**class_body(cls), "fields": write(fields), **state_body(read_state(value), write)}


def _decode_named_tuple(body: Mapping[str, Tree], read: Read) -> Any:
    cls = read.cls(body)
    known = lookup(cls, "_field_defaults")
    defaults = {name: known.get(name, MISSING) for name in lookup(cls, "_fields")}
    fields = fit_fields(attributes_of(body, "fields", read), defaults, read)
    made: Any = tuple.__new__(cls, fields.values())
    write_state(made, attributes_of(body, "state", read))
    return made


CODECS = (
    Codec(tag="dataclass", covers=_is_dataclass, encode=_encode_dataclass, decode=_decode_dataclass, levels=1),
    Codec(
        tag="namedtuple", covers=is_named_tuple, encode=_encode_named_tuple, decode=_decode_named_tuple, levels=1
    ),
)
