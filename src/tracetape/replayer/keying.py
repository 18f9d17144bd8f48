"""What a call is compared by: its inputs, or what the functions of its boundary make of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from typing import Any, NoReturn

import orjson

from tracetape.codec import json_utf8, to_tree
from tracetape.codec.canonical import canonical, has_opaque
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.model.call import BoundarySpec
from tracetape.model.crossing import ValueReader
from tracetape.model.payload import Payload
from tracetape.replayer import messages
from tracetape.replayer.adopted import Adopted
from tracetape.replayer.ledger import Ledger

__all__ = ["Given", "Keying"]


class Given:
    """The inputs of one call.

    text:          as they are stored: a copy, which nobody changes. (Bytes would keep the encoder's buffer.)
    digest:        SHA-256 of the text, where the inputs are compared as they are; else None.
    compared:      whether there is anything in them that can be.
    instructions:  what their system messages say, which is not.
    """

    __slots__ = ("_tree", "compared", "digest", "instructions", "reader", "text")

    def __init__(
        self,
        text: str,
        tree: Any,
        reader: ValueReader,
        digest: bytes | None = None,
        *,
        compared: bool = True,
        instructions: str = "",
    ) -> None:
        self.text, self._tree, self.reader = text, tree, reader
        self.digest, self.compared, self.instructions = digest, compared, instructions

    def tree(self) -> Any:
        """What the call is compared by."""
        return self._tree if self._tree is not None else canonical(orjson.loads(self.text))

    def values(self) -> Mapping[str, Any]:
        """The inputs as they came, made anew."""
        return self.reader.inputs(Payload.of(self.text))


class Keying:
    """Of one replay. The program's functions are asked here, outside of the lock: they may be any code.

    reader:    gives the inputs of a step back.
    lock:      of the ledger.
    unusable:  halts, told a boundary's name and the text; for what such a function raises is the program's to
             repair.
    """

    def __init__(
        self,
        ledger: Ledger,
        ignore: IgnorePaths,
        reader: ValueReader,
        lock: AbstractContextManager[Any],
        unusable: Callable[[str, str], NoReturn],
    ) -> None:
        self._ledger, self._ignore, self._reader = ledger, ignore, reader
        self._lock, self._unusable = lock, unusable
        self._ignores = bool(ignore)
        self._keyed: set[str] = set()

    def inputs(self, spec: BoundarySpec, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments by name, or what is recorded instead of them."""
        if spec.input is None:
            return arguments
        with self._asking(spec.name, "input="):
            return dict(spec.input(**arguments))

    def given(self, spec: BoundarySpec, inputs: Mapping[str, Any]) -> Given:
        """The inputs as they came, and what the call is compared by."""
        if spec.key is None and not self._ignores:
            written = json_utf8(inputs if type(inputs) is dict else dict(inputs))
            return Given(written.decode(), None, self._reader, sha256(written).digest())
        stored = to_tree(dict(inputs))
        return Given(orjson.dumps(stored).decode(), self._tree(spec, inputs, stored), self._reader)

    def adopted(self, adopted: Adopted, spec: BoundarySpec, boundary: str, inputs: Mapping[str, Any]) -> Given:
        """The same where the recording has the calls of others: compared is what both say."""
        stored = to_tree(dict(inputs))
        text = orjson.dumps(stored).decode()
        live, instructions = adopted.live(spec, boundary, stored)
        if live is None:
            return Given(text, {}, self._reader, compared=False)
        recorded = adopted.recorded(spec, boundary)
        self._key(boundary, lambda inputs: to_tree(recorded(inputs)))
        tree = self._ignore.prune(canonical(live))
        return Given(text, tree, self._reader, instructions=instructions)

    def _key(self, boundary: str, compared: Callable[[Mapping[str, Any]], Any]) -> None:
        """Have the stubs of a boundary compared by what this makes of their inputs; once, at its first call."""
        while boundary not in self._keyed:
            table = self._ledger.table
            keyed = table.compared_by(boundary, compared)
            with self._lock:
                if self._ledger.table is table:  # else another boundary's first call was faster
                    self._ledger.table = keyed
                    self._keyed.add(boundary)

    def _tree(self, spec: BoundarySpec, inputs: Mapping[str, Any], stored: Any) -> Any:
        """A boundary with a `key=` has its stubs keyed by it too, from its first call on: only now is the function
        known.

        stored:  the inputs as they are stored.
        """
        key = spec.key
        if key is None:
            return self._ignore.prune(canonical(stored))
        with self._asking(spec.name, "key="):
            self._key(spec.name, lambda inputs: {"key": to_tree(key(**inputs))})
            given = to_tree(key(**inputs))
        if has_opaque(given):
            self._unusable(spec.name, messages.key_is_opaque(spec.name))
        return self._ignore.prune(canonical({"key": given}))

    @contextlib.contextmanager
    def _asking(self, name: str, which: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._unusable(name, messages.function_failed(name, which, error))
