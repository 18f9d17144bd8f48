"""The plugin, as a user's pytest run sees it."""

from __future__ import annotations

import importlib.util
import textwrap

import pytest

import tracetape

# pytester forgets what a run inside this process has imported; a class imported twice is two classes.
import tracetape.recorder.session
import tracetape.replayer.session

pytest_plugins = ["pytester"]

# The program under test, as it lies beside the tests of a user. Its recording has plan@1, place_order@1.
AGENT = """
import tracetape

@tracetape.boundary("plan", kind="llm")
def plan(question):
    raise AssertionError("a model was called")

@tracetape.boundary("place_order", kind="tool")
def place_order(symbol, quantity):
    return {"blocked": quantity > 100}

@tracetape.boundary("confirm", kind="llm")
def confirm(answer):
    raise AssertionError("a model was called")

def run(question="sell"):
    return place_order(**plan(question))
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a recording of `run("sell")`, on the day when nothing was blocked."""

    @tracetape.boundary("plan", kind="llm")
    def plan(question):
        return {"symbol": "ACME", "quantity": 1000}

    @tracetape.boundary("place_order", kind="tool")
    def place_order(symbol, quantity):
        return {"status": "filled"}

    path = tmp_path_factory.mktemp("recorded") / "run.otlp.jsonl"
    with tracetape.record(path):
        place_order(**plan("sell"))
    return path.read_bytes()


@pytest.fixture
def run(pytester, recorded):
    """Run a test file that lies beside the agent and its recording; the agent is `agent` there."""
    asyncio = "asyncio_default_fixture_loop_scope = function\nasyncio_mode = strict\n"
    pytester.makeini("[pytest]\n" + (asyncio if importlib.util.find_spec("pytest_asyncio") else ""))
    pytester.makepyfile(agent_under_test=AGENT)
    (pytester.path / "run.otlp.jsonl").write_bytes(recorded)
    pytester.syspathinsert()

    def run_tests(source: str, *options: str):
        pytester.makepyfile(
            test_it="import agent_under_test as agent, pytest, tracetape\n" + textwrap.dedent(source)
        )
        return pytester.runpytest(*options)

    return run_tests


def test_a_replay_as_recorded_passes_without_calling_anything(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            assert agent.run() == {"status": "filled"}
            assert [step.mode for step in tape.report.steps] == ["stub", "stub"]
    """)

    result.assert_outcomes(passed=1)


def test_what_the_mark_names_runs_live(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        def test_it(tape):
            assert agent.run() == {"blocked": True}
            assert tape.report.model_calls == 0
    """)

    result.assert_outcomes(passed=1)


def test_a_plan_is_the_marks_second_argument(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", tracetape.ReplayPlan().patch("place_order", 1, "patched"))
        def test_it(tape):
            assert agent.run() == "patched"
    """)

    result.assert_outcomes(passed=1)


def test_a_divergence_fails_the_call_with_the_whole_report_in_place_of_a_traceback(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            agent.run("buy")
    """)

    result.assert_outcomes(failed=1, errors=0)
    text = result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "*test_it*",
            "replay of *run.otlp.jsonl DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0",
            "DIVERGED: plan@1 was called with other inputs than recorded (before the cut)",
            '*$.question: recorded "sell", now "buy"',
            "  plan@1  halted",
        ]
    )
    assert "Traceback" not in text
    assert "src/tracetape" not in text
    assert "site-packages" not in text


def test_a_recorded_call_that_was_never_made_fails_the_call(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            agent.plan("sell")
    """)

    result.assert_outcomes(failed=1, errors=0)
    result.stdout.fnmatch_lines(["DIVERGED: place_order@1 is in the recording and was never called"])


def test_the_tests_own_assertion_keeps_its_traceback_when_nothing_diverged(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            answer = agent.run()
            assert answer == "something else"
    """)

    result.assert_outcomes(failed=1, errors=0)
    result.stdout.fnmatch_lines(
        [
            '>*assert answer == "something else"',
            "E*AssertionError: assert {'status': 'filled'} == 'something else'",
            "E*tracetape: replay of *: 0 live, 2 served, 0 stale, 0 divergences, model calls: 0",
            "test_it.py:*: AssertionError",
        ]
    )


def test_a_divergence_wins_over_the_tests_own_failure_which_is_still_named(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            try:
                agent.run("buy")
            except BaseException:
                raise ValueError("no answer") from None
    """)

    result.assert_outcomes(failed=1, errors=0)
    result.stdout.fnmatch_lines(
        ["DIVERGED: plan@1 was called*", "the test itself ended with ValueError: no answer"]
    )
    result.stdout.no_fnmatch_line(">*raise ValueError*")


def test_a_swallowed_divergence_still_fails_the_test(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            try:
                agent.run("buy")
            except BaseException:
                pass
    """)

    result.assert_outcomes(failed=1, errors=0)


