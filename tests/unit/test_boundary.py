"""`@boundary`: nobody notices it, and every kind of callable is recorded by name."""

from __future__ import annotations

import asyncio
import copy
import functools
import gc
import inspect
import pickle
import sys
import types
import weakref
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tracetape.errors import UsageError


@tracetape.boundary
def plain(a: int, /, b: int = 2, *rest: int, c: int, **more: int) -> tuple[Any, ...]:
    """Its docstring."""
    return (a, b, rest, c, more)


@tracetape.boundary
async def coroutine(a: int) -> int:
    return a


@tracetape.boundary
def generator(a: int) -> Any:
    yield a


@tracetape.boundary
async def async_generator(a: int) -> Any:
    yield a


class Agent:
    @tracetape.boundary
    def method(self, a: int) -> int:
        return a

    @tracetape.boundary
    @classmethod
    def over_class(cls, a: int) -> int:
        return a

    @classmethod
    @tracetape.boundary
    def under_class(cls, a: int) -> int:
        return a

    @tracetape.boundary
    @staticmethod
    def over_static(a: int) -> int:
        return a

    @staticmethod
    @tracetape.boundary
    def under_static(a: int) -> int:
        return a


class Callable:
    def __call__(self, a: int) -> int:
        return a


def undecorated(function: Any) -> Any:
    return function.__wrapped__


def test_with_nothing_open_a_marked_function_is_as_the_plain_one() -> None:
    assert plain(1, 3, 4, c=5, d=6) == (1, 3, (4,), 5, {"d": 6})
    assert asyncio.run(coroutine(1)) == 1
    assert list(generator(1)) == [1]
    assert (plain.__name__, plain.__qualname__, plain.__doc__, plain.__module__) == (
        "plain",
        "plain",
        "Its docstring.",
        __name__,
    )
    assert inspect.signature(plain) == inspect.signature(undecorated(plain))
    assert plain.__kwdefaults__ == undecorated(plain).__kwdefaults__


@pytest.mark.parametrize("function", [plain, coroutine, generator, async_generator])
@pytest.mark.parametrize(
    "question",
    [
        inspect.isfunction,
        inspect.isroutine,
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
        callable,
    ],
)
def test_inspect_answers_the_same(function: Any, question: Any) -> None:
    assert question(function) == question(undecorated(function))


def test_methods_stay_methods() -> None:
    agent = Agent()
    assert inspect.ismethod(agent.method)
    assert (agent.method(1), Agent.method(agent, 2)) == (1, 2)
    assert [Agent.over_class(1), agent.over_class(2), Agent.under_class(3)] == [1, 2, 3]
    assert [Agent.over_static(1), agent.over_static(2), Agent.under_static(3)] == [1, 2, 3]


@pytest.mark.parametrize("open_recording", [False, True])
def test_a_bad_call_raises_python_s_own_type_error(open_recording: bool, tmp_path: Path) -> None:
    with pytest.raises(TypeError) as expected:
        undecorated(plain)()
    run = tracetape.record(tmp_path / "run.jsonl")
    if open_recording:
        run.__enter__()
    with pytest.raises(TypeError) as caught:
        plain()  # type: ignore[call-arg]
    if open_recording:
        run.__exit__(None, None, None)
    assert str(caught.value) == str(expected.value)


def test_marked_functions_are_copied_as_themselves_and_pickled_by_name() -> None:
    assert copy.copy(plain) is plain
    assert copy.deepcopy({"f": plain})["f"] is plain
    agent = Agent()
    assert copy.deepcopy(agent.method)(7) == 7


def test_what_is_pickled_by_name_comes_back_as_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests are imported without being in sys.modules under their own name; pickle looks there.
    monkeypatch.setitem(sys.modules, __name__, types.SimpleNamespace(**globals()))
    assert pickle.loads(pickle.dumps(plain)) is plain
    for function in (Agent.method, Agent.over_class, Agent.over_static):
        assert pickle.loads(pickle.dumps(function)) == function
    assert pickle.loads(pickle.dumps(Agent().method))(5) == 5
    remade = pickle.loads(pickle.dumps(tracetape.boundary("p")(functools.partial(len, [1]))))
    assert type(remade).__module__ == "tracetape._wrapping"
    assert remade() == 1


@pytest.mark.parametrize(
    ("call", "name", "inputs"),
    [
        (
            lambda: plain(1, c=5, d=6),
            "plain",
            {"a": 1, "b": 2, "rest": (), "c": 5, "more": {"d": 6}},
        ),
        (lambda: Agent().method(1), "Agent.method", {"a": 1}),
        (lambda: Agent.method(Agent(), 1), "Agent.method", {"a": 1}),
        (lambda: Agent.over_class(1), "Agent.over_class", {"a": 1}),
        (lambda: Agent().under_class(1), "Agent.under_class", {"a": 1}),
        (lambda: Agent.over_static(1), "Agent.over_static", {"a": 1}),
        (lambda: Agent().under_static(1), "Agent.under_static", {"a": 1}),
        (lambda: tracetape.boundary(Callable())(1), "Callable", {"a": 1}),
        (lambda: tracetape.boundary("p")(functools.partial(undecorated(plain), 1, c=3))(9), "p", None),
        (lambda: asyncio.run(coroutine(1)), "coroutine", {"a": 1}),
        (lambda: list(generator(1)), "generator", {"a": 1}),
        (lambda: tracetape.boundary("len")(len)([1]), "len", {"obj": [1]}),
    ],
)
def test_arguments_are_recorded_by_name_without_the_receiver(
    call: Any, name: str, inputs: dict[str, Any] | None, tmp_path: Path
) -> None:
    with tracetape.record(tmp_path / "run.jsonl") as run:
        call()
    crossing = run.recording.crossings[0]
    assert crossing.boundary == name
    if inputs is not None:
        assert crossing.inputs == inputs


