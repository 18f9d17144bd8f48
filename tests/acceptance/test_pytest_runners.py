"""The fixture `tape` under each runner of tests: the verdict is that of the test's call."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass

import pytest

import tracetape
from tests.acceptance import pytest_cases as cases
from tests.acceptance.pytest_cases import RUNNERS, Case

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.optional

OURS = re.compile(r"\btracetape/[\w/]+\.py\b")


@dataclass(frozen=True)
class Ran:
    """One run of pytest: what it has counted, how each test has ended, with what text."""

    result: pytest.RunResult
    ended: dict[str, str]
    told: dict[str, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a recording of `run("sell")`, on the day when nothing was blocked."""

    @tracetape.boundary("plan", kind="llm")
    def plan(question):
        return {"symbol": "ACME", "quantity": 1000}

    @tracetape.boundary("place_order", kind="tool")
    async def place_order(symbol, quantity):
        return {"status": "filled"}

    async def run(question):
        return await place_order(**plan(question))

    path = tmp_path_factory.mktemp("recorded") / "run.otlp.jsonl"
    with tracetape.record(path):
        asyncio.run(run("sell"))
    return path.read_bytes()


@pytest.fixture
def run(pytester: pytest.Pytester, recorded: bytes):
    """`run({"test_it.py": source}, *options)`: a run of test files that lie beside the agent and its recording.

    A test is named `test_it/test_name`; an error beside its outcome is told too.
    """

    def run(files: dict[str, str], *options: str, mode: str = "strict") -> Ran:
        pytester.makeini(f"[pytest]\nasyncio_default_fixture_loop_scope = function\nasyncio_mode = {mode}\n")
        (pytester.path / "run.otlp.jsonl").write_bytes(recorded)
        for name, source in {"agent.py": cases.AGENT, "conftest.py": cases.CONFTEST, **files}.items():
            (pytester.path / name).write_text(source)
        pytester.syspathinsert()
        result = pytester.runpytest_subprocess(*options, *files, timeout=120)
        ended: dict[str, str] = {}
        told: dict[str, str] = {}
        for line in (pytester.path / "told.jsonl").read_text().splitlines():
            node, phase, outcome, text = json.loads(line)
            file, *_, test = node.split("::")
            name = f"{file.removesuffix('.py')}/{test}"
            if phase == "call":
                ended[name] = outcome
            elif outcome != "passed":
                ended[name] = f"{ended[name]}, error at {phase}" if name in ended else f"error at {phase}"
            told[name] = f"{told.get(name, '')}{text}\n"
        return Ran(result, ended, told)

    return run


def assert_tells(told: str, lines: tuple[str, ...]) -> None:
    """These lines, in that order, and no frame of ours."""
    pytest.LineMatcher(told.splitlines()).fnmatch_lines(lines)
    assert not OURS.search(told)


# -- what ends a test, under every runner; each test has one behind it that is not replayed

ALL = (
    cases.DIVERGENCES
    | cases.ELSEWHERE
    | cases.ENDS
    | cases.EXPECTATIONS
    | cases.FIXTURES
    | cases.VARIANTS
    | cases.REFUSALS
)


@pytest.fixture(scope="module")
def runs() -> dict[tuple[str, ...], Ran]:
    """The runs of pytest until now."""
    return {}


@pytest.fixture(params=[*RUNNERS, *(f"{runner}-xdist" for runner in RUNNERS)])
def runner(request: pytest.FixtureRequest, runs: dict[tuple[str, ...], Ran]) -> tuple[str, Ran]:
    """A runner, with its run of all the tests. The workers of xdist run those of several runners at once."""
    name, _, xdist = request.param.partition("-")
    mode = RUNNERS[name].mode
    together = tuple(one for one in RUNNERS if RUNNERS[one].mode == mode) if xdist else (name,)
    if (xdist, *together) not in runs:
        files = {f"test_{one}.py": cases.a_file(one, ALL) for one in together}
        options = ["-n2"] if xdist else []
        runs[xdist, *together] = request.getfixturevalue("run")(files, *options, mode=mode)
    return name, runs[xdist, *together]


def check(runner: tuple[str, Ran], tests: dict[str, Case]) -> None:
    """They ended as they should, and their failures tell what they should."""
    name, ran = runner
    expected = cases.outcomes(name, tests)
    assert {test: ran.ended.get(test) for test in expected} == expected
    for test, outcome in expected.items():
        if outcome == "failed":
            assert_tells(ran.told[test], tests[cases.written_as(test)].says)


def test_a_divergence_fails_the_call_with_its_report(runner):
    check(runner, cases.DIVERGENCES)


def test_a_halt_that_nobody_awaits_fails_the_call(runner):
    check(runner, cases.ELSEWHERE)


def test_the_end_of_the_recording_fails_a_bare_test_only(runner):
    check(runner, cases.ENDS)


def test_an_expected_divergence_is_an_expected_failure(runner):
    check(runner, cases.EXPECTATIONS)


