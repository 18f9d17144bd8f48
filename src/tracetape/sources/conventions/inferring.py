"""Tool calls that left no span, from what the model asked for next to what it was given then."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from tracetape.model.messages import Message, Part, tool_calls_of
from tracetape.model.span import Gap
from tracetape.sources.conventions.automatic_calls import is_google
from tracetape.sources.conventions.errors_in_text import failure_in
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed, place
from tracetape.sources.formats.json_fields import compact

__all__ = ["Inferred", "infer"]

# Tools that frameworks answer themselves: the end of a run.
_OWN = ("final_answer", "final_result")


@dataclass(slots=True)
class Inferred:
    """A tool's run between two model calls.

    asked: the model call whose answer has the call. started, ended: nanoseconds since the epoch; the tool ran
    somewhere between.
    """

    call: Observed
    asked: Observed
    started: int
    ended: int


@dataclass(slots=True)
class _Asked:
    part: Part
    by: Observed
    ended: int


def infer(found: Sequence[Observed]) -> tuple[list[Inferred], list[Gap]]:
    """The runs that no span shows, and a gap for each call whose result nothing shows.

    found: in start order. Arguments come from the model's answer, the result from the input of a later model call,
    joined by the id of the call, else by name and arguments. What a tool's own span lacks is filled in likewise.
    """
    models = [one for one in found if one.kind == "llm"]
    asked = [
        _Asked(part, one, one.span.end_ns or one.span.start_ns)
        for one in models
        if one.answer is not None
        for message in one.answer["messages"][:1]
        for part in tool_calls_of(message)
    ]
    if not asked:
        return [], []
    runs = _Runs([one for one in found if one.kind == "tool"])
    responses = _Responses(models, {one.part.get("id") for one in asked} - {None})
    made: list[Inferred] = []
    gaps: list[Gap] = []
    for one in asked:
        run = runs.take(one)
        if run is not None:
            _name_arguments(run, one.part)
            if run.result is ABSENT and run.failure is None and (given := responses.after(one)) is not None:
                _fill(run, one, given[0])
            continue
        given = responses.after(one)
        if given is None:
            if one.part.get("name") not in _OWN and not one.by.ended_early:
                gaps.append(_no_result(one))
            continue
        response, by = given
        made.append(Inferred(_run_of(one, response), one.by, one.ended, max(one.ended, by.span.start_ns)))
    return made, gaps


class _Runs:
    """The tools' own spans, each of which is the run of one call. Asked in start order."""

    def __init__(self, tools: Sequence[Observed]) -> None:
        self._taken: set[int] = set()
        self._by_id: dict[str, deque[Observed]] = {}
        self._by_name: dict[str, deque[Observed]] = {}
        for one in tools:
            self._by_name.setdefault(one.boundary, deque()).append(one)
            if one.call_id:
                self._by_id.setdefault(one.call_id, deque()).append(one)

    def take(self, asked: _Asked) -> Observed | None:
        call_id = asked.part.get("id")
        found = None
        if isinstance(call_id, str) and call_id in self._by_id:
            found = self._first(self._by_id[call_id], asked, None)
        name = asked.part.get("name")
        if found is None and isinstance(name, str) and name in self._by_name:
            found = self._first(self._by_name[name], asked, call_id)
        if found is not None:
            self._taken.add(id(found))
        return found

    def _first(self, runs: deque[Observed], asked: _Asked, other_than: object) -> Observed | None:
        """other_than: an id that tells; a run with another one is not meant. None: the runs have the call's."""
        began = asked.by.span.start_ns
        while runs and (id(runs[0]) in self._taken or runs[0].span.start_ns < began):
            runs.popleft()
        for one in runs:
            if id(one) in self._taken or (other_than and one.call_id):
                continue
            if one.call_id == asked.part.get("id") or _may_be(one, asked.part):
                return one
        return None


def _may_be(run: Observed, call: Part) -> bool:
    arguments = call.get("arguments")
    if run.inputs is None or run.inputs == arguments:
        return True
    return (
        _is_nameless(run) and isinstance(arguments, dict) and list(run.inputs.values()) == list(arguments.values())
    )


def _is_nameless(run: Observed) -> bool:
    """LangChain hands a tool with one argument the value alone."""
    return run.inputs is not None and list(run.inputs) == ["input"] and isinstance(run.inputs["input"], str)


def _name_arguments(run: Observed, call: Part) -> None:
    arguments = call.get("arguments")
    if _is_nameless(run) and isinstance(arguments, dict) and list(arguments) != ["input"]:
        run.inputs, run.is_whole = arguments, False


