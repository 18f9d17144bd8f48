"""Ids of spans, from a source of our own."""

from __future__ import annotations

import os
import random

__all__ = ["Ids"]

_random = random.Random(os.urandom(16))  # noqa: S311 (ids need to be unlike, not secret)
os.register_at_fork(after_in_child=lambda: _random.seed(os.urandom(16)))


class Ids:
    """An id generator of the SDK by its methods. The SDK's own draws from the program's `random` stream, so that
    `random.seed(1)` gives every run one trace id, and recording changes what the program draws next."""

    def generate_span_id(self) -> int:
        return _random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        return _random.getrandbits(128) or 1

    def is_trace_id_random(self) -> bool:
        """W3C trace context level 2: the SDK asks in order to set the random flag."""
        return True
