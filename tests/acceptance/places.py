"""Reports without the places in the program that they name: whole texts are compared without line numbers."""

from __future__ import annotations

import re

__all__ = ["without_places"]


def without_places(text: str) -> str:
    """Without the lines `called at agent.py:28, in run`."""
    return re.sub(r"\n  called at \S+:\d+, in \S+", "", text)
