"""How crossings are named in spans: one module per convention, listed in `registry`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tracetape.model.crossing import Crossing
from tracetape.model.span import SpanRecord

__all__ = ["Convention"]


class Convention(Protocol):
    """One way of naming things. A module with these two names is one.

    name:       for messages.
    crossings:  given all spans of one trace, the crossings that it recognises in them; spans that belong
                to none are structure. Ours is not given those that were read by a template, for they are
                known to be crossings. A crossing has its span_ids, the main span first; occurrence, kin
                and values are set afterwards.
    """

    @property
    def name(self) -> str: ...

    def crossings(self, spans: Sequence[SpanRecord]) -> Iterable[Crossing]: ...
