"""A replay on the host's provider: its spans are marked, nested as in life, linked to what was recorded."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import tracetape
from tracetape.errors import DivergenceError
from tracetape.semconv import names


class Host:
    """A program with a tracer provider, whose spans are kept."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("the host's own")

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    @property
    def ours(self) -> list[ReadableSpan]:
        """In the order of their starts."""
        found = [span for span in self.spans if names.BOUNDARY_NAME in (span.attributes or {})]
        return sorted(found, key=lambda span: attributes(span)[names.SEQ])

    def tree(self) -> dict[str, str | None]:
        """The name of each span's parent, by its own name."""
        by_id = {context_of(span).span_id: span.name for span in self.spans}
        return {span.name: by_id[span.parent.span_id] if span.parent else None for span in self.spans}


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Host:
    """As `set_tracer_provider` would have it, which can be called once in a process."""
    host = Host()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", host.provider)
    return host


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def context_of(span: ReadableSpan) -> trace.SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def boundary_of(span: ReadableSpan) -> str:
    return str(attributes(span)[names.BOUNDARY_NAME])


def links_of(span: ReadableSpan) -> list[tuple[str, str]]:
    return [(f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in span.links]


def foreign(name: str) -> Any:
    return trace.get_tracer("another instrumentation").start_as_current_span(name)


@tracetape.boundary("answer", kind="agent")
def answer(question: str) -> str:
    with foreign("SELECT context"):
        return f"{look_up(question)}, {model(question)}"


@tracetape.boundary("look_up", kind="tool")
def look_up(question: str) -> str:
    with foreign("GET /page"):
        return f"page of {question}"


@tracetape.boundary("model", kind="llm", model="m-1")
def model(question: str) -> str:
    with foreign("POST /completions"):
        return f"answer to {question}"


@tracetape.boundary("fail", kind="tool")
def fail(message: str) -> None:
    raise TimeoutError(message)


def request(host: Host, function: Callable[[], Any] = lambda: answer("q")) -> Any:
    with host.tracer.start_as_current_span("POST /chat"):
        return function()


@pytest.fixture
def recorded(tmp_path: Path, host: Host) -> Path:
    return record(tmp_path / "run.jsonl", host, request)


def record(path: Path, host: Host, program: Callable[[Host], Any]) -> Path:
    with tracetape.record(path):
        program(host)
    host.exporter.clear()
    return path


def expected_links(recording: tracetape.Recording, spans: list[ReadableSpan]) -> list[list[tuple[str, str]]]:
    """For spans of calls that came in the recorded order."""
    by_name: dict[str, Iterator[tracetape.Crossing]] = {}
    for crossing in recording.crossings:
        by_name.setdefault(
            crossing.boundary, iter([one for one in recording.crossings if one.boundary == crossing.boundary])
        )
    return [[(recording.trace_id, next(by_name[boundary_of(span)]).span_ids[0])] for span in spans]


SERVED = {"invoke_agent answer": "POST /chat", "POST /chat": None}
LIVE = {
    "invoke_agent answer": "POST /chat",
    "SELECT context": "invoke_agent answer",
    "execute_tool look_up": "SELECT context",
    "chat m-1": "SELECT context",
    "POST /chat": None,
}
GET = {"GET /page": "execute_tool look_up"}
POST = {"POST /completions": "chat m-1"}


@pytest.mark.parametrize(
    ("live", "tree", "modes"),
    [
        ([], SERVED, ["stub"]),
        (["answer"], LIVE, ["live", "stub", "stub"]),
        (["answer", "look_up"], LIVE | GET, ["live", "live", "stub"]),
        (["answer", "look_up", "model"], LIVE | GET | POST, ["live", "live", "live"]),
    ],
)
def test_each_call_has_a_span_that_is_marked_nested_right_and_linked(
    recorded: Path, host: Host, live: list[str], tree: dict[str, str | None], modes: list[str]
) -> None:
    with tracetape.replay(recorded, live=live, strict=True) as tape:
        assert request(host) == "page of q, answer to q"
    assert tape.report.verdict == "same"
    assert host.tree() == tree
    assert [attributes(span)[names.REPLAY_MODE] for span in host.ours] == modes
    assert [links_of(span) for span in host.ours] == expected_links(tape.recording, host.ours)
    assert {links[0][0] for links in map(links_of, host.ours)} == {tape.recording.trace_id}
    assert len({context_of(span).trace_id for span in host.spans}) == 1
    assert f"{context_of(host.spans[0]).trace_id:032x}" != tape.recording.trace_id
    assert all(span.status.status_code is StatusCode.UNSET for span in host.spans)


def test_a_span_of_a_replay_says_what_one_of_a_recording_says(recorded: Path, host: Host) -> None:
    with tracetape.replay(recorded):
        request(host)
    [span] = host.ours
    told = attributes(span)
    crossing = tracetape.load(recorded)["answer", 1]
    assert crossing.input is not None
    assert crossing.output is not None
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == names.SCOPE_NAME
    assert told[names.INPUT_VALUE] == crossing.input.text
    assert told[names.OUTPUT_VALUE] == crossing.output.text
    assert told[names.OUTCOME_TYPE] == "returned"
    assert told[names.BOUNDARY_KIND] == "agent"
    assert told[names.GEN_AI_OPERATION] == "invoke_agent"
    assert span.start_time is not None
    assert crossing.ended is not None
    assert span.start_time >= crossing.ended  # the times are the replay's


def test_the_values_of_a_patched_and_of_a_repaired_call_are_the_new_ones(recorded: Path, host: Host) -> None:
    plan = tracetape.ReplayPlan().live("answer").patch("look_up", 1, "another page")
    with tracetape.replay(recorded, plan):
        assert request(host) == "another page, answer to q"
    told = {boundary_of(span): attributes(span) for span in host.ours}
    assert told["look_up"][names.REPLAY_MODE] == "patched"
    assert told["look_up"][names.OUTPUT_VALUE] == '"another page"'
    assert told["answer"][names.OUTPUT_VALUE] == '"another page, answer to q"'


def test_a_call_that_the_recording_does_not_have_is_linked_to_nothing(recorded: Path, host: Host) -> None:
    with tracetape.replay(recorded, live=["look_up"]) as tape:
        request(host)
        look_up("something new")
    [_, new] = host.ours
    assert tape["look_up", "new@1"].mode == "live"
    assert (attributes(new)[names.REPLAY_MODE], links_of(new)) == ("live", [])


def test_without_a_span_around_them_outermost_calls_are_traces_of_their_own(recorded: Path, host: Host) -> None:
    with tracetape.replay(recorded, live=["answer"]):
        answer("q")
    [outer, *inner] = host.ours
    assert outer.parent is None
    assert {context_of(span).trace_id for span in inner} == {context_of(outer).trace_id}


def test_emit_false_makes_no_span_of_ours(recorded: Path, host: Host) -> None:
    with tracetape.replay(recorded, live=["answer"], emit=False):
        request(host)
    assert host.ours == []
    assert host.tree() == {"SELECT context": "POST /chat", "POST /chat": None}


def test_nothing_is_current_any_more_after_a_replay(recorded: Path, host: Host) -> None:
    with tracetape.replay(recorded, live=["answer", "look_up"]):
        request(host)
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_two_replays_are_two_traces_with_links_to_one(recorded: Path, host: Host) -> None:
    for _ in range(2):
        with tracetape.replay(recorded):
            request(host)
    [first, second] = host.ours
    assert context_of(first).trace_id != context_of(second).trace_id
    assert links_of(first) == links_of(second) == [(links_of(first)[0][0], links_of(second)[0][1])]
    assert [attributes(span)[names.REPLAY_MODE] for span in host.ours] == ["stub", "stub"]


def test_two_replays_side_by_side_keep_to_their_own_spans(tmp_path: Path, host: Host) -> None:
    paths = [
        record(tmp_path / f"{n}.jsonl", host, lambda host, n=n: request(host, lambda: answer(f"q{n}")))  # type: ignore[misc]
        for n in range(2)
    ]

    def replay(number: int) -> str:
        with tracetape.replay(paths[number], live=["answer"]) as tape:
            together.wait()
            request(host, lambda: answer(f"q{number}"))
            together.wait()
        return tape.recording.trace_id

    together = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        recorded_ids = list(pool.map(replay, range(2)))
    replayed: dict[str, set[int]] = {}
    for span in host.ours:
        replayed.setdefault(links_of(span)[0][0], set()).add(context_of(span).trace_id)
    assert set(replayed) == set(recorded_ids)
    assert sorted(map(len, replayed.values())) == [1, 1]
    assert len(host.ours) == 6


def test_a_raised_stub_has_the_status_of_the_raised_call(tmp_path: Path, host: Host) -> None:
    def program(host: Host) -> None:
        with pytest.raises(TimeoutError, match="too slow"):
            request(host, lambda: fail("too slow"))

    path = record(tmp_path / "run.jsonl", host, program)
    with tracetape.replay(path):
        program(host)
    [span] = host.ours
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "too slow")
    assert attributes(span)[names.ERROR_TYPE] == "TimeoutError"
    assert attributes(span)[names.REPLAY_MODE] == "stub"
    [event] = span.events
    assert event.name == names.EXCEPTION_EVENT
    assert dict(event.attributes or {}) == {
        names.EXCEPTION_TYPE: "TimeoutError",
        names.EXCEPTION_MESSAGE: "too slow",
    }


