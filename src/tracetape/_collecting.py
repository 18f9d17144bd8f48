"""Whether the collector is at work: then no ContextVar may be set.

`ContextVar.set` is not re-entrant before Python 3.12, where the collector runs in the middle of an allocation: a
finalizer that sets one while another set goes on leaves a context that has lost its values, or kills the process.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Callable

__all__ = ["is_collecting"]

# By what the collector did last. It is told by a method in C: a function in Python would let signal handlers in,
# and those run whatever a program has put there.
_phases = OrderedDict.fromkeys(("start", "stop"))


def _is_started() -> bool:
    while True:
        try:
            return next(reversed(_phases)) == "start"
        except RuntimeError:
            pass  # the collector has begun or ended in another thread, between the two steps


def _never() -> bool:
    return False


is_collecting: Callable[[], bool] = _never
if sys.version_info < (3, 12):
    gc.callbacks.append(_phases.move_to_end)  # type: ignore[arg-type]  # `last` is any truth
    is_collecting = _is_started
