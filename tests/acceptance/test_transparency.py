"""The program does not notice: each kind of callable, marked or bare, answers the same.

Compared with nothing open, inside `record`, under a provider of the host, inside a replay that runs it live.
"""

from __future__ import annotations

import asyncio
import collections.abc
import copy
import functools
import importlib.util
import inspect
import json
import logging
import pickle
import subprocess
import sys
import traceback
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import tracetape

HERE = Path(__file__).parent
OURS = str(Path(tracetape.__file__).parent)
SITUATIONS = ("nothing open", "record", "live replay")

SUBJECTS: dict[str, Callable[[Any], Any]] = {
    "function": lambda m: m.function,
    "positional-only": lambda m: m.positional_only,
    "coroutine function": lambda m: m.coroutine,
    "generator function": lambda m: m.generator,
    "async generator function": lambda m: m.async_generator,
    "method": lambda m: m.Base().method,
    "method of the class": lambda m: m.Base.method,
    "coroutine method": lambda m: m.Base().coroutine_method,
    "generator method": lambda m: m.Base().generator_method,
    "boundary over classmethod": lambda m: m.Base.over_class,
    "boundary over classmethod, by an instance": lambda m: m.Base().over_class,
    "boundary under classmethod": lambda m: m.Base.under_class,
    "boundary over staticmethod": lambda m: m.Base.over_static,
    "boundary over staticmethod, by an instance": lambda m: m.Base().over_static,
    "boundary under staticmethod": lambda m: m.Base.under_static,
    "method that calls super()": lambda m: m.Derived().method,
    "classmethod that calls super()": lambda m: m.Derived.over_class,
    "callable object": lambda m: m.callable_object,
    "callable object, async": lambda m: m.async_callable_object,
    "callable object, generator": lambda m: m.generator_callable_object,
    "functools.partial": lambda m: m.partial,
    "functools.partial, async": lambda m: m.async_partial,
    "function that returns a coroutine": lambda m: m.gives_coroutine,
    "function that returns a Task": lambda m: m.gives_task,
    "function that returns a Future": lambda m: m.gives_future,
    "function that returns a custom awaitable": lambda m: m.gives_awaitable,
    "function that returns a generator": lambda m: m.gives_generator,
    "function that returns an async generator": lambda m: m.gives_async_generator,
    "function that returns an iterator object": lambda m: m.gives_iterator,
    "coroutine function that returns a generator": lambda m: m.coroutine_gives_generator,
    "C builtin": lambda m: m.builtin,
    "C callable": lambda m: m.c_callable,
    "C method": lambda m: m.c_method,
    "lru_cache over": lambda m: m.cached_over,
    "lru_cache under": lambda m: m.cached_under,
    "contextmanager over": lambda m: m.manager_over,
    "contextmanager under": lambda m: m.manager_under,
    "singledispatch over": lambda m: m.dispatch_over,
    "singledispatch under": lambda m: m.dispatch_under,
    "dataclass method": lambda m: m.Record(4).doubled,
}
CALLS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}),
    (("token",), {}),
    ((5,), {}),
    (("token", 1, 2, 3), {"c": 4, "d": 5}),
    (([1, 2],), {}),
    *(((how,), {}) for how in ("from", "while", "none", "same", "base", "stop")),
)
QUESTIONS = (
    inspect.isfunction,
    inspect.ismethod,
    inspect.isroutine,
    inspect.isbuiltin,
    inspect.isclass,
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isasyncgenfunction,
    inspect.isawaitable,
    callable,
)
NAMES = ("__name__", "__qualname__", "__doc__", "__defaults__", "__kwdefaults__", "__annotations__")
RESULT_QUESTIONS: tuple[Any, ...] = (
    inspect.isawaitable,
    inspect.iscoroutine,
    inspect.isgenerator,
    inspect.isasyncgen,
    *(
        lambda value, cls=cls: isinstance(value, cls)
        for cls in (
            collections.abc.Iterator,
            collections.abc.Iterable,
            collections.abc.AsyncIterator,
            asyncio.Future,
            map,
        )
    ),
    lambda value: hasattr(value, "__aiter__"),
)