def test_a_call_that_halts_is_marked_as_such(recorded: Path, host: Host) -> None:
    with pytest.raises(DivergenceError), tracetape.replay(recorded, live=["answer"]):
        request(host, lambda: answer("another question"))
    assert [(boundary_of(span), attributes(span)[names.REPLAY_MODE]) for span in host.ours] == [
        ("answer", "live"),
        ("look_up", "halted"),
    ]
    assert host.tree()["execute_tool look_up"] == "SELECT context"


def test_a_time_out_that_is_served_leaves_the_status_unset(tmp_path: Path, host: Host) -> None:
    @tracetape.boundary("slow", kind="llm")
    async def slow() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(slow(), 0.01)

    path = record(tmp_path / "run.jsonl", host, lambda host: request(host, lambda: asyncio.run(main())))
    with tracetape.replay(path):
        request(host, lambda: asyncio.run(main()))
    [span] = host.ours
    assert span.status.status_code is StatusCode.UNSET
    assert attributes(span)[names.OUTCOME_TYPE] == "cancelled"


@tracetape.boundary("tokens", kind="llm", model="m-1")
def tokens(count: int) -> Iterator[int]:
    for number in range(count):
        with foreign(f"chunk {number}"):
            pass
        yield number


@tracetape.boundary("atokens", kind="llm", model="m-2")
async def atokens(count: int) -> Any:
    for number in range(count):
        with foreign(f"chunk {number}"):
            await asyncio.sleep(0)
        yield number