class _Responses:
    """What tools gave, as the inputs of model calls have it: by the id of the call; by its name and arguments, for
    those whose ids tell nothing.

    asked: the ids of all calls: a result with one of them is of no other call.
    """

    def __init__(self, models: Sequence[Observed], asked: Collection[object]) -> None:
        self._asked = asked
        self._by_id: dict[str, _InOrder] = {}
        self._by_call: dict[str, _InOrder] = {}
        for one in models:
            messages = () if one.inputs is None else one.inputs.get("messages") or ()
            for part in (_part_of(message) for message in messages if message.get("role") == "tool"):
                if isinstance(part.get("id"), str):
                    self._by_id.setdefault(part["id"], _InOrder()).add(part, one)
            for call, part in _answered(messages):
                self._by_call.setdefault(_signature(call), _InOrder()).add(part, one)

    def after(self, asked: _Asked) -> tuple[Part, Observed] | None:
        """Of the first later model call that has it, with that call."""
        call_id = asked.part.get("id")
        if isinstance(call_id, str) and call_id in self._by_id:
            found = self._by_id[call_id].after(asked.by)
            if found is not None:
                return found
        listed = self._by_call.get(_signature(asked.part))
        found = None if listed is None else listed.after(asked.by)
        return None if found is None or found[0].get("id") in self._asked else found


class _InOrder:
    """Results in the start order of the calls that were given them."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._found: list[tuple[Part, Observed]] = []

    def add(self, part: Part, by: Observed) -> None:
        if self._found and self._found[-1][1] is by:
            self._found[-1] = part, by  # of several such calls the last
        else:
            self._starts.append(by.span.start_ns)
            self._found.append((part, by))

    def after(self, one: Observed) -> tuple[Part, Observed] | None:
        at = bisect_left(self._starts, one.span.start_ns)
        return next((found for found in islice(self._found, at, None) if found[1] is not one), None)


def _answered(messages: Sequence[Message]) -> Iterator[tuple[Part, Part]]:
    """The calls of an input with their results: by id, else by position."""
    for at, message in enumerate(messages):
        calls = tool_calls_of(message) if message.get("role") == "assistant" else []
        behind = _behind(messages, at) if calls else []
        by_id = {part.get("id"): part for part in behind if part.get("id")}
        for number, call in enumerate(calls):
            part = by_id.get(call.get("id"))
            if (
                part is None
                and number < len(behind)
                and behind[number].get("id") not in {c.get("id") for c in calls}
            ):
                part = behind[number]
            if part is not None:
                yield call, part


def _behind(messages: Sequence[Message], at: int) -> list[Part]:
    found = []
    for message in messages[at + 1 :]:
        if message.get("role") != "tool":
            break
        found.append(_part_of(message))
    return found


def _part_of(message: Message) -> Part:
    part: Part = message["parts"][0]
    return part


def _signature(call: Part) -> str:
    return compact([call.get("name"), call.get("arguments")])


def _run_of(asked: _Asked, response: Part) -> Observed:
    made = Observed(
        span=asked.by.span,
        kind="tool",
        boundary=str(asked.part.get("name") or "tool"),
        source=asked.by.source,
        call_id=asked.part.get("id") if isinstance(asked.part.get("id"), str) else None,
    )
    _fill(made, asked, response)
    return made


def _fill(made: Observed, asked: _Asked, response: Part) -> None:
    arguments = asked.part.get("arguments")
    if made.inputs is None:
        made.inputs = arguments if isinstance(arguments, dict) else {"input": arguments}
    value = _unwrapped(response.get("response"), asked.by)
    failure: Failure | None = None
    if response.get("is_error") is True:
        failure = failure_in(value if isinstance(value, str) else str(value), certain=True)
    elif isinstance(value, _Error):
        failure = failure_in(value.text, certain=True)
    elif isinstance(value, str):
        failure = failure_in(value)
    made.gaps = [gap for gap in made.gaps if gap.code not in ("CONTENT_OFF", "CONTENT_NOT_RECORDED")]
    made.gaps.append(
        Gap(
            "FROM_NEXT_INPUT",
            "no span has the tool's result: it is what the next model call was given, its text parsed where it is "
            "JSON" + ("; that it raised is told by the text alone" if failure is not None else ""),
            place(asked.by.span),
        )
    )
    made.failure = failure
    made.result = ABSENT if failure is not None else value


class _Error:
    def __init__(self, text: str) -> None:
        self.text = text


def _unwrapped(value: object, asked: Observed) -> object:
    """Gemini takes objects alone: what else a tool gives is put under `result` or `output`, an error under
    `error` (google.genai.types.FunctionResponse)."""
    if not is_google(asked) or not isinstance(value, dict) or len(value) != 1:
        return value
    [(key, inner)] = value.items()
    if key in ("result", "output"):
        return inner
    return _Error(str(inner)) if key == "error" else value


def _no_result(asked: _Asked) -> Gap:
    return Gap(
        "TOOL_RESULT_MISSING",
        f"the model asked for {asked.part.get('name')!s}, and neither a span of the tool nor a later model call "
        'shows what it gave: give the tool a span (@tracetape.boundary(kind="tool"), or that of a library)',
        place(asked.by.span),
    )
