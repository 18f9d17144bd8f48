"""`replay`: what leaves the block, what is served, what is refused before the run."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import (
    DivergenceError,
    NotReplayable,
    PlanError,
    RecordingEnded,
    UsageError,
)
from tracetape.replayer.watching import Watch


@tracetape.boundary("plan", kind="llm")
def plan(goal: str) -> str:
    return f"plan for {goal}"


@tracetape.boundary("act", kind="tool")
def act(step: str) -> str:
    return f"did {step}"


@tracetape.boundary("inner", kind="tool")
def inner(step: str) -> str:
    return f"inner {step}"


@tracetape.boundary("outer", kind="agent")
def outer(step: str, extra: str = "") -> str:
    return inner(step + extra)


def program(goal: str = "g", step: str = "s") -> str:
    plan(goal)
    return act(step)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    with tracetape.record(path):
        program()
    return path


def record(path: Path, function: Callable[[], Any]) -> Path:
    with tracetape.record(path):
        function()
    return path


class TestLeaving:
    def test_a_changed_call_is_told_with_the_path_both_values_and_the_line_to_write(self, recorded: Path) -> None:
        def agent() -> None:
            act("other")

        caller = f"{Path(os.path.relpath(__file__))}:{agent.__code__.co_firstlineno + 1}, in agent"
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded) as tape:
            plan("g")
            agent()
        assert str(caught.value) == (
            f"replay of {recorded} DIVERGED: 0 live, 1 served, 0 stale, 1 divergence, model calls: 0\n"
            "\n"
            "DIVERGED: act@1 was called with other inputs than recorded (before the cut)\n"
            '  $.step: recorded "s", now "other"\n'
            "  usual causes: a time, an id or a counter among the inputs; changed code before this call; what a "
            "served function changed in place (an argument, self), since only results are served\n"
            '  to leave a value out: ignore=["$.step"], or record it with tracetape.effect("…", …)\n'
            '  to accept it: live=["act@1"] runs the real function; ReplayPlan().stub("act", 1) serves the '
            "recorded outcome\n"
            f"  called at {caller}\n"
            "\n"
            "  plan@1  stub\n"
            "  act@1   halted"
        )
        assert caught.value.report is tape.report
        assert tape.report.divergences[0].kind == "changed"

    def test_an_unrecorded_call_names_the_nearest_and_that_it_was_used_up(self, recorded: Path) -> None:
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded):
            program()
            act("s")
        assert (
            "DIVERGED: act@new@1: a call that the recording does not have\n"
            "  the nearest recorded call is act@1, with the same inputs; it was used up by an earlier call\n"
        ) in str(caught.value)

    def test_missing_calls_are_told_with_their_causes_once(self, recorded: Path) -> None:
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded) as tape:
            pass
        assert [divergence.name for divergence in tape.report.divergences] == ["plan@1", "act@1"]
        assert str(caught.value).count("usual causes") == 1
        assert "DIVERGED: act@1 is in the recording and was never called" in str(caught.value)

    @pytest.mark.parametrize("swallow", ["Exception", "BaseException", "other", "SystemExit"])
    def test_nothing_that_leaves_the_block_hides_a_divergence(self, recorded: Path, swallow: str) -> None:
        with pytest.raises(DivergenceError, match="act@1 was called"), tracetape.replay(recorded):
            try:
                program(step="other")
            except Exception:
                pass
            except BaseException:
                if swallow == "Exception":
                    raise
            if swallow == "other":
                raise ValueError("the program's own")
            if swallow == "SystemExit":
                raise SystemExit(0)

    def test_an_interrupt_goes_through_and_the_divergence_is_told_all_the_same(
        self, recorded: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It ends a test session, which a divergence does not."""
        with pytest.raises(KeyboardInterrupt), tracetape.replay(recorded):
            try:
                program(step="other")
            except BaseException:
                raise KeyboardInterrupt from None
        assert "DIVERGED: act@1 was called with other inputs" in capsys.readouterr().err

    def test_after_a_halt_no_code_of_any_boundary_runs(self, recorded: Path) -> None:
        ran = []

        @tracetape.boundary("act")
        def live(step: str) -> None:
            ran.append(step)

        with pytest.raises(DivergenceError), tracetape.replay(recorded, live=["act"]):
            for call in (lambda: plan("other"), lambda: live("s"), lambda: live("t")):
                try:
                    call()
                except BaseException:
                    pass
        assert ran == []

    def test_the_program_s_own_exception_goes_through_with_the_report_as_a_note(self, recorded: Path) -> None:
        error = ValueError("mine")
        with pytest.raises(ValueError) as caught, tracetape.replay(recorded):
            plan("g")
            raise error
        assert caught.value is error
        assert error.__notes__ == [
            f"tracetape: replay of {recorded}: 0 live, 1 served, 0 stale, 0 divergences, model calls: 0"
        ]

    def test_gather_and_task_groups_hide_nothing(self, tmp_path: Path) -> None:
        @tracetape.boundary("aact")
        async def aact(step: str) -> str:
            return step

        async def main(step: str) -> Any:
            return await asyncio.gather(aact("a"), aact(step), return_exceptions=True)

        path = record(tmp_path / "run.jsonl", lambda: asyncio.run(main("b")))
        with pytest.raises(DivergenceError, match=r"aact@2 was called with other inputs"), tracetape.replay(path):
            asyncio.run(main("c"))

    def test_a_thread_s_halt_is_said_at_once_and_ends_the_replay(
        self, recorded: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def worker() -> None:
            try:
                plan("other")
            except BaseException:
                pass

        with pytest.raises(DivergenceError, match="plan@1 was called"), tracetape.replay(recorded):
            thread = threading.Thread(target=worker)
            thread.start()
            thread.join()
        assert capsys.readouterr().err.startswith("tracetape: DIVERGED: plan@1 was called with other inputs")

    def test_a_call_after_the_end_of_its_replay_halts(self, recorded: Path) -> None:
        with tracetape.replay(recorded):
            program()
            context = contextvars.copy_context()
        with pytest.raises(BaseException, match="was called after the replay of") as caught:
            context.run(plan, "g")
        assert not isinstance(caught.value, Exception)
        assert plan("g") == "plan for g"

    def test_it_may_be_left_in_another_context_than_it_was_entered_in(self, recorded: Path) -> None:
        tape = tracetape.replay(recorded)
        contextvars.copy_context().run(tape.__enter__)
        program()
        tape.__exit__(None, None, None)
        assert plan("other") == "plan for other"

    def test_a_thread_of_a_replay_never_runs_for_real_after_it(self, recorded: Path) -> None:
        ran, go, done = [], threading.Event(), threading.Event()

        @tracetape.boundary("order", kind="tool")
        def order() -> None:
            ran.append("for real")

        def worker() -> None:
            go.wait()
            try:
                order()
            except BaseException:
                pass
            done.set()

        with tracetape.replay(recorded):
            program()
            threading.Thread(target=worker).start()
        go.set()
        done.wait()
        assert ran == []
        order()
        assert ran == ["for real"]

    def test_the_guard_stays_shut_after_a_halt_that_a_live_call_swallowed(self, tmp_path: Path) -> None:
        reached = []

        @tracetape.boundary("live")
        def live(step: str) -> None:
            try:
                inner(step)
            except BaseException:
                pass
            with socket.socket() as client:
                sys.audit("socket.connect", client, ("192.0.2.1", 443))
            reached.append(step)

        path = tmp_path / "run.jsonl"
        with tracetape.record(path):
            live("s")
        assert reached == ["s"]
        with pytest.raises(DivergenceError), tracetape.replay(path, live=["live"]):
            live("other")
        assert reached == ["s"]

    def test_an_exception_that_takes_no_note_goes_through_as_it_is(self, recorded: Path) -> None:
        import dataclasses

        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            x: int

        with pytest.raises(Frozen), tracetape.replay(recorded):
            plan("g")
            raise Frozen(1)

    def test_a_signal_handler_may_call_a_boundary_at_any_moment(self, tmp_path: Path) -> None:
        @tracetape.boundary("tick")
        def tick() -> int:
            return 1

        @tracetape.boundary("work")
        def work(n: int) -> int:
            return n

        path = record(
            tmp_path / "run.jsonl", lambda: ([tick() for _ in range(50)], [work(n) for n in range(3_000)])
        )
        ticks: list[int] = []

        def handler(number: int, frame: Any) -> None:
            if len(ticks) < 50:
                ticks.append(tick())

        with tracetape.replay(path, tracetape.ReplayPlan().stub("tick")) as tape:
            before = signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
            try:
                for n in range(3_000):
                    work(n)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            while len(ticks) < 50:
                ticks.append(tick())
        assert len(tape.report.steps) == 3_050


class TestPlan:
    def test_a_stub_by_hand_is_served_whatever_it_was_asked(self, recorded: Path) -> None:
        with tracetape.replay(recorded, tracetape.ReplayPlan().stub("plan", 1)) as tape:
            assert plan("other") == "plan for g"
            act("s")
        assert [str(change) for change in tape["plan", 1].changes] == ['$.goal: recorded "g", now "other"']

    @pytest.mark.parametrize(
        ("patch", "expected"),
        [("value", "value"), (lambda recorded: recorded.upper(), "PLAN FOR G"), (5, 5)],
    )
    def test_a_patch_is_a_value_or_a_function_of_the_recorded_one(
        self, recorded: Path, patch: Any, expected: Any
    ) -> None:
        with tracetape.replay(recorded, tracetape.ReplayPlan().patch("plan", 1, patch)) as tape:
            assert plan("g") == expected
            act("s")
        assert tape["plan", 1].mode == "patched"
        assert tape.captured_result("plan") == expected

    @pytest.mark.parametrize("patch", [TimeoutError("late"), TimeoutError])
    def test_a_patch_may_be_an_exception(self, recorded: Path, patch: Any) -> None:
        with tracetape.replay(recorded, tracetape.ReplayPlan().patch("plan", 1, patch)) as tape:
            with pytest.raises(TimeoutError):
                plan("g")
            act("s")
        with pytest.raises(TimeoutError):
            tape.captured_result("plan", 1)

    def test_a_stream_is_patched_by_its_items(self, tmp_path: Path) -> None:
        @tracetape.boundary("tokens")
        def tokens() -> Any:
            yield from "abc"

        path = record(tmp_path / "run.jsonl", lambda: list(tokens()))
        with tracetape.replay(path, tracetape.ReplayPlan().patch("tokens", 1, "xy")):
            assert list(tokens()) == ["x", "y"]

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda: tracetape.ReplayPlan().live("plam"),
                "the plan names plam, and {path} has no crossing of it; did you mean 'plan'",
            ),
            (
                lambda: tracetape.ReplayPlan().live("plan", 7),
                "the plan names plan@7, and {path} has 1 of plan: the last is plan@1",
            ),
            (
                lambda: tracetape.ReplayPlan().stub("plan", 2),
                "the plan names plan@2, and {path} has 1 of plan: the last is plan@1",
            ),
        ],
    )
    def test_a_plan_that_names_what_is_not_there_is_refused(
        self, recorded: Path, make: Callable[[], tracetape.ReplayPlan], message: str
    ) -> None:
        with pytest.raises(PlanError) as caught:
            tracetape.replay(recorded, make())
        assert str(caught.value).startswith(message.format(path=recorded))

    def test_a_live_function_that_the_recording_does_not_have_may_be_named_once_marked(
        self, recorded: Path
    ) -> None:
        @tracetape.boundary("helper")
        def helper() -> str:
            return "new"

        with tracetape.replay(recorded, live=["helper"]) as tape:
            assert helper() == "new"
            program()
        assert tape["helper", "new@1"].result == "new"
        assert tape["helper", "new@1"].recorded is None

    @pytest.mark.parametrize(
        ("use", "message"),
        [
            (
                lambda path: tracetape.replay(path, ["place_order"]),  # type: ignore[arg-type]
                "the second argument of replay is a ReplayPlan, not list; for names alone write "
                'live=["place_order"]',
            ),
            (
                lambda path: tracetape.replay(path, after_cut="maybe"),
                "after_cut='maybe' is not one of 'serve', 'halt', 'live'",
            ),
            (
                lambda path: tracetape.replay(path, live=[("plan", 1)]),  # type: ignore[list-item]
                "live=[…] takes names such as 'place_order' or 'agent@2', not ('plan', 1)",
            ),
            (
                lambda path: tracetape.ReplayPlan().live("plan", 0),
                "occurrences are counted from 1: plan@0 cannot be",
            ),
        ],
    )
    def test_wrong_use_is_told_in_one_line(self, recorded: Path, use: Any, message: str) -> None:
        with pytest.raises(UsageError) as caught:
            use(recorded)
        assert str(caught.value) == message


