"""Tests as a user writes them around the fixture `tape`, for each runner of tests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "AGENT",
    "CONFTEST",
    "DIVERGENCES",
    "ELSEWHERE",
    "ENDS",
    "EXPECTATIONS",
    "FIXTURES",
    "IN_A_CLASS",
    "REFUSALS",
    "REPORT",
    "RUNNERS",
    "VARIANTS",
    "Case",
    "a_file",
    "outcomes",
    "top",
    "written_as",
]

AGENT = """
import tracetape

ran = []

@tracetape.boundary("plan", kind="llm")
def plan(question):
    ran.append("plan")
    return {"symbol": "ACME", "quantity": 1000}

@tracetape.boundary("place_order", kind="tool")
async def place_order(symbol, quantity):
    ran.append("place_order")
    return {"blocked": quantity > 100}

@tracetape.boundary("confirm", kind="llm")
def confirm(answer):
    ran.append("confirm")
    return "real"

async def run(question="sell"):
    return await place_order(**plan(question))
"""

CONFTEST = """
import json
import agent, pytest

@pytest.fixture(autouse=True)
def nothing_has_run():
    agent.ran.clear()

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Teller())

class Teller:
    def pytest_runtest_logreport(self, report):
        how = report.outcome
        if hasattr(report, "wasxfail"):
            how = {"skipped": "xfailed", "passed": "xpassed"}[how]
        with open("told.jsonl", "a") as told:
            print(json.dumps([report.nodeid, report.when, how, report.longreprtext]), file=told)
"""

# What the tests are written in, for the two kinds of loop.
ON_ASYNCIO = """
import asyncio
pause = lambda: asyncio.sleep(0)
connect = asyncio.open_connection
group = asyncio.TaskGroup
start = lambda group, function, *words: group.create_task(function(*words))
for_ever = lambda: asyncio.Event().wait()
"""
ON_TRIO = """
import trio
pause = lambda: trio.sleep(0)
connect = trio.open_tcp_stream
group = trio.open_nursery
start = lambda group, function, *words: group.start_soon(function, *words)
for_ever = trio.sleep_forever
"""
WITHOUT_A_PLUGIN = """
import functools

def runs(function):
    @functools.wraps(function)
    def run(*words, **settings):
        return asyncio.run(function(*words, **settings))
    return run

fixture = lambda function: pytest.fixture(runs(function))
"""


@dataclass(frozen=True)
class Runner:
    """Who runs asynchronous tests: what stands at the top of a test file, above each test, and in the ini file."""

    top: str
    above: str = ""
    mode: str = "strict"
    loop: str = ON_ASYNCIO


def anyio(backend: str, *, shared: bool = False) -> Runner:
    """With `shared`, one loop runs all the tests of a file: a fixture of the module's scope holds it."""
    top = f"""
import anyio
group = anyio.create_task_group
start = lambda group, function, *words: group.start_soon(function, *words)
pytestmark = pytest.mark.anyio
fixture = pytest.fixture

@pytest.fixture{'(scope="module")' if shared else ""}
def anyio_backend():
    return {backend!r}
"""
    holding = """
@pytest.fixture(scope="module", autouse=True)
async def client(anyio_backend):
    yield
"""
    return Runner(top + holding * shared, loop=ON_TRIO if backend == "trio" else ON_ASYNCIO)


IN_A_CLASS = "unittest"
RUNNERS = {
    "plain": Runner(WITHOUT_A_PLUGIN, "@runs\n"),
    "asyncio": Runner(
        "import pytest_asyncio\nfixture = pytest_asyncio.fixture\npytestmark = pytest.mark.asyncio\n"
    ),
    "asyncio_module": Runner(
        "import pytest_asyncio\n"
        'fixture = pytest_asyncio.fixture(loop_scope="module")\n'
        'pytestmark = pytest.mark.asyncio(loop_scope="module")\n'
    ),
    "asyncio_auto": Runner("fixture = pytest.fixture\n", mode="auto"),
    "anyio_asyncio": anyio("asyncio"),
    "anyio_asyncio_shared": anyio("asyncio", shared=True),
    "anyio_trio": anyio("trio"),
    "anyio_trio_shared": anyio("trio", shared=True),
    IN_A_CLASS: Runner("import unittest\n"),
}


@dataclass(frozen=True)
class Case:
    """One test of a user.

    ended:   its outcome; for variants, one each.
    says:    lines that its failure shows.
    takes:   its arguments; who runs methods of a class has none to give but the tape.
    before:  fixtures of its own.
    only:    where it can be written at all.
    """

    body: str
    ended: str | dict[str, str] = "failed"
    says: tuple[str, ...] = ()
    marks: str = '@pytest.mark.tracetape("run.otlp.jsonl")\n'
    takes: str = "tape"
    before: str = ""
    only: str = ""

    def is_for(self, runner: str) -> bool:
        if runner == IN_A_CLASS and self.takes != "tape":
            return False
        return not self.only or self.only == RUNNERS[runner].loop


