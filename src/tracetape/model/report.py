"""What a replay did, as values: steps, divergences, a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tracetape.model.crossing import Crossing
from tracetape.model.printing import escaped_lines

__all__ = ["Difference", "Divergence", "RecordedCall", "Report", "Step"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ. `recorded` and `replayed` are JSON texts, "" where absent."""

    path: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        return f"{self.path}: recorded {self.recorded or '(absent)'}, now {self.replayed or '(absent)'}"


class RecordedCall(Protocol):
    """A call of the recording, at a position from 0, whose crossing is made when it is asked for."""

    @property
    def crossing(self) -> Crossing: ...

    @property
    def position(self) -> int: ...

    @property
    def occurrence(self) -> int: ...


@dataclass(slots=True, eq=False)
class Step:
    """One call of the replay.

    numbered:  `new@1` for a call that the recording does not have; else "", for it has the recorded call's number.
    name:      `place_order@1`, or `place_order@new@1`.
    mode:      `stub`, `live`, `patched`, `halted`.
    inputs:    the arguments by name, as they came in the replay: a copy made before the call.
    came_back: gives the result; None where there is none (yet). has_result tells that from a result of None.
    result, error:  how it ended. The result of a stub that returned what JSON has words for is read from the
               recording whenever it is asked for: as it was served, whatever the program has made of it. Raises
               SourceError where the recording's file is no longer what was loaded.
    found:     what it was matched with, or None; it gives the crossing. recorded: that crossing.
    changes:   where its inputs differ from the recorded ones.
    outcome_changes:  of a live one: where its outcome differs from the recorded one.
    notes:     what came back a little different than it was recorded.
    stale:     served after the cut although its inputs differ.
    moved:     served although the recorded one hangs elsewhere.
    """

    boundary: str
    numbered: str = field(repr=False)
    kind: str
    mode: str
    as_came: Callable[[], Mapping[str, Any]] = field(repr=False)
    found: RecordedCall | None = None
    changes: tuple[Difference, ...] = ()
    outcome_changes: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    stale: bool = False
    moved: bool = False
    after_cut: bool = False
    came_back: Callable[[], Any] | None = field(default=None, repr=False)
    error: BaseException | None = None
    parent: Step | None = field(default=None, repr=False)

    @property
    def number(self) -> str:
        return self.numbered or ("" if self.found is None else str(self.found.occurrence))

    @property
    def name(self) -> str:
        return f"{self.boundary}@{self.number}"

    @property
    def inputs(self) -> Mapping[str, Any]:
        return self.as_came()

    @property
    def has_result(self) -> bool:
        return self.came_back is not None

    @property
    def result(self) -> Any:
        return None if self.came_back is None else self.came_back()

    @property
    def recorded(self) -> Crossing | None:
        return None if self.found is None else self.found.crossing


@dataclass(frozen=True, slots=True)
class Divergence:
    """One way in which the replay (or a second recording) differs from the recording.

    kind:   of a replay: changed, unrecorded, missing, refused, unusable, ambiguous, closed, internal, process
            (a call in another one), and listed (under strict); of two recordings: changed, moved, outcome,
            added, missing.
    name:   `boundary@occurrence`.
    text:   the whole message, for people.
    """

    kind: str
    name: str
    text: str
    changes: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        return self.text

    @property
    def in_brief(self) -> str:
        """One line: what, and the first place that differs."""
        first = self.text.partition("\n")[0].removeprefix("DIVERGED: ")
        return f"{first}: {_brief(self.changes[0])}" if self.changes else first