class TestAfterTheCut:
    def test_what_was_asked_otherwise_after_the_cut_is_served_and_stale(self, recorded: Path) -> None:
        with tracetape.replay(recorded, live=["plan"]) as tape:
            assert program(goal="new", step="new") == "did s"
        assert [(step.name, step.mode, step.stale) for step in tape.report.steps] == [
            ("plan@1", "live", False),
            ("act@1", "stub", True),
        ]

    def test_strict_and_after_cut_halt_make_that_a_divergence(self, recorded: Path) -> None:
        for options in ({"strict": True}, {"after_cut": "halt"}):
            with pytest.raises(DivergenceError, match=r"other inputs than recorded \(after the cut\)"):
                with tracetape.replay(recorded, live=["plan"], **options):
                    program(step="new")

    def test_after_cut_live_runs_what_changed(self, recorded: Path) -> None:
        with tracetape.replay(recorded, live=["plan"], after_cut="live") as tape:
            assert program(step="new") == "did new"
        assert tape["act", 1].mode == "live"

    def test_a_new_call_after_the_cut_ends_the_recording_and_run_gives_ended(self, recorded: Path) -> None:
        def longer() -> str:
            program()
            return plan("one more")

        with tracetape.replay(recorded, live=["act"]) as tape:
            assert tape.run(longer) is tracetape.ENDED
        assert tape.report.verdict == "ended"
        assert tape.report.ended == "left the recording at plan@new@1, after act@1 ran live"

    def test_ended_holds_for_a_program_that_swallows_it_and_for_coroutines(self, recorded: Path) -> None:
        def swallowing() -> str:
            try:
                program()
                plan("one more")
            except BaseException:
                pass
            return "answer"

        async def asynchronous() -> str:
            return swallowing()

        with tracetape.replay(recorded, live=["act"]) as tape:
            assert tape.run(swallowing) is tracetape.ENDED
        with tracetape.replay(recorded, live=["act"]) as tape:
            assert asyncio.run(tape.run(asynchronous)) is tracetape.ENDED

    def test_in_a_bare_block_it_fails_and_says_what_to_write(self, recorded: Path) -> None:
        with pytest.raises(RecordingEnded, match=r"Wrap the program's part in tape\.run"):
            with tracetape.replay(recorded, live=["act"]):
                program()
                plan("one more")

    def test_a_tool_inside_a_live_call_that_asks_for_something_else_halts(self, tmp_path: Path) -> None:
        path = record(tmp_path / "run.jsonl", lambda: outer("s"))
        with tracetape.replay(path, live=["outer"]) as tape:
            assert outer("s") == "inner s"
        assert tape["inner", 1].mode == "stub"
        with (
            pytest.raises(
                DivergenceError,
                match="outer@1 ran live and asked inner@1 for something that the recording does not",
            ),
            tracetape.replay(path, live=["outer"]),
        ):
            outer("s", extra="!")

    def test_a_call_not_made_after_the_cut_is_listed_alone(self, recorded: Path) -> None:
        with tracetape.replay(recorded, live=["plan"]) as tape:
            plan("g")
        assert tape.report.verdict == "same"
        assert tape.report.notes == ["not called after the cut: act@1"]

    def test_ended_comes_out_of_a_task_group_and_before_the_program_s_own_error(self, recorded: Path) -> None:
        async def grouped() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(asynchronous())

        async def asynchronous() -> None:
            program()
            plan("one more")

        def failing() -> None:
            try:
                asyncio.run(asynchronous())
            except BaseException:
                raise ValueError("in vain") from None

        with tracetape.replay(recorded, live=["act"]) as tape:
            assert tape.run(lambda: asyncio.run(grouped())) is tracetape.ENDED
        with tracetape.replay(recorded, live=["act"]) as tape:
            assert tape.run(failing) is tracetape.ENDED

    def test_a_saved_replay_has_nothing_of_what_unwound_it(self, tmp_path: Path) -> None:
        @tracetape.boundary("agent")
        def agent(extra: bool) -> None:
            plan("g")
            if extra:
                plan("one more")

        path = record(tmp_path / "run.jsonl", lambda: agent(False))
        with tracetape.replay(path, live=["agent"]) as tape, tracetape.record(tmp_path / "saved.jsonl") as run:
            assert tape.run(agent, True) is tracetape.ENDED
        assert b"EndOfRecording" not in run.path.read_bytes()

    def test_a_live_call_inside_a_served_one_makes_no_cut_and_is_said_to_have_not_run(
        self, tmp_path: Path
    ) -> None:
        path = record(tmp_path / "run.jsonl", lambda: (outer("s"), plan("g")))
        with tracetape.replay(path, live=["inner"]) as tape:
            outer("s")
            plan("g")
        assert tape.report.notes == ["inner never ran live: it was not called, or inside a call that was served"]
        with pytest.raises(DivergenceError, match="before the cut"), tracetape.replay(path, live=["inner"]):
            outer("s")
            plan("other")

    def test_what_a_served_call_did_in_bare_threads_is_not_missing(self, tmp_path: Path) -> None:
        @tracetape.boundary("pooled")
        def pooled(step: str) -> str:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(inner, step).result()

        path = record(tmp_path / "run.jsonl", lambda: pooled("s"))
        with tracetape.replay(path) as tape:
            assert pooled("s") == "inner s"
        assert tape.report.verdict == "same"
        assert tape.report.notes == ["not called: inner@1, made by a thread of a served call"]


