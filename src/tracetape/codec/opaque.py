"""What cannot be stored: the tag that is written for it, the object that is served in its place."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from tracetape.codec.raw import class_name, is_exactly, mro
from tracetape.codec.registry import CLASS, TAG, Codec, Read, Tree, Write
from tracetape.errors import ValueNotRebuilt

__all__ = [
    "CODECS",
    "OPAQUE",
    "Missing",
    "OpaquePart",
    "entry_step",
    "not_stored",
    "opaque_tag",
    "step",
    "unnoticed",
    "walk_opaque",
]

OPAQUE = "opaque"
TEXT_LIMIT = 500

_AT_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_ADDRESS = re.compile(r"\b0x[0-9A-Fa-f]{8,16}\b")
_SECRETS = frozenset({"Secret", "SecretStr", "SecretBytes", "_SecretBase", "_SecretField", "SecretField"})

_PAIRED = frozenset({"dict", "OrderedDict", "Counter", "defaultdict"})


class _Here(threading.local):
    """Of this thread. No ContextVar: crossings end in the collector too, see `_collecting`."""

    unnoticed = False


_here = _Here()

T = TypeVar("T")
MissingHook = Callable[[str, str], NoReturn]
"""Told the path and the type of a part that was used although it was never stored."""


def unnoticed(function: Callable[..., T], *arguments: Any) -> T:
    """The function's result. What it does with a part that was not stored is our own curiosity, not a use by
    the program: it gets its text, or ValueNotRebuilt; no hook is called."""
    before, _here.unnoticed = _here.unnoticed, True
    try:
        return function(*arguments)
    finally:
        _here.unnoticed = before


def opaque_tag(value: object, why: str | None = None) -> dict[str, Tree]:
    """The tag of a value that cannot be stored: its type, and `why` or its repr for people."""
    text = _text(value) if why is None else why
    return {TAG: OPAQUE, "class": class_name(type(value))[0], "text": text}


def _is_secret(cls: type) -> bool:
    """Whether a class is pydantic's SecretStr or kin. Decided by name: there are several of them."""
    return any(_short_name(one) in _SECRETS for one in mro(cls))


def _short_name(cls: type) -> str:
    """The name without what it is nested in, and without parameters."""
    return re.split("[:.]", class_name(cls)[0].partition("[")[0])[-1]


def _text(value: object) -> str:
    try:
        text = unnoticed(repr, value)
        if len(text) > 2 * TEXT_LIMIT:
            text = text[: 2 * TEXT_LIMIT]
        text = _ADDRESS.sub("0x…", _AT_ADDRESS.sub("", text))
        if len(text) > TEXT_LIMIT:
            text = text[: TEXT_LIMIT - 1] + "…"
        return text.encode("utf-8", "backslashreplace").decode()[:TEXT_LIMIT]
    except Exception as error:  # noqa: BLE001 - a repr can raise anything, and is only for people
        return f"(its repr raised {class_name(type(error))[0].partition(':')[2]})"


class OpaquePart(NamedTuple):
    """A part of a payload that was not stored. `path` is `$` where that is the whole value."""

    path: str
    type_name: str


def walk_opaque(tree: Tree, path: str = "$") -> Iterator[OpaquePart]:
    """The opaque parts of a tree, outermost first. Does not recurse: a payload may be nested to any depth."""
    waiting = [(path, tree)]
    while waiting:
        here, node = waiting.pop()
        if type(node) is list:
            waiting += reversed([(f"{here}[{n}]", one) for n, one in enumerate(node)])
        elif type(node) is dict:
            if node.get(TAG) == OPAQUE:
                yield OpaquePart(here, str(node.get("class", "?")))
                continue
            waiting += reversed(list(_inside(here, node)))


def _inside(path: str, node: dict[str, Tree]) -> Iterator[tuple[str, Tree]]:
    tag = node.get(TAG)
    tagged = TAG in node
    for name, one in node.items():
        if tag in _PAIRED and name == "items" and type(one) is list:
            yield from _inside_pairs(path, one)
        elif tagged and name in ("fields", "state", "members", "value", "private", "extra") and type(one) is dict:
            yield path, one
        elif tagged and name == "items" and type(one) is list:
            for n, item in enumerate(one):
                yield f"{path}[{n}]", item
        elif name != TAG:
            yield step(path, name), one


def _inside_pairs(path: str, pairs: list[Tree]) -> Iterator[tuple[str, Tree]]:
    for n, pair in enumerate(pairs):
        if type(pair) is list and len(pair) == 2:
            yield f"{path}[{n}][0]", pair[0]
            yield path + entry_step(n, pair[0]), pair[1]