REPORT = (
    "replay of *run.otlp.jsonl DIVERGED: 0 live, 0 served, 0 stale, 1 divergence, model calls: 0",
    "DIVERGED: plan@1 was called with other inputs than recorded (before the cut)",
    '*$.question: recorded "sell", now "buy"',
    "  plan@1  halted",
)
REFUSED = (
    "replay of *run.otlp.jsonl DIVERGED: 0 live, 2 served*1 divergence*",
    "DIVERGED: *192.0.2.1:80*refused*",
)
REPAIRED = '@pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])\n'
EXPECTED = "@pytest.mark.xfail(strict=True)\n" + Case.marks
EXPECTED_BY_CLASS = "@pytest.mark.xfail(strict=True, raises=DivergenceError)\n" + Case.marks
WARM = """
@fixture
async def {name}():
    return agent.plan("sell")
"""

DIVERGENCES = {
    "as_recorded": Case(
        """
        assert await agent.run() == {"status": "filled"}
        assert agent.ran == []
        """,
        "passed",
    ),
    "diverged": Case('await agent.run("buy")', says=REPORT),
    "swallowed": Case(
        """
        try:
            await agent.run("buy")
        except BaseException:
            pass
        """,
        says=REPORT,
    ),
    "swallowed_and_lost": Case(
        """
        try:
            await agent.run("buy")
        except BaseException:
            raise ValueError("no answer") from None
        """,
        says=(*REPORT, "the test itself ended with ValueError: no answer"),
    ),
    "never_called": Case(
        'agent.plan("sell")', says=("DIVERGED: place_order@1 is in the recording and was never called",)
    ),
    "as_recorded_again": Case("await agent.run()", "passed"),
}

ELSEWHERE = {
    "in_a_group": Case(
        """
        async with group() as started:
            start(started, agent.run, "buy")
            start(started, for_ever)
        """,
        says=REPORT,
    ),
    "in_a_task_nobody_awaits": Case(
        """
        async def run():
            await agent.run("buy")
        task = asyncio.create_task(run())
        await pause()
        assert task.done()
        """,
        says=REPORT,
        only=ON_ASYNCIO,
    ),
    "in_a_done_callback": Case(
        """
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: agent.plan("buy"))
        future.set_result(None)
        await pause()
        """,
        says=REPORT,
        only=ON_ASYNCIO,
    ),
    "in_a_callback_of_the_loop": Case(
        """
        asyncio.get_running_loop().call_soon(agent.plan, "buy")
        await pause()
        """,
        says=REPORT,
        only=ON_ASYNCIO,
    ),
    "in_a_system_task": Case(
        """
        over = trio.Event()
        async def run():
            try:
                await agent.run("buy")
            except BaseException:
                over.set()
        trio.lowlevel.spawn_system_task(run)
        await over.wait()
        """,
        says=REPORT,
        only=ON_TRIO,
    ),
}

ENDS = {
    "left_in_the_bare_test": Case(
        "agent.confirm(await agent.run())",
        says=(
            "left the recording at confirm@new@1, after place_order@1 ran live*tape.run(*",
            "replay of *run.otlp.jsonl: 1 live, 1 served*",
        ),
        marks=REPAIRED,
    ),
    "left_in_a_program": Case(
        """
        async def program():
            agent.confirm(await agent.run())
        assert await tape.run(program) is tracetape.ENDED
        assert tape.captured_result("place_order", 1) == {"blocked": True}
        assert agent.ran == ["place_order"]
        """,
        "passed",
        marks=REPAIRED,
    ),
    "the_program_has_a_result": Case(
        """
        assert await tape.run(agent.run, "sell") == {"status": "filled"}
        assert agent.ran == []
        """,
        "passed",
    ),
    "the_program_diverged": Case(
        """
        try:
            await tape.run(agent.run, "buy")
        except BaseException:
            pass
        """,
        says=REPORT,
    ),
}

EXPECTATIONS = {
    "any_failure": Case('await agent.run("buy")', "xfailed", marks=EXPECTED),
    "a_divergence": Case('await agent.run("buy")', "xfailed", marks=EXPECTED_BY_CLASS),
    "a_swallowed_divergence": Case(
        """
        try:
            await agent.run("buy")
        except BaseException:
            pass
        """,
        "xfailed",
        marks=EXPECTED_BY_CLASS,
    ),
    "an_end": Case(
        "agent.confirm(await agent.run())",
        "xfailed",
        marks="@pytest.mark.xfail(strict=True, raises=RecordingEnded)\n" + REPAIRED,
    ),
    "another_error": Case(
        'await agent.run("buy")',
        says=REPORT,
        marks="@pytest.mark.xfail(strict=True, raises=KeyError)\n" + Case.marks,
    ),
}

