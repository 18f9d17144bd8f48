"""What is submitted to a pool of threads during a replay belongs to that replay, also when it is over.

The workers of a pool have no context of who submits, and others submit to the same ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tracetape import _sessions
from tracetape._frames import FrameScope, current_frame
from tracetape._wrapping import when_imported, wrap

__all__ = ["install"]


@functools.cache
def install() -> None:
    """Once, for ever: without an open replay all of it lets through."""
    when_imported("concurrent.futures.thread", _wrap_pool)


def _wrap_pool(module: Any) -> None:
    pool = module.ThreadPoolExecutor
    pool.submit = wrap(pool.submit, _submitting)


def _submitting(submit: Callable[..., Any], pool: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    frame = current_frame()
    session = frame.replay or _sessions.only_replay()
    if session is None or not args:
        return submit(*args, **kwargs)
    function, *rest = args
    return submit(_Belonging(FrameScope(replace(frame, replay=session)), function), *rest, **kwargs)


class _Belonging:
    """A job, run where it belongs; one that brings a context of its own (`asyncio.to_thread`) is not disturbed."""

    __slots__ = ("_function", "_scope")

    def __init__(self, scope: FrameScope, function: Callable[..., Any]) -> None:
        self._scope, self._function = scope, function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        before = self._scope.current()
        self._scope.attach()
        try:
            return self._function(*args, **kwargs)
        finally:
            self._scope.detach(before)
