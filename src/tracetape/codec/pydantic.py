"""Stores pydantic's models, by the four slots that a model consists of; its errors, by their list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel, networks
from pydantic_core import (
    MultiHostUrl,
    PydanticCustomError,
    PydanticUndefined,
    Url,
    ValidationError,
    core_schema,
)

from tracetape.codec.classes import class_body
from tracetape.codec.raw import c_base, derives, exactly, lookup
from tracetape.codec.records import (
    attributes_of,
    encode_record,
    fit_fields,
    plain_default,
    rebuild_record,
    state_body,
)
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = ["CODECS"]

# The descriptors themselves: a model can define properties and `__setattr__`.
_ATTRIBUTES: Any = BaseModel.__dict__["__dict__"]
_FIELDS_SET: Any = BaseModel.__dict__["__pydantic_fields_set__"]
_EXTRA: Any = BaseModel.__dict__["__pydantic_extra__"]
_PRIVATE: Any = BaseModel.__dict__["__pydantic_private__"]

# Since 2.10 HttpUrl and kin are classes around the Url of pydantic_core; before, they were that.
_NETWORK_BASES: tuple[type, ...] = tuple(
    vars(networks)[name] for name in ("_BaseUrl", "_BaseMultiHostUrl") if name in vars(networks)
)
# What pydantic_core makes numbers and texts of, by asking other types for `__float__` and `__str__`.
_CONTEXT = (NoneType, bool, int, float, str, bytes, Decimal, date, datetime, time, timedelta, list, tuple)
_KNOWN_ERRORS = frozenset(get_args(core_schema.ErrorType))


def _fields(cls: type) -> dict[str, Any]:
    found = lookup(cls, "__pydantic_fields__")
    # Until 2.10 the class had them as an attribute.
    found = lookup(cls, "model_fields") if found is None else found
    return found if type(found) is dict else {}


def _is_model(cls: type) -> bool:
    return derives(cls, BaseModel) and c_base(cls) is object


def _encode_model(value: BaseModel, write: Write) -> dict[str, Tree]:
    cls = type(value)
    state = dict(_ATTRIBUTES.__get__(value))
    body: dict[str, Tree] = class_body(cls)
    body["fields"] = write({name: state.pop(name) for name in _fields(cls) if name in state})
    body["set"] = write(sorted(_FIELDS_SET.__get__(value)))
    for key, slot in (("extra", _EXTRA), ("private", _PRIVATE)):
        try:
            held = slot.__get__(value)
        except AttributeError:  # a RootModel has no use for it
            continue
        if held is not None:
            body[key] = write(held)
    return {**body, **state_body(state, write)}


def _decode_model(body: Mapping[str, Tree], read: Read) -> Any:
    cls = read.cls(body)
    defaults = {
        name: plain_default(field.default, field.default_factory, PydanticUndefined)
        for name, field in _fields(cls).items()
    }
    recorded = attributes_of(body, "fields", read)
    fields = fit_fields(recorded, defaults, read)
    made: Any = object.__new__(cls)
    _ATTRIBUTES.__set__(made, {**attributes_of(body, "state", read), **fields})
    names = [exactly(name, str) for name in exactly(read(body["set"]), list)]
    _FIELDS_SET.__set__(made, set(names) - (set(recorded) - set(fields)))
    _EXTRA.__set__(made, attributes_of(body, "extra", read) if "extra" in body else None)
    _PRIVATE.__set__(made, attributes_of(body, "private", read) if "private" in body else None)
    return made


def _encode_error(value: ValidationError, write: Write) -> dict[str, Tree]:
    errors = value.errors(include_url=False)
    return {"title": value.title, "errors": [write(dict(one)) for one in errors]}


def _decode_error(body: Mapping[str, Tree], read: Read) -> ValidationError:
    errors: list[Any] = []
    for n, tree in enumerate(body["errors"]):
        one = exactly(read(tree, f".errors[{n}]"), dict)
        kind, context = exactly(one["type"], str), exactly(one.get("ctx"), dict, NoneType)
        loc = tuple(exactly(step, str, int) for step in exactly(one["loc"], tuple, list))
        detail = {"type": kind, "loc": loc, "input": one["input"]}
        if kind not in _KNOWN_ERRORS:
            detail["type"] = PydanticCustomError(kind, exactly(one["msg"], str), context)
        elif context is not None:
            for name, value in context.items():
                if name != "error":  # the exception of a validator, which is kept as it is
                    exactly(value, *_CONTEXT)
            detail["ctx"] = context
        errors.append(detail)
    return ValidationError.from_exception_data(exactly(body["title"], str), errors)


def _url(cls: Any) -> Codec:
    def encode(value: object, write: Write) -> dict[str, Tree]:
        return {"value": write(str(value))}

    def decode(body: Mapping[str, Tree], read: Read) -> Any:
        return cls(exactly(read(body["value"]), str))

    return Codec(tag=f"pydantic.{cls.__name__}", types=(cls,), encode=encode, decode=decode)


def _is_network_type(cls: type) -> bool:
    return any(derives(cls, base) for base in _NETWORK_BASES)


def _encode_network_type(value: object, write: Write) -> dict[str, Tree]:
    return encode_record(value, {"_url": None}, write)


def _decode_network_type(body: Mapping[str, Tree], read: Read) -> Any:
    return rebuild_record(body, {"_url": MISSING}, read)


CODECS = (
    Codec(tag="pydantic", covers=_is_model, encode=_encode_model, decode=_decode_model, levels=1),
    Codec(
        tag="pydantic.ValidationError",
        types=(ValidationError,),
        encode=_encode_error,
        decode=_decode_error,
    ),
    _url(Url),
    _url(MultiHostUrl),
    Codec(
        tag="pydantic.network",
        covers=_is_network_type,
        encode=_encode_network_type,
        decode=_decode_network_type,
        levels=1,
    ),
)
