"""The texts of a replay: what happened, what the recording has, what to write to accept it."""

from __future__ import annotations

from collections.abc import Sequence

from tracetape.model.call import BoundarySpec
from tracetape.model.crossing import Crossing
from tracetape.model.plan import PlanEntry
from tracetape.model.report import Difference, Step
from tracetape.replayer.matching import Match
from tracetape.replayer.reporting import Halted
from tracetape.replayer.saying import NAMELESS
from tracetape.replayer.stubs import Stub

__all__ = [
    "DENY_ALL",
    "DICTS",
    "HALF_A_STREAM",
    "OTHER_INSTRUCTIONS",
    "OUTSIDE",
    "PROXY",
    "ambiguous",
    "called_by_teardown",
    "changed",
    "closed",
    "diverged",
    "ended",
    "exhausted",
    "function_failed",
    "halted_elsewhere",
    "in_another_process",
    "inside_live",
    "internal",
    "key_is_opaque",
    "key_not_asked",
    "listed",
    "missing",
    "never_meant",
    "not_cancelled",
    "not_comparable",
    "not_rebuilt",
    "not_stored",
    "nothing_asked",
    "refused",
    "state_changed",
    "unrecorded",
]

_SHOWN = 4
_RENAMED = (
    "if the parameters have other names than the recorded arguments: @boundary(…, input=…) gives them theirs"
)
_WANTED = {"llm": "a conversation or a prompt", "embedding": "a text", "retrieval": "a query"}
_CAUSES = (
    "usual causes: a time, an id or a counter among the inputs; changed code before this call; what a served "
    "function changed in place (an argument, self), since only results are served"
)


def diverged(step: Step, match: Match, used: bool, after_cut: bool, names: str = "") -> str:
    """A call that was not answered. `used`: the nearest recorded one has answered another. names: what the
    recording has calls of, as the end of a sentence."""
    inside = step.parent
    if inside is not None and step.kind in ("tool", "memory"):
        return inside_live(step, inside.name, match.changes)
    if match.kind == "unrecorded":
        return unrecorded(step.name, step.boundary, match.nearest, used, match.changes, names)
    if step.kind == "checkpoint":
        return state_changed(step.name, match.changes, after_cut=after_cut)
    is_foreign = step.recorded is not None and step.recorded.foreign and step.kind not in NAMELESS
    renamed = is_foreign and any(not one.replayed for one in match.changes)
    return changed(step.name, match.changes, match.as_near, after_cut=after_cut, renamed=renamed)


def state_changed(name: str, changes: Sequence[Difference], *, after_cut: bool) -> str:
    where = "after the cut" if after_cut else "before the cut"
    return _lines(
        f"{name}: the program's state is not the recorded one ({where})",
        *_listed(changes),
        "usual causes: changed code before this checkpoint; a time, an id or a counter in the state",
        f"to accept it: ReplayPlan().stub({_quoted(name)}) lists it and goes on; or record the run again",
    )


def changed(
    name: str,
    changes: Sequence[Difference],
    as_near: Sequence[Stub],
    *,
    after_cut: bool,
    renamed: bool = False,
) -> str:
    """renamed: the parameters may have other names than what was recorded."""
    paths = ", ".join(f'"{change.path}"' for change in changes[:_SHOWN]) or '"$"'
    where = "after the cut" if after_cut else "before the cut"
    return _lines(
        f"{name} was called with other inputs than recorded ({where})",
        *_listed(changes),
        *_as_near(as_near),
        _CAUSES,
        *([_RENAMED] if renamed else ()),
        f'to leave a value out: ignore=[{paths}], or record it with tracetape.effect("…", …)',
        f'to accept it: live=["{name}"] runs the real function; '
        f"ReplayPlan().stub({_quoted(name)}) serves the recorded outcome",
    )