def test_a_local_function_is_named_by_what_follows_its_last_locals(tmp_path: Path) -> None:
    class Tool:
        @tracetape.boundary
        def use(self) -> None: ...

    with tracetape.record(tmp_path / "run.jsonl") as run:
        Tool().use()
    assert run.recording.crossings[0].boundary == "Tool.use"


def test_inputs_are_stored_before_the_function_changes_them(tmp_path: Path) -> None:
    @tracetape.boundary("extend")
    def extend(items: list[int]) -> list[int]:
        items.append(99)
        return items

    with tracetape.record(tmp_path / "run.jsonl") as run:
        extend([1])
    assert run.recording["extend", 1].inputs == {"items": [1]}
    assert run.recording["extend", 1].result == [1, 99]


def test_input_output_model_version_and_usage_say_what_is_recorded(tmp_path: Path) -> None:
    @tracetape.boundary(
        "ask",
        kind="llm",
        version="v7",
        model=lambda prompt, client: f"model-of-{prompt}",
        input=lambda prompt, client: {"prompt": prompt},
        output=lambda result: result["text"],
        usage=lambda result: {"input_tokens": 3},
    )
    def ask(prompt: str, client: object) -> dict[str, Any]:
        return {"text": "hi", "raw": object()}

    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert ask("x", object())["text"] == "hi"
    crossing = run.recording["ask", 1]
    assert (crossing.inputs, crossing.result) == ({"prompt": "x"}, "hi")
    assert (crossing.model, crossing.version, crossing.usage) == ("model-of-x", "v7", {"input_tokens": 3})
    with tracetape.replay(tmp_path / "run.jsonl"):
        assert ask("x", object()) == "hi"  # type: ignore[comparison-overlap]


def test_a_failing_input_function_costs_its_own_value_not_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    @tracetape.boundary("ask", usage=lambda result: {"input_tokens": 1 // 0})
    def ask() -> int:
        return 5

    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert ask() == 5
        assert ask() == 5
    assert [crossing.result for crossing in run.recording.crossings] == [5, 5]
    assert [record.getMessage() for record in caplog.records] == [
        "tracetape: usage= was not recorded: ZeroDivisionError: integer division or modulo by zero"
    ]


def test_where_input_or_output_raise_the_plain_values_are_kept_out(tmp_path: Path) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("password")

    @tracetape.boundary("login", input=fails, output=fails)
    def login(password: str) -> str:
        return f"token for {password}"

    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert login("hunter2") == "token for hunter2"
    assert b"hunter2" not in run.path.read_bytes()
    crossing = run.recording["login", 1]
    assert crossing.grade == "unusable"
    assert [gap.code for gap in crossing.gaps] == ["PAYLOAD_FAILED", "PAYLOAD_FAILED"]


def test_what_usage_or_input_give_is_looked_at_before_it_is_taken(tmp_path: Path) -> None:
    @tracetape.boundary("ask", usage=lambda result: [1])  # type: ignore[arg-type,return-value]
    def ask() -> int:
        return 5

    with tracetape.record(tmp_path / "run.jsonl") as run:
        ask()
    assert (run.recording["ask", 1].result, run.recording["ask", 1].usage) == (5, {})


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: tracetape.boundary("x", kind="tol"),
            "kind='tol' is no kind of boundary; did you mean 'tool'?",
        ),
        (
            lambda: tracetape.boundary("x", input=5),  # type: ignore[call-overload]
            "input= of @boundary takes a function, not 5",
        ),
        (
            lambda: tracetape.boundary(""),
            'a boundary has a name: @boundary("place_order"), or @boundary alone',
        ),
        (
            lambda: tracetape.boundary(5),  # type: ignore[call-overload]
            "@boundary marks a function or another callable, not 5",
        ),
        (
            lambda: tracetape.effect("now", 5),  # type: ignore[arg-type]
            'effect("now", function) takes a function without arguments, not 5',
        ),
        (
            lambda: tracetape.checkpoint(5, 6),  # type: ignore[arg-type]
            'checkpoint takes a name first, as in checkpoint("name", …), not 5',
        ),
    ],
)
def test_wrong_use_is_told_at_once_in_one_line(use: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        use()
    assert str(caught.value) == message


def test_a_boundary_that_nobody_has_any_more_leaves_nothing_behind(tmp_path: Path) -> None:
    class Large:
        pass

    def marked() -> tuple[Any, weakref.ref[Large]]:
        large = Large()

        @tracetape.boundary("closing", model=lambda **_: str(large) and "m")
        def closing() -> int:
            return 1

        return closing, weakref.ref(large)

    with tracetape.record(tmp_path / "run.jsonl"):
        closing, large = marked()
        closing()
    del closing
    gc.collect()
    assert large() is None


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_callable_that_was_recorded_is_copied_and_pickled_as_before(tmp_path: Path, copied: Any) -> None:
    """What a recording keeps of a boundary for all its calls does not go along."""
    marked = tracetape.boundary("partial")(functools.partial(int, base=2))
    with tracetape.record(tmp_path / "run.jsonl") as run:
        assert marked("101") == 5
        assert copied(marked)("11") == 3
    assert [one.result for one in run.recording.crossings] == [5, 3]