def test_fixtures_are_replayed_from_the_tape_on(runner):
    check(runner, cases.FIXTURES)


def test_each_variant_has_its_own_replay(runner):
    check(runner, cases.VARIANTS)


def test_a_refused_connection_is_a_divergence_although_the_test_swallows_it(runner):
    check(runner, cases.REFUSALS)


def test_pytest_prints_the_reports_and_counts_failures_without_errors(runner):
    name, ran = runner
    together = {test.partition("/")[0].removeprefix("test_") for test in ran.ended}
    counts = Counter(how for one in together for how in cases.outcomes(one, ALL).values())

    assert name in together
    ran.result.assert_outcomes(**counts, errors=0)
    ran.result.stdout.fnmatch_lines(list(cases.REPORT))


# -- around the call

BEHIND_A_BAD_FIXTURE = """
@fixture
async def bad():
    return agent.plan("buy")

@pytest.mark.tracetape("run.otlp.jsonl")
{above}async def test_behind_it(tape, bad):
    pass

{above}async def test_then():
    await agent.run("buy")
    assert agent.ran == ["plan", "place_order"]

@pytest.mark.tracetape("run.otlp.jsonl")
{above}async def test_again(tape):
    await agent.run()
"""


def test_a_divergence_in_a_fixture_is_told_by_its_report_and_leaves_the_next_tests_alone(run):
    names = [name for name in RUNNERS if name != cases.IN_A_CLASS and RUNNERS[name].mode == "strict"]
    ran = run({f"test_{name}.py": cases.top(name) + _written(BEHIND_A_BAD_FIXTURE, name) for name in names})

    expected = {"behind_it": "error at setup", "then": "passed", "again": "passed"}
    assert ran.ended == {f"test_{name}/test_{test}": how for name in names for test, how in expected.items()}
    for name in names:
        assert_tells(ran.told[f"test_{name}/test_behind_it"], cases.REPORT[1:3])


# A fixture behind the tape is ended before it, but after the call, when the verdict is given.
WITH_A_LAST_CALL = """
real = []

{fixture}
def closing():
    yield
    try:
        agent.confirm("over")
    finally:
        real.append("confirm" in agent.ran)

@pytest.fixture
def broken(tape, closing):
    raise OSError("no disk")

@pytest.mark.tracetape("run.otlp.jsonl")
{above}async def test_before(TAKES):
    await agent.run()

def test_nothing_was_real():
    assert real == [False]

@pytest.mark.tracetape("run.otlp.jsonl")
{above}async def test_diverged(tape):
    await agent.run("buy")

{above}async def test_then():
    await agent.run("buy")
    assert agent.ran == ["plan", "place_order"]
"""


@pytest.mark.parametrize("name", ["plain", "asyncio", "anyio_asyncio_shared", "anyio_trio", "anyio_trio_shared"])
def test_a_fixture_that_calls_a_boundary_at_its_end_calls_nothing_real_and_leaves_the_next_tests_alone(run, name):
    source = cases.top(name) + _written(WITH_A_LAST_CALL, name)
    if name != "plain":
        source = source.replace("def closing", "async def closing")

    ran = run(
        {
            "test_after_setup.py": source.replace("TAKES", "broken"),
            "test_after_call.py": source.replace("TAKES", "tape, closing"),
        }
    )

    assert ran.ended.pop("test_after_setup/test_before").startswith("error at setup")
    assert ran.ended.pop("test_after_call/test_before").startswith("passed")
    then = {"nothing_was_real": "passed", "diverged": "failed", "then": "passed"}
    files = ("after_setup", "after_call")
    assert ran.ended == {f"test_{file}/test_{test}": how for file in files for test, how in then.items()}
    assert not OURS.search("".join(ran.told.values()))


def _written(source: str, runner: str) -> str:
    fixture = "@pytest.fixture" if runner == "plain" else "@fixture"
    return source.format(above=RUNNERS[runner].above, fixture=fixture)


LOADED = """
import json, sys

def pytest_collection_finish(session):
    with open("loaded.json", "w") as file:
        json.dump([len(session.items), *sys.modules], file)
"""


@pytest.mark.parametrize("options", [("--collect-only",), ("--collect-only", "-n2")], ids=["here", "workers"])
def test_the_plugin_loads_nothing_of_ours_to_collect_marked_tests(pytester, options):
    pytester.makeconftest(LOADED)
    pytester.makepyfile("""
        import pytest

        @pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        def test_marked(): ...

        @pytest.mark.tracetape("run.otlp.jsonl")
        @pytest.mark.parametrize("number", [1, 2])
        async def test_variants(tape, number): ...
    """)

    pytester.runpytest_subprocess(*options, timeout=120)

    collected, *loaded = json.loads((pytester.path / "loaded.json").read_text())
    assert collected == 3
    ours = {name for name in loaded if name.partition(".")[0] == "tracetape"}
    assert ours == {"tracetape", "tracetape.pytest_plugin"}
    assert not {"orjson", "opentelemetry", "rich", "wrapt", "zstandard"} & set(loaded)
