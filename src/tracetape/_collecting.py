"""Whether the collector is at work: then no ContextVar may be set.

`ContextVar.set` is not re-entrant before Python 3.12, where the collector runs in the middle of an allocation: a
finalizer that sets one while another set goes on leaves a context that has lost its values, or kills the process.
"""

from __future__ import annotations

import functools
import gc
import operator
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["is_collecting"]

# What the collector did last; what it has said at its last beginning, to all threads and to that in which it
# began. It is told by functions in C: one in Python would let signal handlers in, which run whatever a program has
# put there.
_phases = OrderedDict.fromkeys(("start", "stop"))
_told: dict[str, object] = {}
_here = threading.local()


def _is_started() -> bool:
    while True:
        try:
            if next(reversed(_phases)) == "stop":
                return False
        except RuntimeError:
            continue  # it has begun or ended in another thread, between the two steps
        return getattr(_here, "start", None) is _told.get("start")


def _never() -> bool:
    return False


is_collecting: Callable[[], bool] = _never
"""Whether the collector is at work in this thread. While a finalizer waits, other threads run."""

if sys.version_info < (3, 12):
    gc.callbacks.append(functools.partial(operator.setitem, _told))
    gc.callbacks.append(functools.partial(setattr, _here))
    gc.callbacks.append(_phases.move_to_end)  # type: ignore[arg-type]  # `last` is any truth
    is_collecting = _is_started