def load(name: str, mark: Callable[[Any], Any]) -> Any:
    spec = importlib.util.spec_from_file_location(name, HERE / "callables.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    module.mark = mark
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def programs() -> Iterator[tuple[Any, Any]]:
    """The bare one, the marked one."""
    pair = load("callables_bare", lambda function: function), load("callables_marked", tracetape.boundary("case"))
    yield pair
    for module in pair:
        del sys.modules[module.__name__]


def told(error: BaseException | None, module: Any) -> Any:
    """An exception as its reader sees it, our own frames apart."""
    if error is None:
        return None
    frames = [
        frame.name
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(OURS) and "wrapt" not in frame.filename
    ]
    return {
        "type": type(error).__qualname__,
        "args": plain(error.args, module),
        "text": str(error),
        "is the same": error is module.ERROR,
        "frames": frames,
        "cause": told(error.__cause__, module),
        "context": told(error.__context__, module),
        "suppressed": error.__suppress_context__,
    }


def plain(value: Any, module: Any) -> Any:
    if value is module.TOKEN:
        return "the token"
    if type(value) in (tuple, list):
        return [plain(one, module) for one in value]
    return value if isinstance(value, (int, str, type(None), dict)) else type(value).__name__


async def outcome(call: Callable[[], Any], module: Any) -> Any:
    """What a call gives, consumed as what it is; the call is made while an exception is handled."""
    got: list[Any] = []
    module.LAST.clear()
    try:
        try:
            raise ZeroDivisionError("handled by the caller")
        except ZeroDivisionError:
            value = call()
            if module.LAST:
                got.append(("the object that it returned", value is module.LAST[0]))
            got += [question(value) for question in RESULT_QUESTIONS]
            if inspect.isawaitable(value):
                value = await value
            if hasattr(value, "__aiter__"):
                async for item in value:
                    got.append(plain(item, module))
            elif isinstance(value, collections.abc.Iterator):
                while True:
                    try:
                        got.append(plain(next(value), module))
                    except StopIteration as stop:
                        got.append(("returned", plain(stop.value, module)))
                        break
            elif hasattr(value, "__enter__"):
                with value as entered:
                    got.append(plain(entered, module))
            else:
                got.append(("value", plain(value, module)))
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, pytest.fail.Exception)):
            raise
        got.append(told(error, module))
    return got


def looks(subject: Any, module: Any) -> dict[str, Any]:
    """What can be asked of a callable without calling it."""
    seen: dict[str, Any] = {question.__name__: question(subject) for question in QUESTIONS}
    seen |= {name: getattr(subject, name, "none") for name in NAMES}
    seen["signature"] = attempt(lambda: str(inspect.signature(subject)))
    seen["module"] = getattr(subject, "__module__", "none") == module.__name__
    seen["hints"] = attempt(lambda: sorted(typing.get_type_hints(subject)))
    seen["isinstance"] = isinstance(subject, (types.FunctionType, types.MethodType, types.BuiltinFunctionType))
    seen["copies"] = copy.copy(subject) == subject
    seen["pickled"] = attempt(lambda: pickle.loads(pickle.dumps(subject)) == subject)
    seen["deep copy"] = attempt(lambda: type(copy.deepcopy([subject])[0]) is type(subject))
    seen["deep copy is of another"] = attempt(
        lambda: getattr(copy.deepcopy(subject), "__self__", None) is not getattr(subject, "__self__", None)
    )
    seen["hash"] = hash(subject) == hash(subject)
    return seen


def attempt(look: Callable[[], Any]) -> Any:
    try:
        return look()
    except Exception as error:
        return type(error).__name__


def observe(module: Any, subject_of: Callable[[Any], Any]) -> Any:
    async def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        subject = subject_of(module)
        first = (module.Base(),) if subject_of is SUBJECTS["method of the class"] else ()
        return await outcome(lambda: subject(*first, *args, **kwargs), module)

    calls = [asyncio.run(run(args, kwargs)) for args, kwargs in CALLS]
    return {"looks": looks(subject_of(module), module), "calls": calls}


def bound(module: Any) -> list[str]:
    """The callables of the module that become methods in a class."""
    values = {name: value for name, value in vars(module).items() if callable(value) and "partial" not in name}
    Holder = type("Holder", (), values)
    return [name for name in vars(Holder) if getattr(Holder(), name) is not Holder.__dict__[name]]


