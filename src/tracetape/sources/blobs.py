"""What is read like a file without being one on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

__all__ = ["Blob"]


_PIECE = 2**20


class Blob:
    """name:  for messages. open:  a context manager that gives its chunks, and may raise SourceError.
    path:  of the file that it is a part of; None where there is none.
    """

    __slots__ = ("name", "open", "path")

    def __init__(
        self,
        name: str,
        opening: Callable[[], AbstractContextManager[Iterator[bytes]]],
        path: Path | None = None,
    ) -> None:
        self.name, self.open, self.path = name, opening, path

    @classmethod
    def of(cls, name: str, content: bytes, path: Path | None = None) -> Blob:
        """Bytes that are here already."""

        @contextmanager
        def opening() -> Iterator[Iterator[bytes]]:
            yield (content[at : at + _PIECE] for at in range(0, len(content), _PIECE))

        return cls(name, opening, path)
