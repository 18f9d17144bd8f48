"""`record`: what a run's file holds, and whose crossings go where."""

from __future__ import annotations

import asyncio
import contextvars
import random
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import RecordingError, UsageError


@tracetape.boundary("step")
def step(number: int) -> int:
    return number


@tracetape.boundary("nested")
def nested(number: int) -> int:
    return step(number) + 1


def in_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def numbers(run: Any) -> list[Any]:
    return [crossing.inputs["number"] for crossing in run.recording.crossings]


def test_crossings_hang_under_each_other_and_under_one_root(tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "run.jsonl", name="the run", attributes={"ticket": "T-1"}) as run:
        nested(1)
        step(2)
    recording = run.recording
    assert [crossing.name for crossing in recording.crossings] == ["nested@1", "step@1", "step@2"]
    assert [child.name for child in recording["nested", 1].children] == ["step@1"]
    assert [crossing.name for crossing in recording.roots] == ["nested@1", "step@2"]
    root = recording.spans[0]
    assert (root.name, root.parent_id, root.attributes["ticket"]) == ("the run", None, "T-1")
    assert {span.trace_id for span in recording.spans} == {run.trace_id}
    assert recording.gaps == ()


def test_a_run_that_raised_says_so_on_its_root(tmp_path: Path) -> None:
    run = tracetape.record(tmp_path / "run.jsonl")
    with pytest.raises(ValueError, match="boom"), run:
        raise ValueError("boom")
    (root,) = tracetape.read_spans(run.path)
    assert (root.status.code, root.status.message) == ("ERROR", "ValueError: boom")


def test_a_raised_crossing_has_an_error_status_and_one_exception_event(tmp_path: Path) -> None:
    @tracetape.boundary("fail")
    def fail() -> None:
        raise TimeoutError("late")

    with tracetape.record(tmp_path / "run.jsonl") as run, pytest.raises(TimeoutError):
        fail()
    span = next(span for span in run.recording.spans if span.name == "fail")
    assert (span.status.code, span.status.message) == ("ERROR", "late")
    assert span.attributes["error.type"] == "TimeoutError"
    (event,) = span.events
    assert event.name == "exception"
    assert event.attributes == {"exception.type": "TimeoutError", "exception.message": "late"}


def test_control_flow_is_no_error(tmp_path: Path) -> None:
    @tracetape.boundary("wait")
    async def wait() -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait(), 0.01)

    with tracetape.record(tmp_path / "run.jsonl") as run:
        asyncio.run(main())
    (crossing,) = run.recording.crossings
    assert crossing.outcome == "cancelled"
    span = next(span for span in run.recording.spans if span.name == "wait")
    assert (span.status.code, span.events) == ("UNSET", ())
    with tracetape.replay(run.path):
        asyncio.run(main())


def test_a_bare_thread_belongs_to_the_only_recording_and_hangs_under_its_root(tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "run.jsonl") as run:
        in_thread(lambda: nested(1))
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(step, range(10, 20)))
    recording = run.recording
    assert sorted(crossing.inputs["number"] for crossing in recording.roots) == [1, *range(10, 20)]
    assert [child.inputs for child in recording["nested", 1].children] == [{"number": 1}]
    assert recording.gaps == ()


def test_nested_recordings_are_both_whole(tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "outer.jsonl") as outer:
        step(1)
        with tracetape.record(tmp_path / "inner.jsonl") as inner:
            step(2)
        step(3)
    assert numbers(outer) == [1, 2, 3]
    assert numbers(inner) == [2]
    assert inner.recording.gaps == outer.recording.gaps == ()


def test_concurrent_recordings_never_mix(tmp_path: Path) -> None:
    async def one(name: str, count: int) -> Any:
        with tracetape.record(tmp_path / f"{name}.jsonl") as run:
            for number in range(count):
                step(number)
                await asyncio.sleep(0)
        return run

    async def main() -> Any:
        return await asyncio.gather(one("a", 3), one("b", 5), outsider())

    async def outsider() -> None:
        for number in range(100, 105):
            step(number)
            await asyncio.sleep(0)

    a, b, _ = asyncio.run(main())
    assert (numbers(a), numbers(b)) == ([0, 1, 2], [0, 1, 2, 3, 4])


def test_a_bare_thread_beside_two_recordings_is_counted_as_a_gap_of_both(tmp_path: Path) -> None:
    runs = [tracetape.record(tmp_path / name) for name in ("a.jsonl", "b.jsonl")]

    def open_both() -> None:
        for run in runs:
            contextvars.copy_context().run(run.__enter__)

    in_thread(open_both)
    in_thread(lambda: step(1))
    for run in runs:
        run.__exit__(None, None, None)
        assert [gap.code for gap in run.recording.gaps] == ["UNPLACED"]
        assert run.recording.gaps[0].text.startswith("1 crossings ran in threads without a context")


