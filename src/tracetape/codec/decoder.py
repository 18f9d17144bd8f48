"""Turns trees of JSON into values, running no code of the classes that they name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import orjson

from tracetape.codec.classes import NotAtHand, find_class
from tracetape.codec.exceptions import text_of
from tracetape.codec.opaque import OPAQUE, Missing, not_stored, step
from tracetape.codec.raw import derives
from tracetape.codec.registry import TAG, Tree, codec_for, codec_of
from tracetape.errors import RecordedError, ValueNotRebuilt

__all__ = ["Decoder", "may_be_rounded", "parse"]

DEPTH_LIMIT = 256
"""Levels of JSON. What we write has fewer than 200."""

# orjson makes a float of what does not fit into 64 bits, without a word. With all digits made alike, it is a tenth
# of a pattern's work to find many in a row.
_DIGITS = bytes(48 if 48 <= one <= 57 else 32 for one in range(256))
_LONG_NUMBER = b"0" * 19


def parse(text: str) -> Tree:
    """JSON text as a tree, whoever wrote it. Raises ValueNotRebuilt where it is none."""
    try:
        try:
            utf8 = text.encode()
            if not may_be_rounded(utf8):
                return orjson.loads(utf8)
        except (UnicodeEncodeError, orjson.JSONDecodeError):
            # The standard library also takes what other writers do: NaN, escaped lone surrogates.
            pass
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueNotRebuilt(f"the stored value is no JSON that can be read: {error}") from error


def may_be_rounded(utf8: bytes) -> bool:
    """Whether a fast parser may round a number of JSON text: an integer of many digits."""
    return _LONG_NUMBER in utf8.translate(_DIGITS)


class _Refused(Exception):
    """A codec gave up. The text is the end of a sentence about the value."""


class Decoder:
    """One payload on its way to a value; what codecs know as `read`.

    lenient:  a part that cannot be rebuilt becomes a Missing; else it makes the whole value fail.
    notes:    what came back a little different.
    reading:  until the value is handed out. The hook is for what the program does with it then.
    """

    def __init__(
        self,
        types: Mapping[str, type],
        hook: Callable[[str, str], NoReturn] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        self.types = types
        self.hook = hook
        self.lenient = lenient
        self.notes: list[str] = []
        self.reading = True
        self.steps = ["$"]
        self.found: dict[tuple[str, bool], type] = {}

    @property
    def path(self) -> str:
        return "".join(self.steps)

    def __call__(self, tree: Tree, step: str = "") -> Any:
        kind = type(tree)
        if kind is not dict and kind is not list:
            return tree
        if len(self.steps) > DEPTH_LIMIT:
            raise RecursionError
        self.steps.append(step)
        try:
            if kind is list:
                return [self(one, f"[{n}]") for n, one in enumerate(tree)]
            if TAG in tree:
                return self._tagged(tree)
            return self._mapping(tree)
        finally:
            self.steps.pop()

    def _mapping(self, tree: dict[str, Tree]) -> dict[str, Any]:
        return {
            name: self(one, step("", name)) if type(one) is dict or type(one) is list else one
            for name, one in tree.items()
        }

    def _tagged(self, body: dict[str, Tree]) -> Any:
        try:
            codec = codec_of(body[TAG])
            if codec is None:
                self._refuse_unknown(body)
            return codec.decode(body, self)
        except ValueNotRebuilt as error:
            failure = error
        except (_Refused, NotAtHand) as error:
            failure = ValueNotRebuilt(f"{self.path} is a {type_name(body)}, {error}")
        except Exception as error:  # noqa: BLE001 - a trace can hold anything
            failure = ValueNotRebuilt(
                f"{self.path} is a {type_name(body)} and cannot be read: {type(error).__name__}: {error}"
            )
        if self.lenient:
            return self.missing(body)
        raise failure

    def _refuse_unknown(self, body: dict[str, Tree]) -> NoReturn:
        if type(body.get("class")) is str:
            # A class of a library that has not been imported.
            find_class(body["class"], body.get("main") is True, self.types)
        self.refuse("which this version of tracetape does not know: upgrade tracetape")

    def error(self, tree: Tree, step: str) -> BaseException:
        """An exception inside another; a RecordedError where its class is not at hand."""
        self.steps.append(step)
        try:
            made = self._exception(tree)
        finally:
            self.steps.pop()
        return made

    def _exception(self, tree: Tree) -> BaseException:
        if type(tree) is not dict:
            return RecordedError("unknown", "" if tree is None else str(tree))
        codec = codec_of(tree.get(TAG))
        if codec is not None and tree[TAG] != OPAQUE:
            try:
                made = codec.decode(tree, self)
            except Exception as error:  # noqa: BLE001
                self.note(f"is a RecordedError: {error}")
            else:
                if derives(type(made), BaseException):
                    exception: BaseException = made
                    return exception
        text = self(tree.get("text", text_of(tree)))
        return RecordedError(type_name(tree), text if type(text) is str else "")

    def cls(self, body: Mapping[str, Tree]) -> type:
        """The class that a body names, if its codec is the one whose tag the body has."""
        name, main = body["class"], body.get("main") is True
        if type(name) is not str:
            raise TypeError("its class has no name")
        found = self.found.get((name, main))
        if found is None:
            found = self.found[name, main] = find_class(name, main, self.types)
        codec = codec_for(found)
        if codec is None or codec.tag != body[TAG]:
            now = f"of the kind {codec.tag!r}" if codec else "of no kind that is rebuilt"
            self.refuse(f"which was recorded as {body[TAG]!r} and is {now} here")
        return found

    def class_object(self, body: Mapping[str, Tree]) -> type | None:
        """The class that a body names, of whatever kind; None where it is not at hand and a Missing will do."""
        if type(body["class"]) is not str:
            raise TypeError("its class has no name")
        try:
            return find_class(body["class"], body.get("main") is True, self.types)
        except NotAtHand as error:
            if not self.lenient and self.path == "$":
                raise
            self.note(f"is the class {body['class']}, {error}")
            return None

    def missing(self, body: Mapping[str, Tree]) -> Any:
        """What is served in place of a part that was not stored."""
        if not self.lenient and self.path == "$":
            self.refuse(
                "of which only the type and text were recorded. Record what the program needs of it "
                "(output=… at its boundary), or run that call live"
            )
        return Missing(self.path, body, self._used, shown=self.hook is None)

    def _used(self, path: str, type_name: str) -> NoReturn:
        if self.reading:
            # Not the program: a tuple around it is being hashed to be a key, say.
            self.refuse(f"and cannot be made without {path}, a {type_name}, which was not stored")
        (self.hook or not_stored)(path, type_name)

    def refuse(self, why: str) -> NoReturn:
        """Give up this value."""
        raise _Refused(why)

    def note(self, text: str) -> None:
        """Remember that the value comes back a little different."""
        line = f"{self.path}: {text}"
        if line not in self.notes:
            self.notes.append(line)


def type_name(body: Mapping[str, Tree]) -> str:
    """What a tagged value is, for messages."""
    return str(body.get("class", body.get(TAG, "unknown")))