def unrecorded(
    name: str, boundary: str, nearest: Stub | None, used: bool, changes: Sequence[Difference], names: str
) -> str:
    """names: what the recording has calls of."""
    if nearest is None:
        like = f"the recording has no call of {boundary} at all{names}"
    else:
        state = "was used up by an earlier call" if used else "is not under this parent"
        same = "with the same inputs" if not changes else "with other inputs"
        like = f"the nearest recorded call is {nearest.crossing.name}, {same}; it {state}"
    return _lines(
        f"{name}: a call that the recording does not have",
        like,
        *_listed(changes),
        "usual causes: a new call or one more round of a loop; or calls in an order that is not that of the "
        "recording, one of which took the answer of another",
        f'to accept it: live=["{boundary}"] runs the real function; or record the run again',
    )


def inside_live(step: Step, parent: str, changes: Sequence[Difference]) -> str:
    patch = f", or patch it with ReplayPlan().patch({_quoted(step.name)}, …)" if step.recorded is not None else ""
    return _lines(
        f"{parent} ran live and asked {step.name} for something that the recording does not have",
        *_listed(changes),
        f'to accept it: run it with live=["{step.boundary}"]{patch}',
    )


def key_not_asked(name: str) -> str:
    return (
        f"key= of {name} was not asked: the recorded calls are another instrumentation's, without its arguments; "
        "what a call says is compared, and input= says what that is"
    )


DICTS = (
    "calls were answered with what the trace has, which are dicts and not the objects of an SDK; answer= of "
    "@boundary says what a function makes of them"
)
HALF_A_STREAM = "it was given what had come of a stream that its consumer left"
OTHER_INSTRUCTIONS = "its system prompt is not the recorded one: system prompts are not compared"


def not_comparable(spec: BoundarySpec) -> str:
    return (
        f"its inputs were not compared, and it was answered in the order of calls: nothing in the arguments of "
        f"{spec.name} is {_WANTED.get(spec.kind, 'known')}; say what it asks with input="
    )


def never_meant(entry: PlanEntry) -> str:
    numbered = (
        "the number is that of the recorded call, whichever function asks for it"
        if entry.occurrence is not None
        else "the program has not called it"
    )
    return _lines(
        f"the plan names {entry.name}, and no call of {entry.boundary} was that one",
        numbered,
        "`tracetape check` lists the recorded calls by name and number; the report, which function each answered",
    )


def missing(crossing: Crossing, *, first: bool) -> str:
    """The causes and cures stand under the first of several only."""
    text = f"{crossing.name} is in the recording and was never called"
    if not first:
        return _lines(text)
    return _lines(
        text,
        "usual causes: a cache (functools.lru_cache), a call made at import time, changed code before it; "
        "the program ended early, or was not run (a coroutine that nobody awaited)",
        "to accept it: make the cut earlier (live=[…] of a call before it), or record the run again",
    )


def nothing_asked(names: str) -> str:
    return _lines(
        "no boundary of the recording was called: nothing was replayed",
        f"the recording has {names}; nothing in this process is marked so",
        "usual causes: another program than the one that was recorded, or its @boundary marks are gone",
    )


def exhausted(name: str) -> str:
    return _lines(
        f"{name} was asked for more than it had given when it was recorded: its consumer had left it",
        "usual causes: changed code that reads the stream further",
        f'to accept it: live=["{name}"] runs the real function',
    )


def not_cancelled(name: str) -> str:
    return _lines(
        f"{name} had been cancelled by its caller when it was recorded, and nobody cancelled it now: it has no "
        "outcome to serve",
        "usual causes: a longer time-out, or none; changed code that waits for it",
        f'to accept it: live=["{name}"] runs the real function; ReplayPlan().patch({_quoted(name)}, …) serves an '
        "outcome",
    )


def not_rebuilt(name: str, why: str) -> str:
    return _lines(
        f"{name}: its recorded outcome cannot be given back",
        why,
        f'to go on without it: live=["{name}"] runs the real function; ReplayPlan().patch({_quoted(name)}, …) '
        "serves another outcome",
    )


def inputs_not_read(name: str, why: str) -> str:
    return _lines(
        f"{name}: cannot be compared with the recorded calls, for what one of them was called with cannot be read",
        why,
        "nothing was run for real",
    )


def not_stored(name: str, path: str, type_name: str) -> str:
    return _lines(
        f"{path} of the outcome of {name} was used, a {type_name}, which could not be stored",
        "to record what the program needs of it: output=… of @boundary, or a boundary around that use of it",
        f'to go on without it: live=["{name}"] runs the real function',
    )