def test_it_may_be_left_in_another_context_than_it_was_entered_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tracetape.record(tmp_path / "run.jsonl")
    contextvars.copy_context().run(run.__enter__)
    in_thread(lambda: step(1))
    run.__exit__(None, None, None)
    step(2)
    assert numbers(run) == [1]
    assert caplog.records == []


def test_a_context_of_the_same_thread_that_knows_no_recording_is_counted(tmp_path: Path) -> None:
    """An async fixture enters in a task of its own; a neighbour task is somebody else's. Which of them a call
    is cannot be known: it is not mixed in, and not lost in silence."""
    run = tracetape.record(tmp_path / "run.jsonl")
    contextvars.copy_context().run(run.__enter__)
    step(1)
    run.__exit__(None, None, None)
    assert numbers(run) == []
    assert [gap.code for gap in run.recording.gaps] == ["UNPLACED"]


def test_a_recording_inside_another_trace_is_a_part_of_the_outer_one(tmp_path: Path) -> None:
    """Run where a provider can be set: once per process."""
    program = textwrap.dedent(
        """
        import sys, tracetape
        from opentelemetry import trace
        from opentelemetry.context import Context
        from opentelemetry.sdk.trace import TracerProvider
        trace.set_tracer_provider(TracerProvider())

        @tracetape.boundary("step")
        def step(number):
            return number

        with tracetape.record(sys.argv[1] + "-outer") as outer:
            step(1)
            with trace.get_tracer("host").start_as_current_span("request", context=Context()):
                with tracetape.record(sys.argv[1] + "-inner") as inner:
                    step(2)
        assert inner.trace_id != outer.trace_id
        for run, expected in ((outer, [1, 2]), (inner, [2])):
            recording = run.recording
            assert [one.result for one in recording.crossings] == expected, recording.crossings
            assert recording.gaps == (), recording.gaps
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_program_s_random_stream_is_what_it_was_and_seeded_runs_have_their_own_ids(tmp_path: Path) -> None:
    drawn, ids = [], set()
    for name in ("a", "b"):
        random.seed(1)
        with tracetape.record(tmp_path / name) as run:
            step(1)
            drawn.append(random.random())
        ids.add(run.trace_id)
    random.seed(1)
    assert drawn == [random.random()] * 2
    assert len(ids) == 2


def test_a_result_that_cannot_be_stored_does_not_disturb_the_program(tmp_path: Path) -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    hostile = Hostile()

    @tracetape.boundary("give")
    def give(value: Any) -> Any:
        return value

    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert give(hostile) is hostile
    crossing = run.recording["give", 1]
    assert crossing.grade == "unusable"
    assert [gap.code for gap in crossing.gaps] == ["OPAQUE_VALUE"]


def test_sdk_settings_of_the_host_do_not_reach_the_file(tmp_path: Path) -> None:
    """Run where a provider can be set: once per process."""
    program = textwrap.dedent(
        """
        import sys, tracetape
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        trace.set_tracer_provider(TracerProvider())

        @tracetape.boundary("echo")
        def echo(text):
            return text

        with tracetape.record(sys.argv[1]) as run:
            assert echo("x" * 500) == "x" * 500
        recording = run.recording
        assert recording["echo", 1].result == "x" * 500, recording.crossings
        assert recording.grade == "exact" and not recording.gaps, recording.gaps
        """
    )
    settings = [
        {"OTEL_TRACES_SAMPLER": "always_off"},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100"},
        {"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "8"},
    ]
    for number, environ in enumerate(settings):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / f"{number}.jsonl")],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (environ, done.stderr)


def test_after_a_fork_both_sides_go_on_into_one_readable_file(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, sys, tracetape

        @tracetape.boundary("step")
        def step(number):
            return number

        with tracetape.record(sys.argv[1]):
            step(1)
            child = os.fork()
            step(2 if child else 3)
            if child:
                os.waitpid(child, 0)
        """
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "run.jsonl")], check=True)
    recording = tracetape.load(tmp_path / "run.jsonl")
    assert sorted(crossing.result for crossing in recording.crossings) == [1, 2, 3]
    assert recording.gaps == ()