async def consume() -> list[int]:
    return [number async for number in atokens(3)]


@pytest.mark.parametrize(
    ("program", "boundary", "name"),
    [(lambda: list(tokens(3)), "tokens", "chat m-1"), (lambda: asyncio.run(consume()), "atokens", "chat m-2")],
)
@pytest.mark.parametrize("mode", ["stub", "live"])
def test_a_stream_is_one_span_with_its_items(
    tmp_path: Path, host: Host, program: Callable[[], list[int]], boundary: str, name: str, mode: str
) -> None:
    path = record(tmp_path / "run.jsonl", host, lambda host: request(host, program))
    with tracetape.replay(path, live=[boundary] if mode == "live" else []):
        assert request(host, program) == [0, 1, 2]
    [span] = host.ours
    assert attributes(span)[names.REPLAY_MODE] == mode
    assert attributes(span)[names.OUTCOME_TYPE] == "streamed"
    assert attributes(span)[names.STREAM_END] == "finished"
    assert attributes(span)[names.STREAM_ITEM_COUNT] == 3
    chunks = {f"chunk {number}": name for number in range(3)} if mode == "live" else {}
    assert host.tree() == {name: "POST /chat", "POST /chat": None} | chunks


@tracetape.boundary("visit", kind="agent")
async def visit(number: int) -> str:
    await asyncio.sleep(0)
    with foreign(f"visit {number}"):
        await asyncio.sleep(0)
        return await asyncio.to_thread(look_up, f"q{number}")


