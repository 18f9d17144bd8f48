"""Every error of tracetape, drawn as a tree.

    TracetapeError                      has a `code`; its text says what, where, expected, next
    ├── UsageError                      a call of ours was wrong (arguments, plan, paths)
    │   └── PlanError                   a plan names what the recording does not have
    ├── RecordingError                  a recording could not be opened for writing
    ├── SourceError                     a source could not be read or understood
    │   ├── FormatError                 the bytes are not in a form that we read
    │   ├── TraceSelectionError         no such trace, or several and none asked for
    │   └── TraceStructureError         the spans contradict each other
    ├── ValueNotRebuilt                 a stored value cannot be given back as it was
    ├── NotReplayable                   a recording that a replay cannot start from
    ├── RecordingEnded                  the program left the recording after the cut
    └── DivergenceError                 the replay differs from the recording (also an AssertionError)

    RecordedError                       stands in for a recorded exception whose class is not at hand

What unwinds a program inside a replay is `replayer.session.Halt`, a BaseException that no user catches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracetape.model.report import Report

__all__ = [
    "DivergenceError",
    "FormatError",
    "NotReplayable",
    "PlanError",
    "RecordedError",
    "RecordingEnded",
    "RecordingError",
    "SourceError",
    "TraceSelectionError",
    "TraceStructureError",
    "TracetapeError",
    "UsageError",
    "ValueNotRebuilt",
]


class TracetapeError(Exception):
    """The base of every error of ours.

    `code` is a short stable word in capitals, made for programs; the text is made for people.
    """

    code: str = "ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        if code is not None:
            self.code = code


class UsageError(TracetapeError):
    """A call of ours was wrong: an argument, a name, a path."""

    code = "USAGE"


class PlanError(UsageError):
    """A plan names a boundary or an occurrence that is not there."""

    code = "UNKNOWN_BOUNDARY"


class RecordingError(TracetapeError):
    """A recording could not be opened for writing. Raised before the program runs."""

    code = "CANNOT_RECORD"


class SourceError(TracetapeError):
    """A source could not be read or understood."""

    code = "UNREADABLE"


class FormatError(SourceError):
    """The bytes are not in a form that we read, or break the rules of the form they are in."""

    code = "NOT_JSON"


class TraceSelectionError(SourceError):
    """The source has no such trace, or several of which none was asked for."""

    code = "TRACE_NOT_FOUND"


class TraceStructureError(SourceError):
    """The spans contradict each other: a cycle, or one id with two contents."""

    code = "CONFLICTING_SPAN"


class ValueNotRebuilt(TracetapeError):
    """A stored value cannot be given back as it was: opaque, cut off, or its class is not at hand."""

    code = "VALUE_NOT_REBUILT"


class NotReplayable(TracetapeError):
    """The recording lacks what a replay under this plan needs. Raised before the program runs."""

    code = "NOT_REPLAYABLE"


class RecordingEnded(TracetapeError):
    """After the cut the program went where the recording does not reach.

    No divergence: wrap the program's part of a test in `tape.run(…)`, which returns `tracetape.ENDED`
    there, so that the assertions after it still run.
    """

    code = "RECORDING_ENDED"


class DivergenceError(TracetapeError, AssertionError):
    """The replay differs from the recording. `.report` holds every step and divergence."""

    code = "DIVERGED"

    def __init__(self, message: str, *, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class RecordedError(Exception):
    """Stands in for a recorded exception whose class cannot be found in this process.

    `type_name` is the recorded class as `module:qualname`; the text is the recorded text.
    """

    def __init__(self, type_name: str, text: str) -> None:
        super().__init__(f"{type_name}: {text}" if text else type_name)
        self.type_name = type_name
        self.text = text