def function_failed(name: str, which: str, error: BaseException) -> str:
    return _lines(
        f"{name}: {which} of its boundary raised {type(error).__name__}: {error}",
        "without it the call cannot be compared with the recording; it gets the arguments by name, and key= gets "
        "those that were recorded too",
    )


def key_is_opaque(name: str) -> str:
    return _lines(
        f"{name}: key= of its boundary gave a value that cannot be stored, and hence not be compared",
        "let it give what identifies the call: a str, a number, a tuple of such",
    )


def listed(name: str, text: str) -> str:
    return _lines(f"{name}: {text} (strict=True makes that a divergence)")


OUTSIDE = "a replay lets nothing out of this machine"
PROXY = "it is a proxy that the environment names, and what it is sent leaves this machine"
DENY_ALL = 'network="deny-all" lets nothing out of this process'


def refused(what: str, address: str, why: str) -> str:
    return _lines(
        f"{what} {address} was refused: {why}",
        "it was tried outside of every boundary that runs live",
        f'to accept it: live=["…"] for the boundary that does it, allow_hosts=["{address}"], or network="allow"',
    )


def ended(name: str, cut: str, recorded: Crossing | None = None) -> str:
    text = f"left the recording at {name}" + (f", after {cut}" if cut else "")
    if recorded is None or recorded.outcome != "unfinished":
        return text
    text += ", which had not ended when the recording did"
    if not recorded.children:
        return text
    return f'{text}; what was recorded inside it is replayed when it runs live: live=["{recorded.boundary}"]'


def ambiguous(name: str) -> str:
    return _lines(
        f"{name} was called in a thread or task that belongs to none of the replays that are open",
        "with several replays open, only the context tells which is meant",
        "start the thread with tracetape.propagate(function), or keep one replay open at a time",
    )


def closed(name: str, source: str) -> str:
    return _lines(
        f"{name} was called after the replay of {source} had ended",
        "a thread, task or generator of that replay was still running",
        "wait for it inside the with block",
    )


def called_by_teardown(name: str) -> str:
    return _lines(
        f"{name} was called after the test's call, while its fixtures were torn down: nothing was run",
        "a replay is open to the end of the test's call",
        "to have that run for real: let the test ask for the fixture before it asks for `tape`",
    )


def halted_elsewhere(halted: Halted) -> str:
    return f"{halted.name} was called in process {halted.pid}, outside of the replay: nothing was run, it halted"


def in_another_process(halted: Halted) -> str:
    program = f", {halted.program}" if halted.program else ""
    return _lines(
        f"{halted.name} was called in another process ({halted.pid}{program}), which the program started",
        "a replay answers the calls of its own process; there, every boundary halts before anything is run",
        "to replay that part: run it in this process or a thread of it, while it is replayed",
        "or mark the function that starts the process, @tracetape.boundary, and record the run again: then its "
        "result is served, and no process is started",
        f'live=["{halted.name}"] does not reach into another process',
    )


def internal(name: str, error: BaseException) -> str:
    return _lines(
        f"{name}: the replay itself failed: {type(error).__name__}: {error}",
        "nothing was run for real; please report this with the recording",
    )


def _quoted(name: str) -> str:
    boundary, _, number = name.rpartition("@")
    return f'"{boundary}", {number}'


def _as_near(stubs: Sequence[Stub]) -> list[str]:
    if not stubs:
        return []
    names = ", ".join(stub.crossing.name for stub in stubs[:_SHOWN])
    more = f" and {len(stubs) - _SHOWN} more" if len(stubs) > _SHOWN else ""
    return [f"or it was {names}{more}: their inputs differ in as much"]


def _listed(changes: Sequence[Difference]) -> list[str]:
    lines = [str(change) for change in changes[:_SHOWN]]
    if len(changes) > _SHOWN:
        lines.append(f"and {len(changes) - _SHOWN} more")
    return lines


def _lines(first: str, *others: str) -> str:
    return "\n".join((f"DIVERGED: {first}", *(f"  {line}" for line in others)))