def test_leaving_the_recording_in_a_bare_test_fails_it_with_the_cure(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        def test_it(tape):
            agent.confirm(agent.run())
    """)

    result.assert_outcomes(failed=1, errors=0)
    result.stdout.fnmatch_lines(
        ["left the recording at confirm@new@1, after place_order@1 ran live*tape.run(*", "replay of *: 1 live*"]
    )


def test_leaving_the_recording_inside_tape_run_lets_the_test_go_on(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        def test_it(tape):
            assert tape.run(lambda: agent.confirm(agent.run())) is tracetape.ENDED
            assert tape.captured_result("place_order", 1) == {"blocked": True}
    """)

    result.assert_outcomes(passed=1)


def test_a_tape_without_a_mark_says_what_to_write(run):
    result = run("""
        def test_it(tape):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ['the fixture `tape` needs the recording: @pytest.mark.tracetape("run.otlp.jsonl", live=["…"])']
    )


def test_a_mark_without_a_recording_says_what_to_write(run):
    result = run("""
        @pytest.mark.tracetape(live=["place_order"])
        def test_it(tape):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the fixture `tape` needs the recording: @pytest.mark.tracetape(*"])


def test_a_recording_that_is_not_there_is_named_with_the_nearest(run):
    result = run("""
        @pytest.mark.tracetape("rum.otlp.jsonl")
        def test_it(tape):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["tracetape: *rum.otlp.jsonl: no such file in *; did you mean 'run.otlp.jsonl'?"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_keyword_that_replay_does_not_have_is_named(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", lve=["place_order"])
        def test_it(tape):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["@pytest.mark.tracetape: replay() got an unexpected keyword argument 'lve'*"])


def test_a_live_name_that_nobody_has_is_named_with_the_nearest(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl", live=["plce_order"])
        def test_it(tape):
            pass
    """)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["tracetape: the plan names plce_order*did you mean 'place_order'*"])


def test_the_path_is_relative_to_the_test_file_not_to_where_pytest_was_started(run, pytester, recorded):
    folder = pytester.mkdir("deep")
    (folder / "deep.otlp.jsonl").write_bytes(recorded)
    (folder / "test_deep.py").write_text(
        "import agent_under_test as agent, pytest\n"
        '@pytest.mark.tracetape("deep.otlp.jsonl")\n'
        "def test_it(tape): agent.run()\n"
    )

    result = run("", "deep/test_deep.py")

    result.assert_outcomes(passed=1)


def test_a_marked_test_is_replayed_although_it_does_not_take_the_tape(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_as_recorded():
            assert agent.run() == {"status": "filled"}

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_diverged():
            agent.run("buy")
    """)

    result.assert_outcomes(passed=1, failed=1)


def test_an_expected_divergence_is_an_expected_failure(run):
    result = run("""
        from tracetape.errors import DivergenceError

        @pytest.mark.xfail(strict=True)
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_any(tape):
            agent.run("buy")

        @pytest.mark.xfail(raises=DivergenceError, strict=True)
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_by_class(tape):
            agent.run("buy")

        @pytest.mark.xfail(raises=KeyError, strict=True)
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_by_another_class(tape):
            agent.run("buy")
    """)

    result.assert_outcomes(xfailed=2, failed=1)


def test_a_skip_inside_a_replay_is_a_skip(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            agent.plan("sell")
            pytest.skip("enough")
    """)

    result.assert_outcomes(skipped=1)


def test_variants_of_a_parametrized_test_have_a_replay_each(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        @pytest.mark.parametrize("question", ["sell", "buy", "sell"])
        def test_it(tape, question):
            assert agent.run(question) == {"status": "filled"}
    """)

    result.assert_outcomes(passed=2, failed=1)


def test_a_variant_may_be_marked_by_itself(run):
    result = run("""
        @pytest.mark.parametrize(
            "expected", [None, pytest.param("filled", marks=pytest.mark.tracetape("run.otlp.jsonl"))]
        )
        def test_it(expected):
            if expected:
                assert agent.run()["status"] == expected
    """)

    result.assert_outcomes(passed=2)


def test_a_class_may_be_marked_as_a_whole_and_a_method_otherwise(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        class TestAgent:
            def test_as_recorded(self, tape):
                assert agent.run() == {"status": "filled"}

            @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
            def test_repaired(self, tape):
                assert agent.run() == {"blocked": True}
    """)

    result.assert_outcomes(passed=2)


def test_a_test_after_a_diverged_one_starts_afresh(run):
    result = run("""
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_diverged(tape):
            agent.run("buy")

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_as_recorded(tape):
            assert agent.run() == {"status": "filled"}
            assert len(tape.report.steps) == 2

        def test_without_a_replay():
            with pytest.raises(AssertionError, match="a model was called"):
                agent.run()
    """)

    result.assert_outcomes(passed=2, failed=1)


def test_a_setup_that_fails_behind_the_tape_closes_it(run):
    result = run("""
        @pytest.fixture
        def broken(tape):
            raise OSError("no disk")

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(broken):
            pass

        def test_without_a_replay():
            with pytest.raises(AssertionError, match="a model was called"):
                agent.run()
    """)

    result.assert_outcomes(errors=1, passed=1)


@pytest.mark.optional
def test_an_asyncio_test_is_replayed(run):
    result = run("""
        import asyncio

        @pytest.mark.asyncio
        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        async def test_it(tape):
            await asyncio.sleep(0)
            assert agent.run() == {"blocked": True}

        @pytest.mark.asyncio
        @pytest.mark.tracetape("run.otlp.jsonl")
        async def test_in_a_task(tape):
            async def run():
                return agent.run("buy")
            await asyncio.create_task(run())
    """)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["DIVERGED: plan@1 was called with other inputs than recorded (before the cut)"])


