"""Where in the program a call was made."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import FrameType

__all__ = ["place_of_call"]

_OURS = str(Path(__file__).resolve().parent.parent) + "/"
_LIBRARIES = tuple(f"{path}/" for path in {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def place_of_call() -> str:
    """`agent.py:28, in run`: the nearest line of the program above here; of a library it uses, where there is none
    of its own; "" where nobody is above."""
    nearest: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_OURS, "<frozen")):
            nearest = nearest or frame
            if not file.startswith(_LIBRARIES):
                return _told(frame)
        frame = frame.f_back
    return _told(nearest) if nearest is not None else ""


def _told(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    try:
        path = path.relative_to(Path.cwd())
    except (ValueError, OSError):
        pass  # it is elsewhere, or there is no current folder any more
    return f"{path}:{frame.f_lineno}, in {frame.f_code.co_name}"