def with_others(module: Any) -> Any:
    """Under and over other decorators, and how tests of others treat it."""
    seen: list[Any] = []
    info = module.cached_over.cache_info() if hasattr(module.cached_over, "cache_info") else None
    module.cached_over(1)
    module.cached_over(1)
    seen.append(module.cached_over.cache_info().hits - (info.hits if info else 0))
    module.cached_under(1)
    module.cached_under(1)
    seen.append((module.cached_under.cache_info().hits > 0, module.cached_under.__wrapped__ is not None))
    for manager in (module.manager_over, module.manager_under):
        try:
            with manager("token") as value:
                seen.append(plain(value, module))
                raise KeyError("in the block")
        except LookupError as error:
            seen.append(told(error, module))

    async def enter() -> Any:
        try:
            async with module.async_manager_over("token") as value:
                seen.append(plain(value, module))
                raise KeyError("in the block")
        except LookupError as error:
            return told(error, module)

    seen.append(asyncio.run(enter()))
    seen += [plain(module.dispatch_over(one), module) for one in (1, "text")]
    module.dispatch_under.register(float, lambda a: ("float", a))
    seen += [module.dispatch_under(one) for one in (1.5, "text")]
    seen.append(sorted(module.Abstract.__abstractmethods__))
    try:
        module.Abstract()
    except TypeError as error:
        seen.append(str(error))
    record = module.Record(4)
    seen += [record.doubled(), record.doubled(by=3), record.text, module.Record.text.fget.__name__]
    seen += [repr(record) == repr(module.Record(4)), record == module.Record(4)]
    seen += [module.Record.__dict__["doubled"].__name__, copy.deepcopy(record).doubled()]
    with mock.patch.object(module, "function", autospec=True) as patched:
        patched.return_value = 9
        seen += [module.function(1, c=2), patched.call_args.kwargs, str(inspect.signature(patched))]
    with mock.patch.object(module.Base, "method", return_value=8):
        seen.append(module.Base().method(1))
    seen.append(plain(module.Base().method("token"), module))
    with mock.patch.object(module.Base, "over_class", return_value=8):
        seen.append(module.Base.over_class(1))
    seen.append(plain(module.Base.over_class("token"), module))
    seen.append(sorted(typing.get_type_hints(module.function)))
    seen.append(bound(module))
    return seen


@contextmanager
def situation(which: str, path: Path, program: Callable[[], Any]) -> Iterator[None]:
    if which == "nothing open":
        yield
        return
    if which == "record":
        with tracetape.record(path):
            yield
        return
    with tracetape.record(path):
        program()
    with tracetape.replay(path, live=["case"], emit=False):
        yield


@pytest.mark.parametrize("which", SITUATIONS)
@pytest.mark.parametrize("kind", SUBJECTS)
def test_a_marked_callable_answers_as_the_bare_one(
    kind: str, which: str, programs: tuple[Any, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bare, marked = programs
    expected = observe(bare, SUBJECTS[kind])
    with situation(which, tmp_path / "run.jsonl", lambda: observe(load("again", marked.mark), SUBJECTS[kind])):
        seen = observe(marked, SUBJECTS[kind])
    sys.modules.pop("again", None)
    assert seen == expected
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("which", SITUATIONS)
def test_with_lru_cache_contextmanager_singledispatch_property_abstractmethod_dataclass_mock_patch(
    which: str, programs: tuple[Any, Any], tmp_path: Path
) -> None:
    bare, marked = programs
    expected = with_others(bare)
    with situation(which, tmp_path / "run.jsonl", lambda: with_others(load("again", marked.mark))):
        seen = with_others(marked)
    sys.modules.pop("again", None)
    assert seen == expected


def test_under_a_tracer_provider_of_the_host_too() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "dev", str(HERE / "callables.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
    )
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts["different"] == []
    assert facts["compared"] == [*SUBJECTS, "with others"]
    assert facts["spans"] > 200


def main() -> None:
    """What the subprocess runs: the comparison under a provider, with every log record on stderr."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # -X dev: slow callbacks on a busy machine
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    bare = load("callables_bare", lambda function: function)
    marked = load("callables_marked", tracetape.boundary("case"))
    observers: dict[str, Any] = {
        kind: functools.partial(observe, subject_of=subject_of) for kind, subject_of in SUBJECTS.items()
    }
    observers["with others"] = with_others
    different = [kind for kind, look in observers.items() if look(bare) != look(marked)]
    assert not trace.get_current_span().get_span_context().is_valid
    print(
        json.dumps({"different": different, "compared": list(observers), "spans": len(spans.get_finished_spans())})
    )
