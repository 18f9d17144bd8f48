"""Stores exceptions so that `except` clauses, messages, groups work on what comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import GetSetDescriptorType, MemberDescriptorType, NoneType
from typing import Any

from tracetape.codec.classes import class_body
from tracetape.codec.opaque import OPAQUE, unnoticed
from tracetape.codec.raw import (
    c_base,
    class_dict,
    class_name,
    derives,
    exactly,
    is_exactly,
    lookup,
    mro,
    read_state,
    write_state,
)
from tracetape.codec.records import attributes_of, state_body
from tracetape.codec.registry import TAG, Codec, Read, Tree, Write

__all__ = ["CODECS", "text_of"]

TEXT_LIMIT = 2_000

_base: Mapping[str, Any] = BaseException.__dict__
# What a group was made of is stored as such. The object that lacked an attribute is the program's, whole.
_NOT_MEMBERS = frozenset({"message", "exceptions", "obj", "__dict__"})

# What C code takes as it is: it asks other types for `__index__`, `__iter__`, a buffer, their hash.
_INERT = (NoneType, bool, int, float, str, bytes)
# Members that C code converts where they are set, or reads unchecked where the exception is shown.
_EXACT: dict[str, tuple[type, ...]] = {"characters_written": (int,)}
_EXACT_OF_UNICODE: dict[str, tuple[type, ...]] = {
    "encoding": (str,),
    "reason": (str,),
    "start": (int,),
    "end": (int,),
}


def text_of(body: Mapping[str, Tree]) -> str:
    """What an exception said, for people, from its body alone."""
    text = body.get("text")
    if type(text) is str:
        return text
    args = body.get("args")
    return args[0] if type(args) is list and len(args) == 1 and type(args[0]) is str else ""


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """The C members of the builtin classes, such as `OSError.errno`."""
    for one in mro(cls):
        if one is BaseException or one is object or not class_name(one)[0].startswith("builtins:"):
            continue
        for name, member in class_dict(one).items():
            if type(member) in (MemberDescriptorType, GetSetDescriptorType) and name not in _NOT_MEMBERS:
                yield name, member


def _encode(value: BaseException, write: Write) -> dict[str, Tree]:
    cls = type(value)
    args = _base["args"].__get__(value)
    body: dict[str, Tree] = class_body(cls)
    if derives(cls, BaseExceptionGroup):
        group: Mapping[str, Any] = BaseExceptionGroup.__dict__
        body["args"] = [write(group["message"].__get__(value))]
        body["exceptions"] = [write(one) for one in group["exceptions"].__get__(value)]
    else:
        body["args"] = [write(one) for one in args]
    members = {}
    for name, member in _members(cls):
        try:
            one = member.__get__(value, cls)
        except AttributeError:  # characters_written, unless it was set
            continue
        if one is not None:
            members[name] = one
    if members:
        body["members"] = write(members)
    body.update(state_body(read_state(value), write))
    cause = _base["__cause__"].__get__(value)
    if cause is not None:
        body["cause"] = write(cause)
    if _base["__suppress_context__"].__get__(value) and cause is None:
        body["suppress_context"] = True
    text = "" if any(_is_secret(one) for one in body["args"]) else _text(value)
    if text and text != text_of(body):
        body["text"] = write(text)
    return body


def _is_secret(tree: Tree) -> bool:
    return type(tree) is dict and tree.get(TAG) == OPAQUE and "text" not in tree


def _text(value: BaseException) -> str:
    try:
        text = str.__str__(unnoticed(str, value))
    except Exception:  # noqa: BLE001 - a __str__ can raise anything, and the text is only for people
        return ""
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def _decode(body: Mapping[str, Tree], read: Read) -> BaseException:
    cls = read.cls(body)
    args = [read(one, f".args[{n}]") for n, one in enumerate(body["args"])]
    if derives(cls, BaseExceptionGroup):
        inner = [read.error(one, f".exceptions[{n}]") for n, one in enumerate(body["exceptions"])]
        exactly(args[0], str)
        if any(_has_a_say_in_its_class(type(one)) for one in inner):
            read.refuse("in which an exception is that would run its own code to be put there")
        args.append(inner)
    made = _make(cls, args)
    _base["args"].__set__(made, tuple(args))
    _set_members(made, attributes_of(body, "members", read))
    write_state(made, attributes_of(body, "state", read))
    cause = body.get("cause")
    if type(cause) is dict and cause.get(TAG) != OPAQUE:
        _base["__cause__"].__set__(made, read.error(cause, ".__cause__"))
    if body.get("suppress_context") is True:
        _base["__suppress_context__"].__set__(made, True)
    return made


def _make(cls: type, args: list[Any]) -> BaseException:
    base: Any = c_base(cls)
    if derives(cls, BaseExceptionGroup):
        made: BaseException = base.__new__(cls, *args)
        return made
    # C code would look at another one. The members that it would have set from it are in the body.
    usable = args if all(_is_inert(one) for one in args) else []
    made = base.__new__(cls, *usable)
    if type(made) is not cls:  # OSError chooses a subclass by the number
        made = base.__new__(cls)
    try:
        base.__init__(made, *usable)
    except (TypeError, ValueError, AttributeError, OverflowError):
        # The program has put something else into `args` since. The members follow.
        pass
    return made


def _is_inert(value: Any) -> bool:
    if is_exactly(value, tuple, list):  # SyntaxError's second argument
        return all(is_exactly(one, *_INERT) for one in value)
    return is_exactly(value, *_INERT)


def _has_a_say_in_its_class(cls: type) -> bool:
    """Whether a group would run code of an exception's: it asks each that is no Exception for its `__class__`."""
    return not derives(cls, Exception) and (
        lookup(cls, "__getattribute__") is not _base["__getattribute__"]
        or lookup(cls, "__class__") is not object.__dict__["__class__"]
    )


def _set_members(made: BaseException, members: Mapping[str, Any]) -> None:
    exact = _exact_members(type(made))
    for name, member in _members(type(made)):
        if name in members and (name not in exact or is_exactly(members[name], *exact[name])):
            try:
                member.__set__(made, members[name])
            except (AttributeError, TypeError, ValueError, OverflowError):  # a read-only one: `__new__` has set it
                continue


def _exact_members(cls: type) -> Mapping[str, tuple[type, ...]]:
    if derives(cls, UnicodeDecodeError):
        return {**_EXACT_OF_UNICODE, "object": (bytes,)}
    if derives(cls, UnicodeError):
        return {**_EXACT_OF_UNICODE, "object": (str,)}
    return _EXACT


def _covers(cls: type) -> bool:
    return derives(cls, BaseException) and class_name(c_base(cls))[0].startswith("builtins:")


CODECS = (Codec(tag="exception", covers=_covers, encode=_encode, decode=_decode),)
