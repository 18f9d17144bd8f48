"""What a call is compared by: its inputs, or what the functions of its boundary make of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from tracetape.codec import to_tree
from tracetape.codec.canonical import canonical, has_opaque
from tracetape.codec.ignore_paths import IgnorePaths
from tracetape.model.call import BoundarySpec
from tracetape.replayer import messages
from tracetape.replayer.ledger import Ledger

__all__ = ["Keying"]


class Keying:
    """Of one replay. The program's functions are asked here, outside of the lock: they may be any code.

    lock:      of the ledger.
    unusable:  halts, told a boundary's name and the text; for what such a function raises is the program's to
             repair.
    """

    def __init__(
        self,
        ledger: Ledger,
        ignore: IgnorePaths,
        lock: AbstractContextManager[Any],
        unusable: Callable[[str, str], NoReturn],
    ) -> None:
        self._ledger, self._ignore, self._lock, self._unusable = ledger, ignore, lock, unusable
        self._keyed: set[str] = set()

    def inputs(self, spec: BoundarySpec, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments by name, or what is recorded instead of them."""
        if spec.input is None:
            return arguments
        with self._asking(spec.name, "input="):
            return dict(spec.input(**arguments))

    def tree(self, spec: BoundarySpec, inputs: Mapping[str, Any], stored: Any) -> Any:
        """What the call is compared by. A boundary with a `key=` has its stubs keyed by it too, from its first
        call on: only now is the function known.

        stored:  the inputs as they are stored.
        """
        key = spec.key
        if key is None:
            return self._ignore.prune(canonical(stored))
        with self._asking(spec.name, "key="):
            while spec.name not in self._keyed:
                table = self._ledger.table
                keyed = table.with_key(spec.name, key, self._ignore)
                with self._lock:
                    if self._ledger.table is table:  # else another boundary's first call was faster
                        self._ledger.table = keyed
                        self._keyed.add(spec.name)
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
