"""Tool calls that left no span, from what the model asked for next to what it was given then."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tracetape.model.messages import Part, tool_calls_of
from tracetape.model.span import Gap
from tracetape.sources.conventions.automatic_calls import is_google
from tracetape.sources.conventions.errors_in_text import failure_in
from tracetape.sources.conventions.observed import ABSENT, Failure, Observed, loaded, place
from tracetape.sources.conventions.tool_results import AnswersTold, ToolResults, numbered, said

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
    number: int
    by: Observed
    ended: int


def infer(found: Sequence[Observed]) -> tuple[list[Inferred], list[Gap]]:
    """The runs that no span shows, and a gap for each call whose result nothing shows.

    found: in start order. Arguments come from the model's answer, the result from the input of a later model call,
    joined by the id of the call, else by name and arguments. What a tool's own span lacks is filled in likewise.
    """
    models = [one for one in found if one.kind == "llm"]
    told = AnswersTold(models)
    asked = [
        _Asked(part, number, one, one.span.end_ns or one.span.start_ns)
        for one in models
        for message in (one.answer["messages"][:1] if one.answer is not None else told.after(one))
        for part, number in numbered(tool_calls_of(message))
    ]
    if not asked:
        return [], []
    repeated = {one for one, count in Counter(one.part.get("id") for one in asked).items() if count > 1}
    runs = _Runs([one for one in found if one.kind == "tool"], repeated)
    results = ToolResults(models, {one.part.get("id") for one in asked} - {None})
    made: list[Inferred] = []
    gaps: list[Gap] = []
    for one in asked:
        run = runs.take(one)
        if run is not None:
            _name_arguments(run, one.part)
            if run.result is not ABSENT or run.failure is not None:
                continue
        given = results.after(one.part, one.number, one.by)
        if given is not None and run is None and _is_handoff(one.part, given.part):
            continue
        if given is None:
            if run is None and one.part.get("name") not in _OWN and not one.by.ended_early:
                gaps.append(_no_result(one))
        elif run is not None:
            _fill(run, one, given.part)
        else:
            ended = max(one.ended, given.by.span.start_ns)
            made.append(Inferred(_run_of(one, given.part), one.by, one.ended, ended))
    return made, gaps


def _is_handoff(call: Part, response: Part) -> bool:
    """Whether it is how OpenAI's Agents SDK tells the model that another agent goes on: no tool runs."""
    if not str(call.get("name")).startswith("transfer_"):
        return False
    value = response.get("response")
    value = loaded(value) if isinstance(value, str) else value
    return isinstance(value, dict) and list(value) == ["assistant"]


class _Runs:
    """The tools' own spans, each of which is the run of one call. Asked in start order.

    repeated: ids that several calls have, which tell nothing by themselves.
    """

    def __init__(self, tools: Sequence[Observed], repeated: Collection[object]) -> None:
        self._repeated = repeated
        self._taken: set[int] = set()
        self._by_id: dict[str, deque[Observed]] = {}
        # By name and arguments, of which a span may not tell.
        self._by_name: dict[tuple[str, str | None], deque[Observed]] = {}
        self._without_id: dict[tuple[str, str | None], deque[Observed]] = {}
        for one in tools:
            told = None if one.inputs is None or _is_nameless(one) else said(dict(one.inputs))
            self._by_name.setdefault((one.boundary, told), deque()).append(one)
            if one.call_id:
                self._by_id.setdefault(one.call_id, deque()).append(one)
            else:
                self._without_id.setdefault((one.boundary, told), deque()).append(one)

    def take(self, asked: _Asked) -> Observed | None:
        call_id, name = asked.part.get("id"), str(asked.part.get("name"))
        # Of a call with an id that tells, a run with another one is not meant.
        named = self._without_id if isinstance(call_id, str) and not _is_of_item(call_id) else self._by_name
        found = (
            self._first(self._by_id.get(str(call_id)), asked)
            or self._first(named.get((name, said(asked.part.get("arguments")))), asked)
            or self._first(named.get((name, None)), asked)
        )
        if found is not None:
            self._taken.add(id(found))
        return found

    def _first(self, runs: deque[Observed] | None, asked: _Asked) -> Observed | None:
        if not runs:
            return None
        began = asked.by.span.start_ns
        while runs and (id(runs[0]) in self._taken or runs[0].span.start_ns < began):
            runs.popleft()
        for one in runs:
            if id(one) in self._taken:
                continue
            has_its_id = one.call_id is not None and one.call_id == asked.part.get("id")
            is_told = has_its_id and one.call_id not in self._repeated and one.boundary == asked.part.get("name")
            if is_told or _may_be(one, asked.part):
                return one
        return None


def _is_of_item(call_id: object) -> bool:
    """Whether it is the id of an item of OpenAI's Responses, which Traceloop writes for that of the call."""
    return isinstance(call_id, str) and call_id.startswith("fc_")


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
