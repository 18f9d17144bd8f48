"""Stores the containers of the standard library that JSON has no word for."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, SimpleNamespace
from typing import Any

import orjson

from tracetape.codec.opaque import Missing, entry_step
from tracetape.codec.raw import exactly
from tracetape.codec.registry import Codec, Read, Tree, Write

__all__ = ["CODECS", "read_items", "read_pairs", "write_pairs"]

Body = Mapping[str, Tree]

_FACTORIES: dict[str, type] = {
    cls.__name__: cls for cls in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple, Counter, deque)
}


def write_items(items: Iterable[Any], write: Write) -> list[Tree]:
    return [write(one) for one in items]


def read_items(items: Tree, read: Read) -> list[Any]:
    """The values of a list."""
    if type(items) is not list:
        raise TypeError("its items are not a list")
    return [read(one, f"[{n}]") for n, one in enumerate(items)]


def write_pairs(pairs: Iterable[tuple[Any, Any]], write: Write) -> list[Tree]:
    return [[write(key), write(one)] for key, one in pairs]


def read_pairs(pairs: Tree, read: Read) -> list[tuple[Any, Any]]:
    """The keys and values of a mapping, in order."""
    if type(pairs) is not list:
        raise TypeError("its items are not a list")
    found = []
    for n, (key, one) in enumerate(pairs):
        name = read(key, f"[{n}][0]")
        if type(name) is Missing:
            read.refuse("one of its keys was not stored")
        found.append((name, read(one, entry_step(n, name))))
    return found


def _sequence(cls: type, make: Callable[[list[Any]], Any]) -> Codec:
    def encode(value: Any, write: Write) -> dict[str, Tree]:
        return {"items": write_items(value, write)}

    def decode(body: Body, read: Read) -> Any:
        return make(read_items(body["items"], read))

    return Codec(tag=cls.__name__, types=(cls,), encode=encode, decode=decode)


def _set(cls: type) -> Codec:
    def encode(value: Any, write: Write) -> dict[str, Tree]:
        # By text: the order of a set depends on the seed of the process's hashes.
        return {"items": sorted(write_items(list(value), write), key=orjson.dumps)}

    def decode(body: Body, read: Read) -> Any:
        items = read_items(body["items"], read)
        if any(type(one) is Missing for one in items):
            read.refuse("one of its elements was not stored")
        return cls(items)

    return Codec(tag=cls.__name__, types=(cls,), encode=encode, decode=decode)


def _mapping(cls: type, make: Callable[[list[tuple[Any, Any]]], Any]) -> Codec:
    def encode(value: Any, write: Write) -> dict[str, Tree]:
        return {"items": write_pairs(list(value.items()), write)}

    def decode(body: Body, read: Read) -> Any:
        return make(read_pairs(body["items"], read))

    return Codec(tag=cls.__name__, types=(cls,), encode=encode, decode=decode, levels=3)


def _counter(pairs: list[tuple[Any, Any]]) -> Counter[Any]:
    # Counter(pairs) would count the pairs.
    return Counter(dict(pairs))


def _encode_deque(value: deque[Any], write: Write) -> dict[str, Tree]:
    return {"items": write_items(list(value), write), "maxlen": value.maxlen}


def _decode_deque(body: Body, read: Read) -> deque[Any]:
    return deque(read_items(body["items"], read), exactly(body["maxlen"], int, NoneType))


def _encode_defaultdict(value: defaultdict[Any, Any], write: Write) -> dict[str, Tree]:
    made_by = value.default_factory
    known = next((name for name, one in _FACTORIES.items() if one is made_by), None)
    factory: Tree = {"name": known} if known else write(made_by)
    return {"factory": factory, "items": write_pairs(list(value.items()), write)}


def _decode_defaultdict(body: Body, read: Read) -> defaultdict[Any, Any]:
    factory = body["factory"]
    if type(factory) is dict and "name" in factory:
        made_by = _FACTORIES[factory["name"]]
    else:
        # A function of the program's is served as a Missing: asking for a key that is not there halts.
        made_by = read(factory, ".default_factory")
        if made_by is not None and type(made_by) is not Missing:
            raise TypeError("its default factory is not one")
    return defaultdict(made_by, read_pairs(body["items"], read))


def _encode_range(value: range, write: Write) -> dict[str, Tree]:
    return {"start": write(value.start), "stop": write(value.stop), "step": write(value.step)}


def _decode_range(body: Body, read: Read) -> range:
    start, stop, step = (exactly(read(body[name]), int) for name in ("start", "stop", "step"))
    return range(start, stop, step)


def _encode_slice(value: slice, write: Write) -> dict[str, Tree]:
    return {"start": write(value.start), "stop": write(value.stop), "step": write(value.step)}


def _decode_slice(body: Body, read: Read) -> slice:
    return slice(read(body["start"], ".start"), read(body["stop"], ".stop"), read(body["step"], ".step"))


def _encode_namespace(value: SimpleNamespace, write: Write) -> dict[str, Tree]:
    return {"fields": write(value.__dict__)}


def _decode_namespace(body: Body, read: Read) -> SimpleNamespace:
    made = SimpleNamespace()
    # Of another type `update` would ask for its `keys`.
    made.__dict__.update(exactly(read(body["fields"]), dict))
    return made


CODECS = (
    _sequence(tuple, tuple),
    _set(set),
    _set(frozenset),
    _mapping(dict, dict),
    _mapping(OrderedDict, OrderedDict),
    _mapping(Counter, _counter),
    Codec(tag="deque", types=(deque,), encode=_encode_deque, decode=_decode_deque),
    Codec(
        tag="defaultdict",
        types=(defaultdict,),
        encode=_encode_defaultdict,
        decode=_decode_defaultdict,
        levels=3,
    ),
    Codec(tag="range", types=(range,), encode=_encode_range, decode=_decode_range),
    Codec(tag="slice", types=(slice,), encode=_encode_slice, decode=_decode_slice),
    Codec(tag="namespace", types=(SimpleNamespace,), encode=_encode_namespace, decode=_decode_namespace, levels=1),
)
