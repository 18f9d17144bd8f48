"""A call through a boundary while it happens."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:  # a program that is recorded never needs it
    from tracetape.model.report import Step

__all__ = [
    "ASYNC_GENERATOR",
    "ASYNC_ITERATOR",
    "AWAITABLE",
    "GENERATOR",
    "ITERATOR",
    "PLAIN",
    "BoundarySpec",
    "Call",
    "Cancelled",
    "ContextScope",
    "Flow",
    "Invoke",
    "Mode",
    "Outcome",
    "Raised",
    "Replayed",
    "Returned",
    "Streamed",
]

PLAIN = "plain"
AWAITABLE = "awaitable"
GENERATOR = "generator"
ASYNC_GENERATOR = "async_generator"
ITERATOR = "iterator"
ASYNC_ITERATOR = "async_iterator"
"""Shapes. `awaitable_` before one of a stream: a plain function handed out an awaitable of the stream."""


def _nothing_can(cls: type) -> bool:
    return False


class _Kept(dict[Any, Any]):
    """Copied and pickled as an empty one: whoever needs it makes it anew."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _Kept, ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundarySpec:
    """What `@boundary` said. The functions get the arguments by name, without self or cls.

    shape:       what a call of the function gives: plain, generator, async_generator.
    gives_text:  whether it says that it returns a str, or a stream of such. may_give_none: or None.
    defaults:    of its parameters.
    kept:        what modes have made of it for all its calls, each by a key of its own.
    """

    name: str
    kind: str = "custom"
    version: str | Callable[..., str | None] | None = None
    model: str | Callable[..., str | None] | None = None
    input: Callable[..., Mapping[str, Any]] | None = None
    output: Callable[[Any], Any] | None = None
    key: Callable[..., Any] | None = None
    usage: Callable[[Any], Mapping[str, int]] | None = None
    code: str = ""
    answer: Callable[[Any], Any] | None = None
    shape: str = PLAIN
    gives_text: bool = False
    may_give_none: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict, repr=False)
    kept: dict[Any, Any] = field(default_factory=_Kept, init=False, repr=False)


class ContextScope(Protocol):
    """Something that is current while the function's own code runs.

    `current` says what is current before, `attach` puts this in its place, `detach` puts back what was. It
    does nothing where this is not current any more: a step may end in another context than it began in.
    """

    def current(self) -> Any: ...

    def attach(self) -> None: ...

    def detach(self, before: Any) -> None: ...


@dataclass(slots=True)
class Replayed:
    """`mode` is stub, live, patched or halted. step: the replay's of this call."""

    mode: str
    step: Step

    @property
    def span(self) -> tuple[str, str] | None:
        """The ids of the recorded span, of the trace first; None where there is none."""
        recorded = self.step.recorded
        return (recorded.trace_id, recorded.span_ids[0]) if recorded is not None and recorded.span_ids else None


@dataclass(slots=True)
class Call:
    """One call that has not ended yet. The modes around it add what must be current and who watches.

    invoke:   runs the function; for a coroutine function it makes the coroutine, for a generator
              function the generator.
    scopes:   attached before each step of the function and detached after it, outermost first.
    watchers: told each item of a stream before the consumer gets it.
    gate:     asked before each step of the function; raises where none of its code may run any more. What closes
              it may run always.
    replayed: what a replay made of the call, for the span around it.
    given_up: its outcome where it, or the stream that it handed out, is thrown away before an end of its own.
    storable: whether instances of a class are stored as they are; an iterator that is not is watched instead.
    """

    spec: BoundarySpec
    arguments: Mapping[str, Any]
    invoke: Callable[[], Any]
    scopes: tuple[ContextScope, ...] = ()
    watchers: tuple[Callable[[Any], None], ...] = ()
    gate: Callable[[], None] | None = None
    replayed: Replayed | None = None
    given_up: Outcome | None = None
    storable: Callable[[type], bool] = _nothing_can


@dataclass(slots=True)
class Invoke:
    """What a mode yields to have the function run. Neither it nor an outcome is frozen: each call makes one of
    both, and that would cost three times as much."""

    call: Call


@dataclass(slots=True)
class Returned:
    """`shape` says what a plain function handed out: a value, or an awaitable of the value."""

    value: Any
    shape: str = PLAIN


@dataclass(slots=True)
class Raised:
    error: BaseException
    shape: str = PLAIN


@dataclass(slots=True)
class Streamed:
    """The items, and how it ended: `finished`, `raised` or `abandoned` by its consumer.

    value:      what the generator returned (the value of its StopIteration).
    patience:   seconds for which a served stream that was cancelled waits for its caller's cancellation.
    exhausted:  called when a consumer asks an abandoned stream for one item more than it had.
    """

    items: tuple[Any, ...] = ()
    end: str = "finished"
    error: BaseException | None = None
    value: Any = None
    shape: str = GENERATOR
    patience: float = 0.0
    exhausted: Callable[[], NoReturn] | None = field(default=None, compare=False)


@dataclass(slots=True)
class Cancelled:
    """The caller cancelled it.

    error:     the CancelledError of a call that really ran.
    patience:  seconds for which a served one waits for the caller's cancellation, before `exhausted`.
    """

    error: BaseException | None = None
    shape: str = PLAIN
    patience: float = 0.0
    exhausted: Callable[[], NoReturn] | None = field(default=None, compare=False)


Outcome = Returned | Raised | Streamed | Cancelled
Flow = Generator[Invoke, Outcome, Outcome]


class Mode(Protocol):
    """What runs a call: `cross(call)` is a generator that may yield one `Invoke`, is then sent the outcome,
    and returns the outcome that goes to the caller.

    `fails` says what an error of the mode's own does: "open" runs the function bare or hands the outcome
    on; "closed" lets the error through, since a wrong answer would be worse than none.
    """

    @property
    def fails(self) -> str: ...

    def cross(self, call: Call) -> Flow: ...