class TestStrict:
    @pytest.mark.parametrize("listed", ["moved", "stubbed", "refused"])
    def test_whatever_would_only_be_listed_is_a_divergence(self, tmp_path: Path, listed: str) -> None:
        path = record(tmp_path / "run.jsonl", lambda: (outer("s"), plan("g")))

        def run() -> None:
            if listed == "moved":
                inner("s")
            outer("s")
            plan("other" if listed == "stubbed" else "g")
            if listed == "refused":
                thread = threading.Thread(target=reach_out)
                thread.start()
                thread.join()

        def reach_out() -> None:
            with socket.socket() as client:
                try:
                    client.connect(("192.0.2.1", 443))
                except ConnectionRefusedError:
                    pass

        stubbed = tracetape.ReplayPlan().stub("plan")
        with tracetape.replay(path, stubbed) as tape:
            run()
        assert tape.report.verdict == "same"
        with (
            pytest.raises(DivergenceError, match="strict=True makes that a divergence"),
            tracetape.replay(path, stubbed, strict=True) as tape,
        ):
            run()
        assert {one.kind for one in tape.report.divergences} == {"listed"}


class TestServing:
    def test_the_use_of_what_was_not_stored_halts_whatever_swallows_it(self, tmp_path: Path) -> None:
        @tracetape.boundary("connect")
        def connect() -> dict[str, Any]:
            return {"client": object(), "name": "c"}

        def use() -> str:
            found = connect()
            try:
                found["client"].send()
            except Exception:
                return "another path"
            return str(found["name"])

        path = record(tmp_path / "run.jsonl", use)
        assert tracetape.load(path).grade == "rebuilt"
        with tracetape.replay(path) as tape:
            assert connect()["name"] == "c"
        with pytest.raises(DivergenceError) as caught, tracetape.replay(path) as tape:
            use()
        assert tape.report.divergences[0].kind == "unusable"
        assert (
            "DIVERGED: $.client of the outcome of connect@1 was used, a builtins:object, "
            "which could not be stored\n"
        ) in str(caught.value)

    def test_a_served_generator_may_be_sent_to(self, tmp_path: Path) -> None:
        @tracetape.boundary("talk")
        def talk() -> Any:
            yield 1
            yield 2

        def program() -> Any:
            stream = talk()
            return next(stream), stream.send("x")

        path = record(tmp_path / "run.jsonl", program)
        with tracetape.replay(path):
            assert program() == (1, 2)

    def test_a_stream_that_timed_out_times_out_again(self, tmp_path: Path) -> None:
        @tracetape.boundary("stream", kind="llm")
        async def stream() -> Any:
            yield "token"
            await asyncio.sleep(60)

        async def main() -> list[str]:
            got = []
            try:
                async with asyncio.timeout(0.3):
                    async for token in stream():
                        got.append(token)
            except TimeoutError:
                got.append("timeout")
            return got

        path = record(tmp_path / "run.jsonl", lambda: asyncio.run(main()))
        with tracetape.replay(path):
            assert asyncio.run(main()) == ["token", "timeout"]

    def test_what_is_thrown_into_a_served_generator_leads_where_it_led(self, tmp_path: Path) -> None:
        @tracetape.boundary("talk")
        def talk() -> Any:
            try:
                yield 1
            except KeyError:
                yield "caught"

        def program() -> Any:
            stream = talk()
            return next(stream), stream.throw(KeyError())

        path = record(tmp_path / "run.jsonl", program)
        with tracetape.replay(path):
            assert program() == (1, "caught")

    def test_a_loaded_recording_is_as_safe_from_its_program_as_its_file(self, recorded: Path) -> None:
        before = recorded.read_bytes()
        with tracetape.replay(tracetape.load(recorded)):
            with tracetape.record(recorded, mode="w"):
                program()
        assert recorded.read_bytes() == before

    def test_a_field_added_since_is_served_with_its_default_and_told(self, tmp_path: Path) -> None:
        import dataclasses

        old = dataclasses.make_dataclass("Order", [("a", int)])
        new = dataclasses.make_dataclass("Order", [("a", int), ("b", int, dataclasses.field(default=7))])
        made = [old]

        @tracetape.boundary("order")
        def order() -> Any:
            return made[0](1)

        path = record(tmp_path / "run.jsonl", order)
        made[0] = new
        with tracetape.replay(path, types=[new]) as tape:
            assert order() == new(1, 7)
        assert tape["order", 1].notes == ("$: its field b was not recorded and has its default",)
        assert "its field b was not recorded" in str(tape.report)

    def test_a_class_that_moved_is_found_among_types_by_its_own_name(self, tmp_path: Path) -> None:
        import dataclasses

        old = dataclasses.make_dataclass("Moved", [("a", int)], namespace={"__module__": "old.module"})
        new = dataclasses.make_dataclass("Moved", [("a", int)], namespace={"__module__": "new.module"})

        @tracetape.boundary("moved")
        def moved() -> Any:
            return old(1)

        path = record(tmp_path / "run.jsonl", moved)
        with tracetape.replay(path, types=[new]):
            assert moved() == new(1)

    def test_steps_keep_the_inputs_as_they_came(self, tmp_path: Path) -> None:
        @tracetape.boundary("turn")
        def turn(messages: list[str]) -> str:
            return f"answer {len(messages)}"

        def program() -> None:
            messages = ["hi"]
            for _ in range(2):
                messages.append(turn(messages))

        path = record(tmp_path / "run.jsonl", program)
        with tracetape.replay(path) as tape:
            program()
        assert tape["turn", 1].inputs == {"messages": ["hi"]}

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"ignore": ["$.at"]},
            {"plan": tracetape.ReplayPlan().stub("look")},
            {"live": ["turn"]},
            {"strict": True},
        ],
        ids=str,
    )
    def test_steps_tell_the_result_that_was_served_whatever_the_program_made_of_it(
        self, tmp_path: Path, options: dict[str, Any]
    ) -> None:
        @tracetape.boundary("look")
        def look(place: str) -> dict[str, Any]:
            return {"found": [place]}

        @tracetape.boundary("turn")
        def turn() -> None:
            look("here")["found"].clear()

        def program() -> None:
            turn() if "live" in options else look("here")["found"].clear()

        path = record(tmp_path / "run.jsonl", program)
        with tracetape.replay(path, **options) as tape:
            program()
        step = tape["look", 1]
        assert step.has_result
        assert step.result == tape.captured_result("look", 1) == {"found": ["here"]}

    def test_each_call_gets_a_patch_of_its_own(self, tmp_path: Path) -> None:
        @tracetape.boundary("items")
        def items(n: int) -> list[int]:
            return [n]

        path = record(tmp_path / "run.jsonl", lambda: (items(1), items(2)))
        with tracetape.replay(path, tracetape.ReplayPlan().patch("items", None, [0])):
            items(1).append(5)
            assert items(2) == [0]

    def test_a_live_outcome_is_compared_as_it_would_be_recorded(self, tmp_path: Path) -> None:
        fail = [False]

        @tracetape.boundary("ask", output=lambda result: result["text"])
        def ask() -> dict[str, Any]:
            if fail[0]:
                raise TimeoutError
            return {"text": "hi", "raw": 1}

        path = record(tmp_path / "run.jsonl", ask)
        with tracetape.replay(path, live=["ask"]) as tape:
            ask()
        assert tape["ask", 1].outcome_changes == ()
        fail[0] = True
        with tracetape.replay(path, live=["ask"]) as tape, pytest.raises(TimeoutError):
            ask()
        assert str(tape["ask", 1].outcome_changes[0]) == "outcome: recorded returned, now raised"

    def test_a_replay_inside_a_replay_gives_the_outer_one_back(self, recorded: Path) -> None:
        with pytest.raises(DivergenceError), tracetape.replay(recorded) as outer_tape:
            with tracetape.replay(recorded):
                program()
            program()
            with socket.socket() as client:
                client.connect(("192.0.2.1", 443))
        assert [step.name for step in outer_tape.report.steps] == ["plan@1", "act@1"]

    def test_what_is_inside_a_served_call_is_not_missing(self, tmp_path: Path) -> None:
        path = record(tmp_path / "run.jsonl", lambda: outer("s"))
        with tracetape.replay(path, strict=True) as tape:
            outer("s")
        assert tape.report.verdict == "same"

    def test_a_recorded_name_that_nothing_here_marks_is_untouched_not_missing(self, tmp_path: Path) -> None:
        def once() -> None:
            tracetape.boundary("foreign-tool")(lambda: 1)()
            plan("g")

        path = record(tmp_path / "run.jsonl", once)
        tracetape._sessions._marked.pop("foreign-tool", None)
        with tracetape.replay(path) as tape:
            plan("g")
        assert tape.report.untouched == ["foreign-tool@1"]
        assert "untouched: 1" in tape.report.first_line
        with pytest.raises(DivergenceError, match="foreign-tool@1 is in the recording"):
            with tracetape.replay(path, strict=True):
                plan("g")

    def test_a_replay_that_asked_for_nothing_replayed_nothing(self, tmp_path: Path) -> None:
        path = record(tmp_path / "run.jsonl", lambda: tracetape.boundary("gone")(lambda: 1)())
        tracetape._sessions._marked.pop("gone", None)
        with pytest.raises(DivergenceError, match="no boundary of the recording was called"):
            with tracetape.replay(path):
                pass

    def test_run_outside_of_its_block_is_refused_before_anything_real_runs(self, recorded: Path) -> None:
        ran: list[int] = []
        tape = tracetape.replay(recorded)
        with pytest.raises(UsageError, match="would run the real program"):
            tape.run(ran.append, 1)
        assert ran == []

    def test_reading_a_stream_further_than_recorded_diverges_before_the_cut(self, tmp_path: Path) -> None:
        @tracetape.boundary("tokens")
        def tokens() -> Any:
            yield from "abc"

        path = record(tmp_path / "run.jsonl", lambda: next(tokens()))
        with tracetape.replay(path) as tape:
            assert next(tokens()) == "a"
        assert tape.report.verdict == "same"
        with pytest.raises(DivergenceError, match="tokens@1 was asked for more than it had given"):
            with tracetape.replay(path):
                list(tokens())

    def test_an_opaque_result_is_refused_by_name_before_the_run(self, tmp_path: Path) -> None:
        @tracetape.boundary("connect")
        def connect() -> object:
            return object()

        path = record(tmp_path / "run.jsonl", connect)
        assert tracetape.load(path).grade == "unusable"
        with pytest.raises(NotReplayable, match=r"cannot be replayed under this plan:\n  connect@1: "):
            tracetape.replay(path)
        with tracetape.replay(path, live=["connect"]):
            connect()

    def test_a_class_that_is_not_at_hand_halts_by_name(self, tmp_path: Path) -> None:
        import dataclasses

        @dataclasses.dataclass
        class Local:
            a: int

        @tracetape.boundary("local")
        def local() -> Local:
            return Local(1)

        path = record(tmp_path / "run.jsonl", local)
        with pytest.raises(DivergenceError, match=r"local@1: its recorded outcome cannot be given back\n.*Local"):
            with tracetape.replay(path):
                local()
        with tracetape.replay(path, types=[Local]):
            assert local() == Local(1)

    def test_key_and_ignore_leave_out_what_differs_from_run_to_run(self, tmp_path: Path) -> None:
        @tracetape.boundary("keyed", key=lambda text, at: text)
        def keyed(text: str, at: int) -> str:
            return text

        @tracetape.boundary("timed")
        def timed(text: str, at: int) -> str:
            return text

        path = record(tmp_path / "run.jsonl", lambda: (keyed("a", 1), timed("a", 1)))
        with tracetape.replay(path, ignore=["$.at"]) as tape:
            keyed("a", 2)
            timed("a", 2)
        assert tape.report.verdict == "same"
        with (
            pytest.raises(DivergenceError, match=r"timed@1.*\n  \$\.text"),
            tracetape.replay(path, ignore=["$.at"]),
        ):
            keyed("a", 2)
            timed("b", 2)

    def test_ids_that_every_run_makes_anew_are_no_divergence_and_an_amount_beside_them_is(
        self, tmp_path: Path
    ) -> None:
        """As LangGraph gives every message a uuid4 of its own."""

        @tracetape.boundary("agent", kind="agent")
        def agent(messages: list[dict[str, Any]], amount: int) -> str:
            return f"answer {len(messages)}"

        def program(amount: int = 5) -> list[str]:
            messages: list[dict[str, Any]] = [{"id": str(uuid.uuid4()), "text": "hi"}]
            answers = []
            for _ in range(3):
                answers.append(agent(messages, amount))
                messages.append({"id": str(uuid.uuid4()), "reply_to": messages[-1]["id"], "text": answers[-1]})
            return answers

        path = record(tmp_path / "run.jsonl", program)
        with tracetape.replay(path) as tape:
            assert program() == ["answer 1", "answer 2", "answer 3"]
        assert tape.report.verdict == "same"
        assert tape.report.renamed_ids == 3
        assert "renamed ids: 3" in tape.report.first_line
        with pytest.raises(DivergenceError) as caught, tracetape.replay(path):
            program(amount=6)
        assert [str(change) for change in caught.value.report.divergences[0].changes] == [  # type: ignore[union-attr]
            "$.amount: recorded 5, now 6"
        ]
        with pytest.raises(DivergenceError, match=r"\$\.messages\[0\]\.id"), tracetape.replay(path, strict=True):
            program()

    def test_steps_are_looked_up_by_name_and_a_wrong_one_is_told(self, recorded: Path) -> None:
        with tracetape.replay(recorded) as tape:
            program()
        assert tape["act", 1].inputs == {"step": "s"}
        assert tape["act", 1].recorded is not None
        with pytest.raises(UsageError) as caught:
            tape["act", 2]
        assert str(caught.value) == "act@2 was not called in this replay; called was act@1"
        with pytest.raises(UsageError, match="did you mean 'act'"):
            tape["acts", 1]

    def test_a_program_that_records_itself_is_inert_in_tape_run(self, recorded: Path, tmp_path: Path) -> None:
        def recording_itself() -> str:
            with tracetape.record(recorded, mode="w"):
                return program()

        before = recorded.read_bytes()
        with tracetape.replay(recorded) as tape:
            assert tape.run(recording_itself) == "did s"
        with tracetape.replay(recorded):
            recording_itself()
        assert recorded.read_bytes() == before

    def test_a_replay_can_be_recorded_and_replayed_itself(self, recorded: Path, tmp_path: Path) -> None:
        with tracetape.replay(recorded, live=["act"]), tracetape.record(tmp_path / "fixed.jsonl") as run:
            program()
        assert [crossing.result for crossing in run.recording.crossings] == ["plan for g", "did s"]
        with tracetape.replay(tmp_path / "fixed.jsonl") as tape:
            program()
        assert tape.report.verdict == "same"

    def test_with_two_replays_open_a_bare_thread_belongs_to_neither(self, recorded: Path) -> None:
        caught: list[BaseException] = []

        def worker() -> None:
            try:
                plan("g")
            except BaseException as error:
                caught.append(error)

        with pytest.raises(DivergenceError), tracetape.replay(recorded), tracetape.replay(recorded):
            thread = threading.Thread(target=worker)
            thread.start()
            thread.join()
            program()
        assert "belongs to none of the replays that are open" in str(caught[0])

    def test_of_calls_beyond_those_that_a_report_looks_at_each_gets_its_own(self, tmp_path: Path) -> None:
        def many(order: Callable[[list[int]], Any]) -> None:
            for number in order(list(range(1_200))):
                act(f"{number} for call_{uuid.uuid4().hex}")

        path = record(tmp_path / "run.jsonl", lambda: many(iter))
        with tracetape.replay(path) as tape:
            many(reversed)
        assert (tape.report.verdict, tape.report.renamed_ids) == ("same", 1_200)

    def test_ids_that_were_served_are_not_swapped_in_a_later_call(self, tmp_path: Path) -> None:
        @tracetape.boundary("accounts", kind="tool")
        def accounts() -> list[str]:
            return ["acct_1A2B3C4D5", "acct_9Z8Y7X6W5"]

        @tracetape.boundary("transfer", kind="tool")
        def transfer(source: str, target: str) -> str:
            return f"{source} to {target}"

        path = record(tmp_path / "run.jsonl", lambda: transfer(*accounts()))
        with pytest.raises(DivergenceError, match=r"transfer@1 was called with other inputs"):
            with tracetape.replay(path):
                transfer(*reversed(accounts()))

    def test_run_takes_generators_of_both_kinds(self, recorded: Path) -> None:
        def program() -> Any:
            yield plan("g")
            yield act("s")
            yield plan("more")
            yield "never"

        async def program_later() -> Any:
            for item in program():
                yield item

        async def all_of(items: Any) -> list[Any]:
            return [item async for item in items]

        with tracetape.replay(recorded, live=["act"]) as tape:
            assert list(tape.run(program)) == ["plan for g", "did s"]
        assert tape.report.ended
        with tracetape.replay(recorded, live=["act"]) as tape:
            assert asyncio.run(all_of(tape.run(program_later))) == ["plan for g", "did s"]
        with pytest.raises(DivergenceError), tracetape.replay(recorded) as tape:
            list(tape.run(program))

    def test_a_key_that_cannot_be_compared_halts(self, tmp_path: Path) -> None:
        @tracetape.boundary("keyed", key=lambda item: object())
        def keyed(item: int) -> int:
            return item

        path = record(tmp_path / "run.jsonl", lambda: keyed(1))
        with pytest.raises(DivergenceError) as caught, tracetape.replay(path):
            keyed(1)
        assert (
            "DIVERGED: keyed: key= of its boundary gave a value that cannot be stored, and hence not be compared\n"
            "  let it give what identifies the call: a str, a number, a tuple of such"
        ) in str(caught.value)

    def test_first_calls_of_keyed_boundaries_in_threads_lose_no_key(self, tmp_path: Path) -> None:
        start = threading.Barrier(8)

        def made(number: int) -> Any:
            @tracetape.boundary(f"keyed_{number}", key=lambda item, at: item)
            def keyed(item: int, at: float) -> int:
                return item

            return keyed

        boundaries = [made(number) for number in range(8)]

        def all_at_once(at: float) -> None:
            def call(boundary: Any) -> None:
                start.wait()
                assert [boundary(item, at) for item in range(20)] == list(range(20))

            with ThreadPoolExecutor(8) as pool:
                for job in [pool.submit(tracetape.propagate(call), one) for one in boundaries]:
                    job.result()

        path = record(tmp_path / "run.jsonl", lambda: all_at_once(1.0))
        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for _ in range(5):
                with tracetape.replay(path):
                    all_at_once(2.0)
        finally:
            sys.setswitchinterval(before)

    def test_a_replay_knows_nothing_of_the_one_before_it_in_its_thread(self, tmp_path: Path) -> None:
        drawn = iter(range(1, 4))

        @tracetape.boundary("draw", kind="tool")
        def draw() -> int:
            return next(drawn)

        path = record(tmp_path / "run.jsonl", lambda: [draw() for _ in range(3)])
        with pytest.raises(DivergenceError), tracetape.replay(path) as first:
            draw()
        with tracetape.replay(path):
            assert [draw() for _ in range(3)] == [1, 2, 3]
        assert len(first.report.steps) == 1  # it is still there

    def test_who_was_given_the_end_is_left_alone(self, recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the test does then may take its time, and fails in its own words."""
        monkeypatch.setitem(Watch.__init__.__kwdefaults__ or {}, "grace", 0.3)
        with pytest.raises(ExceptionGroup) as caught, tracetape.replay(recorded, live=["act"]) as tape:
            assert tape.run(lambda: (program(), plan("more"))) is tracetape.ENDED
            threading.Event().wait(0.6)
            raise ExceptionGroup("my checks", [AssertionError("mine")])
        assert caught.value.message == "my checks"

    def test_a_program_may_put_a_hook_for_threads_before_ours(self, recorded: Path) -> None:
        seen: list[Any] = []
        before = threading.excepthook

        def put_before(ours: Any) -> None:
            def hook(told: threading.ExceptHookArgs) -> None:
                seen.append(told.exc_type)
                ours(told)

            threading.excepthook = hook

        try:
            threading.excepthook = lambda told: None
            for _ in range(3):
                with tracetape.replay(recorded):
                    program()
                    put_before(threading.excepthook)
            threading.excepthook(threading.ExceptHookArgs((ValueError, ValueError(), None, None)))
        finally:
            threading.excepthook = before
        assert seen == [ValueError] * 3

    def test_run_hands_what_is_sent_and_thrown_to_async_generators_too(self, recorded: Path) -> None:
        async def program_later() -> Any:
            plan("g")
            sent = yield "first"
            try:
                yield f"got {sent}"
            except ValueError as error:
                yield f"caught {error}"
            act("s")

        async def consume(items: Any) -> list[Any]:
            return [await anext(items), await items.asend("hi"), await items.athrow(ValueError("x"))] + [
                item async for item in items
            ]

        with tracetape.replay(recorded) as tape:
            assert asyncio.run(consume(tape.run(program_later))) == ["first", "got hi", "caught x"]

    def test_a_record_of_the_program_is_inert_as_long_as_any_run_goes_on(self, tmp_path: Path) -> None:
        mine = tmp_path / "mine.jsonl"

        async def long() -> None:
            await asyncio.sleep(0.01)
            with tracetape.record(mine):
                plan("g")

        path = record(tmp_path / "run.jsonl", lambda: plan("g"))

        async def both() -> None:
            await asyncio.gather(tape.run(asyncio.sleep, 0), tape.run(long))

        with tracetape.replay(path) as tape:
            asyncio.run(both())
        assert not mine.exists()

    def test_what_has_no_result_gives_none_but_says_so(self, recorded: Path) -> None:
        with pytest.raises(DivergenceError), tracetape.replay(recorded) as tape:
            plan("other")
        with pytest.raises(UsageError) as caught:
            tape.captured_result("plan", 1)
        assert str(caught.value) == "plan@1 has no result: it halted"

    def test_what_could_not_be_compared_is_said(self, recorded: Path) -> None:
        """Somebody has edited the recording: the call would be answered whatever it asks."""
        recorded.write_text(recorded.read_text().replace('\\"goal\\":\\"g\\"', '\\"goal\\":\\"h\\"'))
        with tracetape.replay(recorded) as tape:
            program("anything")
        (note,) = tape["plan", 1].notes
        assert note.startswith("its inputs were not compared: the input is not the one that was recorded")
        with pytest.raises(DivergenceError, match="plan@1: its inputs were not compared"):
            with tracetape.replay(recorded, strict=True):
                program("anything")

    def test_a_path_that_leaves_nothing_out_is_said(self, recorded: Path) -> None:
        with tracetape.replay(recorded, ignore=["$.goal", "$.gaol", "$.goal, $.step"]) as tape:
            program()
        assert tape.report.notes == [
            "ignore: '$.gaol' leaves nothing out of any recorded input",
            "ignore: '$.goal, $.step' leaves nothing out of any recorded input",
        ]

    def test_a_live_call_that_is_given_other_inputs_is_counted_in_the_first_line(self, recorded: Path) -> None:
        with tracetape.replay(recorded, live=["act"]) as tape:
            program(step="other")
        assert "live with other inputs: 1" in tape.report.first_line
        with pytest.raises(DivergenceError) as caught, tracetape.replay(recorded, live=["act"], strict=True):
            program("other")
        report = caught.value.report
        assert report is not None
        assert [one.kind for one in report.divergences] == ["changed"], "it never came to the live one"
