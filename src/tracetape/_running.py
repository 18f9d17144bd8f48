"""One call on its way through a mode: begun, stepped, ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tracetape.model.call import Call, Flow, Invoke, Mode, Outcome

__all__ = ["BARE", "Running", "begin"]


class _Bare:
    """Runs the function: the innermost mode."""

    fails = "open"

    def cross(self, call: Call) -> Flow:
        outcome = yield Invoke(call)
        return outcome


BARE = _Bare()


class Running:
    """A flow that stands at its Invoke, to be told the outcome."""

    __slots__ = ("call", "flow", "mode")

    def __init__(self, mode: Mode, call: Call, flow: Flow | None) -> None:
        self.mode, self.call, self.flow = mode, call, flow

    def end(self, outcome: Outcome) -> Outcome:
        """What goes to the caller, by the mode's word; the outcome itself where the mode failed open."""
        if self.flow is None:
            return outcome
        try:
            self.flow.send(outcome)
        except StopIteration as stop:
            decided: Outcome = stop.value
            return decided
        except Exception:
            if self.mode.fails == "closed":
                raise
            return outcome
        self.flow.close()
        raise RuntimeError(f"{type(self.mode).__name__}.cross yielded twice for one call")

    def attach(self) -> list[Any]:
        return [scope.attach() for scope in self.call.scopes]

    def detach(self, tokens: list[Any]) -> None:
        for scope, token in zip(reversed(self.call.scopes), reversed(tokens), strict=True):
            scope.detach(token)

    def step(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """One step of the function's own code, with its scopes current."""
        tokens = self.attach()
        try:
            return function(*arguments)
        finally:
            self.detach(tokens)

    async def astep(self, awaitable: Awaitable[Any]) -> Any:
        """The same for a step that may wait. When the loop throws the coroutine away, the scopes were
        attached in a context that is not this one any more, and nothing is left to detach them from."""
        tokens = self.attach()
        try:
            value = await awaitable
        except GeneratorExit:
            raise
        except BaseException:
            self.detach(tokens)
            raise
        self.detach(tokens)
        return value

    def watch(self, item: Any) -> None:
        for watcher in self.call.watchers:
            watcher(item)


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