def test_concurrent_calls_nest_each_under_its_own(tmp_path: Path, host: Host) -> None:
    async def main() -> list[str]:
        return list(await asyncio.gather(*(visit(number) for number in range(5))))

    path = record(tmp_path / "run.jsonl", host, lambda host: request(host, lambda: asyncio.run(main())))
    with tracetape.replay(path, live=["visit"]) as tape:
        assert request(host, lambda: asyncio.run(main())) == [f"page of q{number}" for number in range(5)]
    assert tape.report.verdict == "same"
    by_id = {context_of(span).span_id: span for span in host.spans}
    for number in range(5):
        question = f'{{"question":"q{number}"}}'
        [inner] = [one for one in host.ours if attributes(one).get(names.INPUT_VALUE) == question]
        assert inner.parent is not None
        middle = by_id[inner.parent.span_id]
        assert middle.name == f"visit {number}"
        assert middle.parent is not None
        assert attributes(by_id[middle.parent.span_id])[names.INPUT_VALUE] == f'{{"number":{number}}}'


@pytest.mark.parametrize("provider", ["with a provider", "without"])
def test_a_saved_replay_is_a_recording(tmp_path: Path, provider: str, request: pytest.FixtureRequest) -> None:
    host = request.getfixturevalue("host") if provider == "with a provider" else Host()

    def program() -> str:
        with foreign("POST /chat"):
            return answer("q")

    path = record(tmp_path / "run.jsonl", host, lambda host: program())
    plan = tracetape.ReplayPlan().live("answer").patch("look_up", 1, "another page")
    saved = tmp_path / "fixed.otlp.jsonl"
    with tracetape.replay(path, plan) as tape, tracetape.record(saved) as run:
        assert program() == "another page, answer to q"
    recording = tracetape.load(saved)
    assert recording.grade == "exact"
    assert recording.trace_id == run.trace_id != tape.recording.trace_id
    assert [(one.name, one.result) for one in recording.crossings] == [
        ("answer@1", "another page, answer to q"),
        ("look_up@1", "another page"),
        ("model@1", "answer to q"),
    ]
    assert [one.parent and one.parent.name for one in recording.crossings] == [None, "answer@1", "answer@1"]
    told = {
        span.attributes[names.BOUNDARY_NAME]: (
            span.attributes[names.REPLAY_MODE],
            [(link.trace_id, link.span_id) for link in span.links],
        )
        for span in tracetape.read_spans(saved)
        if names.BOUNDARY_NAME in span.attributes
    }
    assert told == {
        name: (mode, [(tape.recording.trace_id, tape.recording[name, 1].span_ids[0])])
        for name, mode in {"answer": "live", "look_up": "patched", "model": "stub"}.items()
    }
    for live in ([], ["answer"]):
        with tracetape.replay(saved, live=live, strict=True) as again:
            assert program() == "another page, answer to q"
        assert again.report.verdict == "same"


def test_a_saved_replay_of_a_saved_replay_is_one_too(recorded: Path, tmp_path: Path, host: Host) -> None:
    source = recorded
    for number in range(3):
        saved = tmp_path / f"saved-{number}.jsonl"
        with tracetape.replay(source, live=["answer"], strict=True), tracetape.record(saved):
            request(host)
        source = saved
    assert tracetape.compare(tracetape.load(recorded), tracetape.load(source)) == []
    spans = [span for span in tracetape.read_spans(source) if names.BOUNDARY_NAME in span.attributes]
    before = tracetape.load(tmp_path / "saved-1.jsonl")
    assert {span.links[0].trace_id for span in spans} == {before.trace_id}


def test_values_stay_off_the_spans_of_a_replay_where_content_is_off(
    recorded: Path, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACETAPE_CONTENT", "off")
    with tracetape.replay(recorded, live=["answer"]):
        assert request(host) == "page of q, answer to q"
    for span in host.ours:
        assert names.INPUT_VALUE not in attributes(span)
        assert names.OUTPUT_VALUE not in attributes(span)
        assert attributes(span)[names.CONTENT] == "off"
        assert len(links_of(span)) == 1


def test_a_provider_that_fails_does_not_reach_the_replay(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, host: Host
) -> None:
    class Failing:
        def get_tracer(self, *args: object, **kwargs: object) -> Any:
            raise RuntimeError("no tracer")

    monkeypatch.setattr(trace, "_TRACER_PROVIDER", Failing())
    with tracetape.replay(recorded) as tape:
        assert answer("q") == "page of q, answer to q"
    assert tape.report.verdict == "same"
