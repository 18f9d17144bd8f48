"""`@boundary`, the mark in the code; `effect`, `checkpoint` are boundaries without a function of their own."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from tracetape import _processes, _sessions
from tracetape._binding import Names
from tracetape._crossing import (
    BARE,
    cross_async_generator,
    cross_coroutine,
    cross_function,
    cross_generator,
)
from tracetape._wrapping import wrap
from tracetape.codec import storable
from tracetape.errors import UsageError
from tracetape.model.call import ASYNC_GENERATOR, GENERATOR, PLAIN, BoundarySpec, Call, Mode
from tracetape.model.names import nearest
from tracetape.recorder import host, joining
from tracetape.recorder.mode import Recorder, on_host
from tracetape.semconv.names import KINDS

if TYPE_CHECKING:
    from tracetape._frames import ReplaySession
    from tracetape.recorder.run import Run

__all__ = ["boundary", "checkpoint", "effect"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Text = str | Callable[..., str | None] | None

_OPTIONAL = re.compile(r"str \| None|None \| str|(?:[\w.]+\.)?Optional\[str\]")
_TEXT = re.compile(
    rf"str|{_OPTIONAL.pattern}|(?:[\w.]+\.)?(?:Async)?(?:Iterator|Iterable|Generator)\[str(?:, [^\[\]]*)?\]"
)


@overload
def boundary(name: F, /) -> F: ...


@overload
def boundary(
    name: str | None = None,
    /,
    *,
    kind: str = "custom",
    version: Text = None,
    model: Text = None,
    input: Callable[..., Mapping[str, Any]] | None = None,
    output: Callable[[Any], Any] | None = None,
    key: Callable[..., Any] | None = None,
    usage: Callable[[Any], Mapping[str, int]] | None = None,
    answer: Callable[[Any], Any] | None = None,
) -> Callable[[F], F]: ...


def boundary(
    name: Any = None,
    /,
    *,
    kind: str = "custom",
    version: Text = None,
    model: Text = None,
    input: Callable[..., Mapping[str, Any]] | None = None,  # noqa: A002
    output: Callable[[Any], Any] | None = None,
    key: Callable[..., Any] | None = None,
    usage: Callable[[Any], Mapping[str, int]] | None = None,
    answer: Callable[[Any], Any] | None = None,
) -> Any:
    """Mark a function as a step whose inputs and outcome are recorded, and replayed.

    Works on functions, methods, class and static methods, coroutine functions, generator and async
    generator functions, and callable objects, above or below other decorators. With no recording, replay
    or tracer provider the function runs as if it were not marked.

    name:     default: `__qualname__` after its last `<locals>.`.
    kind:     llm, tool, retrieval, memory, embedding, agent, router, custom.
    version, model:  a str, or a function of the arguments.
    input:    a function of the arguments; the mapping it returns is recorded instead of the arguments.
    output:   a function of the result; what it returns is recorded, hence served, instead of the result.
    key:      a function of the arguments (of what `input` gives, if that is given too); its value
              identifies the call when inputs are compared.
    usage:    a function of the result → {"input_tokens": …, "output_tokens": …}; default: the usage of a
              known SDK response.
    answer:   asked in replays of another instrumentation's recording, which does not know what this function makes
              of what came back: a function of a model's answer in the normal form (`tracetape.model.messages`), or
              of the recorded result of any other kind; what it returns is served.
    The functions get the arguments by name, without self or cls.

    Raises UsageError at once for an unknown kind or what cannot be called.

        @tracetape.boundary("place_order", kind="tool", version="2026.11.1")
        def place_order(symbol: str, quantity: int, side: str) -> dict: ...
    """
    if name is not None and not isinstance(name, str):
        return _mark(name, BoundarySpec(name=_name_of(name), code=_code_of(name)))
    if name == "":
        raise UsageError('a boundary has a name: @boundary("place_order"), or @boundary alone')
    if kind not in KINDS:
        raise UsageError(f"kind={kind!r} is no kind of boundary" + nearest(str(kind), KINDS))
    for argument, function in (
        ("input", input),
        ("output", output),
        ("key", key),
        ("usage", usage),
        ("answer", answer),
    ):
        if function is not None and not callable(function):
            raise UsageError(f"{argument}= of @boundary takes a function, not {function!r}")

    def decorate(function: F) -> F:
        spec = BoundarySpec(
            name=name or _name_of(function),
            kind=kind,
            version=version,
            model=model,
            input=input,
            output=output,
            key=key,
            usage=usage,
            answer=answer,
            code=_code_of(function),
        )
        marked: F = _mark(function, spec)
        return marked

    return decorate


def checkpoint(name: str, value: Any) -> None:
    """A state that the run passed through: recorded, and on replay compared with the recorded one.

    Before the cut a different state is a divergence; after it, it is listed.

        tracetape.checkpoint("positions", portfolio.positions)
    """
    spec = _own_spec("checkpoint", name)
    mode = _mode()
    if mode is not None:
        cross_function(mode, Call(spec, {"value": value}, _nothing))


def effect(name: str, function: Callable[[], T]) -> T:
    """A value that differs from run to run (a clock, an id, a random draw): run and recorded once, and
    served on replay.

    function:  called without arguments; what it returns is returned (a coroutine function's coroutine
               is to be awaited).

        now = tracetape.effect("now", datetime.now)
    """
    spec = _own_spec("effect", name)
    if not callable(function):
        raise UsageError(f'effect("{name}", function) takes a function without arguments, not {function!r}')
    mode = _mode()
    if mode is None:
        return function()
    value: T = cross_function(mode, Call(spec, {}, function, storable=storable))
    return value


def _own_spec(kind: str, name: str) -> BoundarySpec:
    if not isinstance(name, str) or not name:
        raise UsageError(f'{kind} takes a name first, as in {kind}("name", …), not {name!r}')
    _sessions.mark(name, kind)
    return _spec_of(kind, name)


@functools.lru_cache(maxsize=1024)
def _spec_of(kind: str, name: str) -> BoundarySpec:
    """The same for each call: a loop takes one effect thousands of times."""
    return BoundarySpec(name=name, kind=kind)


def _mark(function: Any, spec: BoundarySpec) -> Any:
    target = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
    if inspect.isclass(target) or not callable(target):
        raise UsageError(f"@boundary marks a function or another callable, not {function!r}")
    _sessions.mark(spec.name, spec.kind)
    driver = _driver_of(target)
    names = Names(target, _name_of(target), static=isinstance(function, staticmethod))
    gives_text, may_give_none = _text_given(target)
    spec = replace(
        spec,
        shape=_SHAPES.get(driver, PLAIN),
        gives_text=gives_text,
        may_give_none=may_give_none,
        defaults=names.defaults,
    )
    bind = names.plain
    target_name = getattr(target, "__name__", spec.name)
    target_qualname = getattr(target, "__qualname__", spec.name)

    def cross(wrapped: Callable[..., Any], instance: Any, args: Any, kwargs: Any) -> Any:
        __tracebackhide__ = True
        if _sessions.quiet and host.provider() is None:
            return wrapped(*args, **kwargs)
        mode = _mode()
        if mode is None:
            return wrapped(*args, **kwargs)
        if instance is None:
            arguments = bind(args, kwargs)
        else:
            # The "instance" of a builtin is its module (wrapt before 2).
            arguments = names.of(args, kwargs, bound=not inspect.ismodule(instance))
        invoke: Callable[[], Any] = functools.partial(wrapped, *args, **kwargs)
        if arguments is None:
            # The signature was not true, or else the call raises TypeError: at once, as without us.
            arguments = {"args": args, "kwargs": kwargs}
            if driver is not cross_function:
                source = invoke()
                invoke = lambda: source  # noqa: E731
        made = driver(mode, Call(spec, arguments, invoke, storable=storable))
        if driver is not cross_function:
            # The names of the coroutine or generator, which tasks and warnings show.
            made.__name__, made.__qualname__ = target_name, target_qualname
        return made

    return wrap(function, cross, lambda plain: (_mark, (plain, spec)))


def _mode() -> Mode | None:
    """What runs a call made here; None where nobody listens."""
    runs = cast("tuple[Run, ...]", _sessions.recordings_alone())  # as `record` opens them
    if runs:
        return Recorder(BARE, runs, runs[-1].settings)
    replay = _sessions.replay_alone()
    if replay is not None:
        return _replaying(replay)
    if _sessions.idle():
        return on_host() if host.present() else None
    if not _sessions.has_looked():
        _join()
        return _mode()
    runs = cast("tuple[Run, ...]", _sessions.recordings())
    replay = _sessions.replay()
    if replay is None:
        if runs:
            return Recorder(BARE, runs, runs[-1].settings)
        return on_host() if host.present() else None
    if runs:
        return Recorder(replay.mode, runs, runs[-1].settings)
    return _replaying(replay)


def _replaying(replay: ReplaySession) -> Mode:
    return on_host(replay.mode) if replay.emits and host.present() else replay.mode


def _join() -> None:
    """Once in a process, at its first call: it may have been started inside a session of another one."""
    word = _processes.inherited()
    if word is not None and word.kind == "replay":
        from tracetape.replayer.elsewhere import Elsewhere

        _sessions.join(replay=Elsewhere(word))
    else:
        joining.join(word)


def _driver_of(target: Any) -> Callable[[Mode, Call], Any]:
    asked = target if inspect.isroutine(target) or isinstance(target, functools.partial) else target.__call__
    if inspect.isasyncgenfunction(asked):
        return cross_async_generator
    if inspect.iscoroutinefunction(asked):
        return cross_coroutine
    if inspect.isgeneratorfunction(asked):
        return cross_generator
    return cross_function


_SHAPES: dict[Any, str] = {cross_generator: GENERATOR, cross_async_generator: ASYNC_GENERATOR}


def _text_given(target: Any) -> tuple[bool, bool]:
    """Whether it gives a str, or a stream of such, and whether it may give None: by its annotation; one that
    cannot be evaluated (yet, from Python 3.14 on) says nothing."""
    try:
        said = getattr(target, "__annotations__", None)
    except Exception:  # noqa: BLE001
        return False, False
    found = said.get("return") if isinstance(said, dict) else None
    text = found.__name__ if isinstance(found, type) else str(found)
    return _TEXT.fullmatch(text) is not None, _OPTIONAL.fullmatch(text) is not None


def _name_of(function: Any) -> str:
    target = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
    target = target.func if isinstance(target, functools.partial) else target
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return str(name).rsplit("<locals>.", 1)[-1]


def _code_of(function: Any) -> str:
    """`code.function.name`: the fully qualified name (semantic conventions, registry code)."""
    target = function.__func__ if isinstance(function, (classmethod, staticmethod)) else function
    module = getattr(target, "__module__", None)
    name = getattr(target, "__qualname__", None)
    return f"{module}.{name}" if module and name else ""


def _nothing() -> None:
    return None