@dataclass(slots=True, eq=False)
class Report:
    """What the replay did so far. `str()` is for people.

    steps:             in the order in which the calls came.
    divergences:       empty when the verdict is `same`.
    network_attempts:  what the guard refused: `host:port`, or `host:port (its name)` for a lookup.
    loopback:          addresses on this machine that were reached.
    open_connections:  connections that were open when the replay began, or that a live call has left open.
    started:           programs that were started; what they send is not seen.
    unseen:            loaded libraries that have sockets of their own, which are not seen.
    untouched:         recorded calls that nobody made, of names that nothing in this process is marked with.
    renamed_ids:       how many generated ids differ from the recorded ones in what is asked.
    notes:             what else is listed and is no divergence.
    ended:             where the program left the recording, or "".
    """

    source: str
    trace_id: str
    steps: list[Step] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    network_attempts: list[str] = field(default_factory=list)
    loopback: list[str] = field(default_factory=list)
    open_connections: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)
    renamed_ids: int = 0
    notes: list[str] = field(default_factory=list)
    ended: str = ""

    @property
    def verdict(self) -> str:
        """`same`, `diverged`, or `ended` where the program left the recording after the cut."""
        if self.divergences:
            return "diverged"
        return "ended" if self.ended else "same"

    @property
    def stale(self) -> list[Step]:
        """The steps that were served although what they were asked had changed, after the cut."""
        return [step for step in self.steps if step.stale]

    @property
    def live_calls(self) -> list[Step]:
        """The steps in which the real function ran."""
        return [step for step in self.steps if step.mode == "live"]

    @property
    def model_calls(self) -> int:
        """How many boundaries of kind llm or embedding ran for real."""
        return sum(step.kind in ("llm", "embedding") for step in self.live_calls)

    @property
    def first_line(self) -> str:
        modes = Counter(step.mode for step in self.steps)
        parts = [f"{modes['live']} live", f"{modes['stub']} served"]
        if modes["patched"]:
            parts.append(f"{modes['patched']} patched")
        parts.append(f"{len(self.stale)} stale")
        n = len(self.divergences)
        parts.append(f"{n} divergence" + ("" if n == 1 else "s"))
        parts.append(f"model calls: {self.model_calls}")
        others = sum(step.mode == "live" and bool(step.changes) and not step.after_cut for step in self.steps)
        if others:
            parts.append(f"live with other inputs: {others}")
        if self.untouched:
            parts.append(f"untouched: {len(self.untouched)}")
        if self.renamed_ids:
            parts.append(f"renamed ids: {self.renamed_ids}")
        if self.network_attempts:
            parts.append(f"connections refused: {len(self.network_attempts)}")
        diverged = " DIVERGED" if self.divergences else ""
        return f"replay of {self.source}{diverged}: " + ", ".join(parts)

    def __str__(self) -> str:
        lines = [self.first_line]
        if self.ended:
            lines.append(self.ended)
        for divergence in self.divergences:
            several = divergence.text.split("\n")
            lines += [""] * (len(several) > 1) + several
        if self.steps:
            lines.append("")
            width = max(len(step.name) for step in self.steps)
            lines += [f"  {step.name:<{width}}  {describe(step)}" for step in self.steps]
        for address in self.network_attempts:
            name, of_name, _ = address.partition(" (its name)")
            lines.append(f"  refused: {'looking up' if of_name else 'a connection to'} {name}")
        if self.loopback:
            lines.append(f"  reached on this machine: {', '.join(self.loopback)}")
        if self.open_connections:
            lines.append(f"  connections that were open: {', '.join(self.open_connections)}")
        if self.started:
            lines.append(f"  started, and not seen what they send: {', '.join(self.started)}")
        if self.unseen:
            lines.append(f"  not seen, for their sockets are their own: {', '.join(self.unseen)}")
        if self.untouched:
            lines.append(f"  untouched, for nothing here is marked so: {', '.join(self.untouched)}")
        lines += [f"  {note}" for note in self.notes]
        return escaped_lines("\n".join(lines))


def describe(step: Step) -> str:
    """The words behind a step's name."""
    words = [step.mode, *step.notes]
    if step.stale:
        words.append("stale: its inputs differ, after the cut")
    elif step.changes and step.mode != "halted":
        words.append("its inputs differ")
    if step.moved:
        words.append("moved")
    if step.found is None and step.mode == "live":
        words.append("not in the recording")
    text = words[0] + ("  " + "; ".join(words[1:]) if len(words) > 1 else "")
    shown = step.outcome_changes or (step.changes if step.mode != "halted" else ())
    if shown:
        what = "outcome " if step.outcome_changes and shown[0].path != "outcome" else ""
        more = f" (and {len(shown) - 1} more)" if len(shown) > 1 else ""
        text += f"  {what}{_brief(shown[0])}{more}"
    return text


def _brief(change: Difference) -> str:
    recorded, replayed = (
        side if len(side) <= _BRIEF else side[: _BRIEF - 1] + "…" for side in (change.recorded, change.replayed)
    )
    return str(Difference(change.path, recorded, replayed))


_BRIEF = 48
