"""Gives recorded values back: the ValueReader that recordings are read with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from tracetape.codec.classes import index_types
from tracetape.codec.decoder import Decoder, parse
from tracetape.codec.registry import TAG, Tree
from tracetape.errors import RecordedError, ValueNotRebuilt
from tracetape.model.payload import Payload
from tracetape.model.span import Gap

__all__ = ["Reader", "may_be_tagged"]


class Reader:
    """Turns payloads into values. Every call makes the value afresh: nobody shares it.

    types:    classes that a recording may name although their module does not have them by that name.
    missing:  told the path and the type of a part that the program uses although it was never stored; does
              not return. Default: raises ValueNotRebuilt.
    """

    def __init__(self, types: Iterable[type] = (), missing: Callable[[str, str], NoReturn] | None = None) -> None:
        self._types = index_types(types)
        self._hook = missing
        self._notes: dict[str, None] = {}

    def told(self, missing: Callable[[str, str], NoReturn]) -> Reader:
        """One with the same types, and with another to be told of missing parts."""
        other = Reader.__new__(Reader)
        other._types, other._hook, other._notes = self._types, missing, {}
        return other

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What came back a little different so far: fields added or removed since, offsets for zones."""
        return tuple(Gap("VALUE_REBUILT", text) for text in self._notes) if self._notes else ()

    def inputs(self, payload: Payload) -> Mapping[str, Any]:
        """The arguments by name. A part that cannot be rebuilt is a `Missing`, to be looked at by its repr.

        Raises ValueNotRebuilt where the payload's text was cut off, or is no JSON for another reason.
        """
        found = self._read(payload.text, lenient=True)
        return found if type(found) is dict else {"value": found}

    def result(self, payload: Payload) -> Any:
        """The value. A part that was not stored is a `Missing`.

        Raises ValueNotRebuilt where the whole value was not stored, or a class in it is not at hand.
        """
        return self._read(payload.text, lenient=False)

    def value(self, text: str) -> Any:
        """The same, of the text of a payload."""
        return self._read(text, lenient=False)

    def error(self, payload: Payload) -> BaseException:
        """The exception of a call or of a stream; a RecordedError where its class is not at hand."""
        decoder = self._decoder(lenient=True)
        try:
            tree = parse(payload.text)
            if type(tree) is dict and TAG not in tree and "error" in tree:
                return decoder.error(tree["error"], ".error")
            return decoder.error(tree, "")
        except (ValueNotRebuilt, RecursionError) as error:
            return RecordedError("unknown", str(error))
        finally:
            self._keep(decoder)

    def items(self, payload: Payload) -> tuple[Any, ...]:
        """The items of a stream. Raises ValueNotRebuilt like `result`."""
        return self.stream(payload)[0]

    def stream(self, payload: Payload) -> tuple[tuple[Any, ...], BaseException | None, Any]:
        """The items of a stream, what it raised (or None), what its generator returned (or None).

        Raises ValueNotRebuilt like `result`.
        """
        decoder = self._decoder(lenient=False)
        tree = parse(payload.text)
        if type(tree) is not dict or TAG in tree or type(tree.get("items")) is not list:
            raise ValueNotRebuilt("the stored value is not the items of a stream")
        try:
            items = tuple(decoder(tree["items"], ".items"))
            error = None if tree.get("error") is None else decoder.error(tree["error"], ".error")
            return items, error, decoder(tree.get("value"), ".value")
        except RecursionError:
            raise _too_deep() from None
        finally:
            self._keep(decoder)

    def _read(self, text: str, *, lenient: bool) -> Any:
        tree: Tree = parse(text)
        if not may_be_tagged(text):
            return tree
        decoder = self._decoder(lenient=lenient)
        try:
            return decoder(tree)
        except RecursionError:
            raise _too_deep() from None
        finally:
            self._keep(decoder)

    def _decoder(self, *, lenient: bool) -> Decoder:
        return Decoder(self._types, self._hook, lenient=lenient)

    def _keep(self, decoder: Decoder) -> None:
        decoder.reading = False
        self._notes.update(dict.fromkeys(decoder.notes))


_TAG = TAG.encode()


def may_be_tagged(text: str | bytes) -> bool:
    """Whether JSON text may have a tag in it. One character is found faster than several."""
    if isinstance(text, bytes):
        return b"$" in text and _TAG in text
    return "$" in text and TAG in text


def _too_deep() -> ValueNotRebuilt:
    return ValueNotRebuilt("the stored value is nested too deeply to be read")