def entry_step(n: int, key: Any) -> str:
    """How a path goes on to the n-th entry of a dict, by its key where that is short to say."""
    # Of a number of more than 4,300 digits there is no text.
    short = is_exactly(key, str, bool, float) or (type(key) is int and key.bit_length() <= 64)
    return f"[{key!r}]" if short else f"[{n}][1]"


def step(path: str, name: str) -> str:
    """The path of a named part."""
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{name!r}]"


def not_stored(path: str, type_name: str) -> NoReturn:
    """The hook where nobody gave one: raises ValueNotRebuilt, saying what to do."""
    raise ValueNotRebuilt(
        f"{path} is a {type_name}, of which only the type and text were recorded, and the program uses it. "
        f"Record what the program needs of it (output=… at its boundary), or run that call live"
    )


class Missing:
    """Stands for a part that was not stored. Any use of it calls the hook, which does not return.

    Let through is what merely hands it on: `type`, `copy`, a place in a container. `isinstance` is a use: a
    program that asks goes one way or the other by the answer. So is its `repr` in what a program was served,
    which can end in a prompt; where values are read to be looked at (`shown`) it says what is missing.

    Nothing of ours is called, so nothing can halt, where
    - identity decides: `is`, `id`; `in` and `==` of a container that has this very object in it;
    - the type's slots do: `callable`, `case {…}` or `case […]`, `"text" % it` without a place for it;
    - C code wants an exact type: `str.join`, `it in "text"`, `re.match`, `getattr(x, it)`, `Decimal(it)`,
      `orjson.dumps`, before Python 3.12 also buffers (`b"".join`, `socket.send`). These raise TypeError,
      which names this class; an `except TypeError` of the program hides it.
    """

    __slots__ = ("_hook", "_path", "_shown", "_tag")

    _tag: Mapping[str, Tree]
    _path: str
    _hook: MissingHook
    _shown: bool

    def __init__(
        self, path: str, tag: Mapping[str, Tree], hook: MissingHook | None = None, *, shown: bool = False
    ) -> None:
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_tag", tag)
        object.__setattr__(self, "_hook", hook or not_stored)
        object.__setattr__(self, "_shown", shown)

    def __repr__(self) -> str:
        if not object.__getattribute__(self, "_shown"):
            return _say(self)
        return _text_of(self)

    def __getattribute__(self, name: str) -> Any:
        if name in ("__deepcopy__", "__copy__"):
            return object.__getattribute__(self, name)
        return _use(self)

    def __copy__(self) -> Missing:
        return self

    def __deepcopy__(self, memo: object) -> Missing:
        return self


def _type_name(missing: Missing) -> str:
    tag: Mapping[str, Tree] = object.__getattribute__(missing, "_tag")
    name = str(tag.get("class", "?"))
    return f"class {name}" if tag.get(TAG) == CLASS else name


def _text_of(missing: Missing) -> str:
    path: str = object.__getattribute__(missing, "_path")
    return f"<Missing {_type_name(missing)} at {path}>"


def _say(self: Missing, *args: object) -> str:
    return _text_of(self) if _here.unnoticed else _use(self)


def _use(self: Missing, *args: object, **kwargs: object) -> NoReturn:
    if _here.unnoticed:
        not_stored(object.__getattribute__(self, "_path"), _type_name(self))
    hook: MissingHook = object.__getattribute__(self, "_hook")
    hook(object.__getattribute__(self, "_path"), _type_name(self))
    not_stored(object.__getattribute__(self, "_path"), _type_name(self))


_USES = """
    call iter next reversed len length_hint bool bytes hash eq ne lt le gt ge contains getitem setitem
    delitem setattr delattr dir int float complex index round trunc floor ceil fspath enter exit aenter aexit await
    aiter anext neg pos abs invert add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or radd
    rsub rmul rmatmul rtruediv rfloordiv rmod rdivmod rpow rlshift rrshift rand rxor ror iadd isub imul imatmul
    itruediv ifloordiv imod ipow ilshift irshift iand ixor ior get set delete instancecheck subclasscheck
    reduce_ex buffer
"""
for _name in _USES.split():
    setattr(Missing, f"__{_name}__", _use)
for _name in ("str", "format"):
    setattr(Missing, f"__{_name}__", _say)


def _encode(value: object, write: Write) -> dict[str, Tree]:
    if type(value) is Missing:
        # Handed on as an input it compares as what it stands for.
        tag: Mapping[str, Tree] = object.__getattribute__(value, "_tag")
        kept = ("class", "main", TAG) if tag.get(TAG) == CLASS else ("class", "text")
        return {name: one for name, one in tag.items() if name in kept}
    # A secret: the type alone.
    return {"class": class_name(type(value))[0]}


def _decode(body: Mapping[str, Tree], read: Read) -> Any:
    return read.missing(body)


CODECS = (Codec(tag=OPAQUE, types=(Missing,), covers=_is_secret, encode=_encode, decode=_decode),)
