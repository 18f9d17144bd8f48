"""One call on its way through a mode: begun, stepped, ended."""

from __future__ import annotations

import inspect
import sys
import types
import weakref
from collections.abc import Awaitable, Callable, Generator
from typing import Any

from tracetape._collecting import is_collecting
from tracetape.model.call import BoundarySpec, Call, ContextScope, Flow, Invoke, Mode, Outcome

__all__ = ["BARE", "UNWATCHED", "Handed", "Running", "begin", "is_cancellation", "settled"]


class _Bare:
    """Runs the function: the innermost mode."""

    fails = "open"

    def cross(self, call: Call) -> Flow:
        outcome = yield Invoke(call)
        return outcome


BARE = _Bare()


class Running:
    """A flow that stands at its Invoke, to be told the outcome."""

    __slots__ = ("call", "flow", "mode", "scope")

    def __init__(self, mode: Mode, call: Call, flow: Flow | None) -> None:
        self.mode, self.call, self.flow = mode, call, flow
        scopes = call.scopes
        self.scope: ContextScope | None = None
        if scopes and not is_collecting():
            self.scope = scopes[0] if len(scopes) == 1 else _Scopes(scopes)

    def end(self, outcome: Outcome) -> Outcome:
        """What goes to the caller, by the mode's word; the outcome itself where the mode failed open."""
        if self.flow is None:
            return outcome
        try:
            self.flow.send(outcome)
        except StopIteration as stop:
            # None: the collector closed the flow, for it took the stream and all that hangs on it.
            decided: Outcome | None = stop.value
            return outcome if decided is None else decided
        except Exception:
            if self.mode.fails == "closed":
                raise
            return outcome
        self.flow.close()
        raise RuntimeError(f"{type(self.mode).__name__}.cross yielded twice for one call")

    def go_on(self) -> None:
        """Asked before each step that is not there to close the function."""
        if self.call.gate is not None:
            self.call.gate()

    def step(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One step of the function's own code, with its scopes current."""
        __tracebackhide__ = True
        scope = self.scope
        # Taken before anything is attached: an exception out of a signal handler may come at any moment.
        before = scope.current() if scope is not None else None
        try:
            if scope is not None:
                scope.attach()
            return function(*arguments)
        finally:
            # This frame will be in the traceback of an exception that is thrown in: a cycle would keep it alive.
            del function, arguments
            if scope is not None:
                scope.detach(before)

    async def astep(self, awaitable: Awaitable[Any]) -> Any:
        """The same for a step that may wait. When the loop throws the coroutine away, that may happen in
        another context: then nothing of ours is current there, and nothing is put back."""
        __tracebackhide__ = True
        scope = self.scope if not is_collecting() else None
        before = scope.current() if scope is not None else None
        try:
            if scope is not None:
                scope.attach()
            return await awaitable
        finally:
            del awaitable  # see step
            if scope is not None:
                scope.detach(before)

    def watch(self, item: Any) -> None:
        for watcher in self.call.watchers:
            watcher(item)


class _Scopes:
    """Several, as one."""

    __slots__ = ("scopes",)

    def __init__(self, scopes: tuple[ContextScope, ...]) -> None:
        self.scopes = scopes

    def current(self) -> list[Any]:
        return [scope.current() for scope in self.scopes]

    def attach(self) -> None:
        for scope in self.scopes:
            scope.attach()

    def detach(self, before: list[Any]) -> None:
        for scope, one in zip(reversed(self.scopes), reversed(before), strict=True):
            scope.detach(one)


UNWATCHED = Running(BARE, Call(BoundarySpec(name=""), {}, lambda: None), None)
"""What a served stream runs through: nobody is told of it."""


class Handed(Running):
    """A crossing that goes on in what the function handed out: a generator, a coroutine, a stream. It ends
    once, at the latest when nobody holds that any more: as `given_up`. `source` is what the function returned.
    """

    __slots__ = ("handed", "over", "source")

    def __init__(self, begun: Running, given_up: Outcome, source: Any) -> None:
        super().__init__(begun.mode, begun.call, begun.flow)
        self.call.given_up = given_up
        self.source, self.over = source, False
        self.handed: weakref.ref[Any] | None = None

    def hand(self, made: Any) -> Any:
        """`made` goes to the caller in place of the source, under its name."""
        made.__name__, made.__qualname__ = self.source.__name__, self.source.__qualname__
        self.handed = weakref.ref(made)
        return made

    def is_shared(self, ours: int = 3) -> bool:
        """Our stand-in was collected, while the program still holds the source, and may go on with it: without
        us that would have closed nothing.

        ours:  how many references there are without the program's: this object's, the driver's, getrefcount's.
        """
        collected = self.handed is not None and self.handed() is None
        return collected and sys.getrefcount(self.source) > ours

    def end(self, outcome: Outcome) -> Outcome:
        if self.over:
            return outcome
        self.over = True
        return super().end(outcome)

    def __del__(self) -> None:
        if self.over:
            return
        try:
            source = self.source
            if (
                type(source) is types.CoroutineType
                and inspect.getcoroutinestate(source) == "CORO_CREATED"
                and not self.is_shared(ours=4)
            ):
                # The interpreter warned of ours already, which nobody awaited.
                source.close()
            if self.call.given_up is not None:
                self.end(self.call.given_up)
        except BaseException:
            # The collector has nobody to raise to. Whoever halts has noted that he did.
            pass


@types.coroutine
def settled(step: Awaitable[Any]) -> Generator[Any, Any, tuple[Any, GeneratorExit | None]]:
    """Await a step of an async generator → its value, or the GeneratorExit that came out of it.

    One that is thrown in from outside, because the loop throws the whole coroutine away, goes through: only
    then are the scopes of the step attached in a context that is not this one any more.
    """
    awaiting: Any = step.__await__()
    resume, argument = awaiting.send, None
    while True:
        try:
            waited = resume(argument)
        except StopIteration as done:
            return done.value, None
        except GeneratorExit as leaving:
            del step, awaiting, resume, argument  # see Running.step
            return None, leaving
        try:
            argument, resume = (yield waited), awaiting.send
        except GeneratorExit:
            awaiting.close()
            raise
        except BaseException as thrown:
            argument, resume = thrown, awaiting.throw


def begin(mode: Mode, call: Call) -> Running | Outcome:
    """Run the mode up to its Invoke, or to its own answer."""
    flow = mode.cross(call)
    try:
        next(flow)
    except StopIteration as stop:
        decided: Outcome = stop.value
        return decided
    except Exception:
        if mode.fails == "closed":
            raise
        return Running(mode, call, None)
    return Running(mode, call, flow)


async def sleep(seconds: float) -> None:
    """On the loop that runs this: trio's, else asyncio's."""
    trio: Any = sys.modules.get("trio")
    if trio is not None and _is_in(trio):
        await trio.sleep(seconds)
    else:
        import asyncio

        await asyncio.sleep(seconds)


def _is_in(trio: Any) -> bool:
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def is_cancellation(error: BaseException) -> bool:
    """asyncio's and trio's, without importing either; a coroutine thrown away counts too."""
    if isinstance(error, GeneratorExit):
        return True
    for module, name in (("asyncio", "CancelledError"), ("trio", "Cancelled")):
        loaded = sys.modules.get(module)
        cls = getattr(loaded, name, None)
        if isinstance(cls, type) and isinstance(error, cls):
            return True
    return False