def test_the_mark_is_registered(run):
    result = run(
        """
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            agent.run()
        """,
        "--strict-markers",
    )

    result.assert_outcomes(passed=1)


def test_nothing_else_of_tracetape_is_imported_for_who_does_not_use_it(pytester):
    pytester.makepyfile("""
        import sys

        def test_it():
            ours = {name for name in sys.modules if name.split(".")[0] == "tracetape"}
            assert ours == {"tracetape", "tracetape.pytest_plugin"}
            assert not {name for name in sys.modules if name.split(".")[0] in ("orjson", "rich", "zstandard")}
    """)

    result = pytester.runpytest_subprocess()

    result.assert_outcomes(passed=1)


def test_the_plugin_can_be_switched_off(pytester):
    pytester.makepyfile("""
        import sys

        def test_it(request):
            assert "tracetape.pytest_plugin" not in sys.modules
            assert request.config.pluginmanager.has_plugin("cacheprovider")
            assert not request.config.pluginmanager.has_plugin("tracetape")
    """)

    result = pytester.runpytest_subprocess("-p", "no:tracetape")

    result.assert_outcomes(passed=1)


def test_a_fixture_of_the_name_that_hides_ours_fails_the_test_before_anything_is_real(run):
    result = run(
        """
        import pytest

        @pytest.fixture
        def tape():
            yield "a tape of another kind"

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape):
            agent.run()
        """
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["the mark tracetape has opened no replay, and nothing was run: another fixture *"]
    )


def test_fixtures_that_other_tests_share_are_not_replayed_for_the_test_that_forgot_the_tape(run):
    result = run(
        """
        @pytest.fixture(scope="session")
        def settings():
            try:
                agent.plan("the settings")
            except AssertionError:
                return "real"

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_replayed(settings):
            assert settings == "real"
            assert agent.run() == {"status": "filled"}

        def test_not_replayed(settings):
            assert settings == "real"
        """
    )
    result.assert_outcomes(passed=2)


def test_leaving_the_recording_in_a_fixture_is_told_with_its_cure(run):
    result = run(
        """
        @pytest.fixture
        def prepared(tape):
            agent.run()
            agent.plan("more")

        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        def test_it(tape, prepared): ...

        def test_the_next_is_real():
            with pytest.raises(AssertionError, match="a model was called"):
                agent.plan("x")
        """
    )
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["left the recording at plan@new@1, after place_order@1 ran live; *tape.run*"])
    result.stdout.no_fnmatch_line("*Unwound*")


def test_what_a_fixture_calls_at_its_end_is_told_where_that_is(run):
    result = run(
        """
        @pytest.fixture
        def closing(tape):
            yield
            agent.place_order("ACME", 1)

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_it(tape, closing):
            agent.run()
        """
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "DIVERGED: place_order was called after the test's call, while its fixtures were torn down: nothing *",
            "  a replay is open to the end of the test's call",
            "  to have that run for real: let the test ask for the fixture before it asks for `tape`",
        ]
    )


def test_the_summary_says_what_differs_and_a_failed_set_up_says_it_once(run):
    result = run(
        """
        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_diverged(tape):
            agent.run("buy")

        @pytest.mark.tracetape("run.otlp.jsonl", live=["plam"])
        def test_misspelled(tape): ...

        @pytest.mark.tracetape("run.otlp.jsonl")
        def test_wrong_step(tape):
            agent.run()
            tape.captured_result("plam", 1)
        """,
        "-rfE",
    )
    result.assert_outcomes(failed=2, errors=1)
    result.stdout.fnmatch_lines(["FAILED *::test_diverged - tracetape.errors.DivergenceError: plan@1 w*"])
    result.stdout.fnmatch_lines(
        [
            "plan@1 was called with other inputs than recorded (before the cut): $.question: recorded *, now *",
        ]
    )
    result.stdout.no_fnmatch_line("*During handling of the above exception*")
    result.stdout.no_fnmatch_line("*def __getitem__*")