FIXTURES = {
    "before_the_tape": Case(
        """
        assert agent.ran == ["plan"]
        assert await agent.run() == {"status": "filled"}
        assert agent.ran == ["plan"]
        """,
        "passed",
        takes="warm_before, tape",
        before=WARM.format(name="warm_before"),
    ),
    "behind_the_tape": Case(
        """
        assert agent.ran == []
        assert await agent.place_order(**warm_behind) == {"status": "filled"}
        """,
        "passed",
        takes="tape, warm_behind",
        before=WARM.format(name="warm_behind"),
    ),
    "swallowed_behind_the_tape": Case(
        "pass",
        says=REPORT,
        takes="tape, swallowed",
        before="""
@fixture
async def swallowed():
    try:
        agent.plan("buy")
    except BaseException:
        pass
""",
    ),
}

VARIANTS = {
    "a_question": Case(
        "await agent.run(question)",
        {"sell": "passed", "buy": "failed"},
        says=REPORT,
        marks='@pytest.mark.parametrize("question", ["sell", "buy"])\n' + Case.marks,
        takes="tape, question",
    ),
    "a_mark": Case(
        """
        await agent.run()
        assert agent.ran == ran
        """,
        {"real": "passed", "served": "passed", "repaired": "passed"},
        marks="""
@pytest.mark.parametrize(
    "ran",
    [
        pytest.param(["plan", "place_order"], id="real"),
        pytest.param([], id="served", marks=pytest.mark.tracetape("run.otlp.jsonl")),
        pytest.param(
            ["place_order"], id="repaired", marks=pytest.mark.tracetape("run.otlp.jsonl", live=["place_order"])
        ),
    ],
)
""",
        takes="ran",
    ),
}

REFUSALS = {
    "refused_in_the_test": Case(
        """
        await agent.run()
        try:
            await connect("192.0.2.1", 80)
        except OSError:
            pass
        """,
        says=REFUSED,
    ),
    "refused_in_a_task": Case(
        """
        await agent.run()
        async def reach():
            try:
                await connect("192.0.2.1", 80)
            except OSError:
                pass
        async with group() as started:
            start(started, reach)
        """,
        says=REFUSED,
    ),
    "refused_at_a_blocking_socket": Case(
        """
        await agent.run()
        try:
            socket.create_connection(("192.0.2.1", 80))
        except OSError:
            pass
        """,
        says=REFUSED,
    ),
    "refused_before_any_call": Case(
        """
        try:
            await connect("192.0.2.1", 80)
        except OSError:
            pass
        await agent.run()
        """,
        says=("replay of *run.otlp.jsonl DIVERGED: 0 live, 0 served*1 divergence*", REFUSED[1]),
    ),
}

GROUPS = (DIVERGENCES, ELSEWHERE, ENDS, EXPECTATIONS, FIXTURES, VARIANTS, REFUSALS)
REAL = """
await agent.run("buy")
assert agent.ran == ["plan", "place_order"]
"""
TOP = """
import socket
import agent, pytest, tracetape
from tracetape.errors import DivergenceError, RecordingEnded
"""


def indented(body: str, by: int) -> str:
    lines = [line for line in body.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "".join(f"{' ' * by}{line[margin:]}\n" for line in lines)


def a_test(runner: str, name: str, case: Case) -> str:
    """The test as it is written for a runner; behind it one without a tape, whose calls are real."""
    above = RUNNERS[runner].above
    if runner != IN_A_CLASS:
        return (
            f"{case.before}{case.marks}{above}async def test_{name}({case.takes}):\n{indented(case.body, 4)}\n"
            f"{above}async def test_{name}__then():\n{indented(REAL, 4)}\n"
        )
    body = case.body if "tape." not in case.body else f"tape = self.tape\n{indented(case.body, 0)}"
    taken = "@pytest.fixture(autouse=True)\ndef take(self, tape): self.tape = tape\n" if body != case.body else ""
    return (
        f"class Test_{name}(unittest.IsolatedAsyncioTestCase):\n"
        f"{indented(taken, 4) if taken else ''}{indented(case.marks, 4)}"
        f"    async def test_{name}(self):\n{indented(body, 8)}\n"
        f"class Test_{name}__then(unittest.IsolatedAsyncioTestCase):\n"
        f"    async def test_{name}__then(self):\n{indented(REAL, 8)}\n"
    )


def a_file(runner: str, tests: dict[str, Case]) -> str:
    written = "".join(a_test(runner, name, case) for name, case in tests.items() if case.is_for(runner))
    return top(runner) + written


def top(runner: str) -> str:
    """What stands at the top of a test file."""
    return TOP + RUNNERS[runner].loop + RUNNERS[runner].top


def outcomes(runner: str, tests: dict[str, Case]) -> dict[str, str]:
    """How the tests of a runner have to end, by their names."""
    expected: dict[str, str] = {}
    for name, case in tests.items():
        if case.is_for(runner):
            variants = {"": case.ended} if isinstance(case.ended, str) else case.ended
            expected |= {
                f"test_{runner}/test_{name}{variant and f'[{variant}]'}": ended
                for variant, ended in variants.items()
            }
            expected[f"test_{runner}/test_{name}__then"] = "passed"
    return expected


def written_as(test: str) -> str:
    """The name of the case that a test was made of."""
    return test.partition("/test_")[2].partition("[")[0].removesuffix("__then")