def test_a_forked_child_that_leaves_through_an_open_call_does_not_end_it(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, sys, tracetape

        @tracetape.boundary("parent")
        def parent():
            if os.fork() == 0:
                sys.exit(0)
            os.wait()
            return "parent"

        with tracetape.record(sys.argv[1]):
            parent()
        """
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "run.jsonl")], check=True)
    recording = tracetape.load(tmp_path / "run.jsonl")
    assert [(crossing.name, crossing.result) for crossing in recording.crossings] == [("parent@1", "parent")]
    assert recording.gaps == ()


def test_an_exception_whose_text_raises_leaves_the_block_as_itself(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    with pytest.raises(Mute), tracetape.record(tmp_path / "run.jsonl") as run:
        step(1)
        raise Mute
    assert numbers(run) == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]


def test_recordings_left_out_of_order_leave_nothing_current(tmp_path: Path) -> None:
    first, second = (tracetape.record(tmp_path / name) for name in ("a.jsonl", "b.jsonl"))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    with tracetape.record(tmp_path / "c.jsonl") as third:
        step(1)
    assert third.trace_id not in (first.trace_id, second.trace_id)
    assert third.recording["step", 1].parent is None


def test_a_call_that_was_left_current_is_not_current_after_the_block(tmp_path: Path) -> None:
    """As an exception out of a signal handler leaves it, where it comes while things are put back."""
    from opentelemetry import context

    inside: list[Any] = []

    @tracetape.boundary("look")
    def look() -> None:
        inside.append(context.get_current())

    outside = context.get_current()
    with tracetape.record(tmp_path / "run.jsonl") as run:
        look()
        context.attach(inside[0])
    assert context.get_current() is outside
    with tracetape.record(tmp_path / "next.jsonl") as following:
        step(1)
    assert following.trace_id != run.trace_id


def test_what_a_function_attaches_for_its_caller_stays(tmp_path: Path) -> None:
    from opentelemetry import baggage, context, trace

    @tracetape.boundary("attach")
    def attach() -> None:
        context.attach(baggage.set_baggage("k", "v"))

    outside = context.get_current()
    try:
        with tracetape.record(tmp_path / "run.jsonl") as run:
            attach()
            assert baggage.get_baggage("k") == "v"
            assert trace.format_span_id(trace.get_current_span().get_span_context().span_id) == run.root_id
            step(1)
        assert run.recording["step", 1].parent is None
    finally:
        context.attach(outside)


def test_a_host_whose_sampler_raises_costs_no_crossing(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys, tracetape
        from opentelemetry import trace
        from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
        from opentelemetry.sdk.trace.sampling import Sampler

        class Raising(Sampler):
            def should_sample(self, *args, **kwargs):
                raise KeyError("sampler")

            def get_description(self):
                return "raising"

        class Ending(SpanProcessor):
            def on_end(self, span):
                raise RuntimeError("processor")

        provider = TracerProvider(sampler=Raising()) if sys.argv[2] == "sampler" else TracerProvider()
        if sys.argv[2] == "processor":
            provider.add_span_processor(Ending())
        trace.set_tracer_provider(provider)

        @tracetape.boundary("step")
        def step(number):
            return number

        with tracetape.record(sys.argv[1]) as run:
            assert step(1) == 1
        recording = run.recording
        assert [one.result for one in recording.crossings] == [1]
        assert recording.gaps == (), recording.gaps
        """
    )
    for which in ("sampler", "processor"):
        done = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / which), which],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def test_what_had_not_ended_with_the_recording_is_a_gap_of_it(tmp_path: Path) -> None:
    @tracetape.boundary("tokens")
    def tokens() -> Any:
        yield from "abc"

    with tracetape.record(tmp_path / "run.jsonl") as run:
        stream = tokens()
        next(stream)
    stream.close()
    assert [gap.code for gap in run.recording.gaps] == ["UNFINISHED"]
    assert run.recording.gaps[0].text.startswith("1 calls or streams had not ended")


def test_attributes_of_the_root_are_made_names_so_that_the_file_can_be_read(tmp_path: Path) -> None:
    with tracetape.record(tmp_path / "run.jsonl", attributes={1: "x"}) as run:  # type: ignore[dict-item]
        pass
    (root,) = tracetape.read_spans(run.path)
    assert root.attributes["1"] == "x"


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda tmp: tracetape.record(5),  # type: ignore[arg-type]
            "record(path) takes the path of a file or folder, not 5",
        ),
        (
            lambda tmp: tracetape.record(tmp / "x", name=5),  # type: ignore[arg-type]
            "record(name=…) takes a str, not 5",
        ),
        (
            lambda tmp: tracetape.record(tmp / "x", mode="rw").__enter__(),
            'mode=\'rw\' is not one of "x" (a new file), "a" (add to it), "w" (empty it first)',
        ),
    ],
)
def test_wrong_use_is_told_in_one_line(tmp_path: Path, use: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        use(tmp_path)
    assert str(caught.value) == message


def test_a_recording_is_made_once_and_inside_a_replay_not_at_all(tmp_path: Path) -> None:
    run = tracetape.record(tmp_path / "run.jsonl")
    with run:
        step(1)
    with pytest.raises(UsageError, match="a recording is made once"), run:
        pass

    def program() -> Any:
        with tracetape.record(tmp_path / "other.jsonl") as inert:
            step(1)
        return inert

    with tracetape.replay(tmp_path / "run.jsonl") as tape:
        inert = tape.run(program)
    assert not (tmp_path / "other.jsonl").exists()
    with pytest.raises(RecordingError, match="nothing is recorded inside a replay"):
        _ = inert.recording
