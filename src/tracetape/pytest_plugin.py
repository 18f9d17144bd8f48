"""The pytest plugin: `@pytest.mark.tracetape(…)` with the fixture `tape`.

pytest loads it for everyone who has tracetape installed, so it imports the rest inside its hooks.

    @pytest.mark.tracetape("incident.otlp.jsonl", live=["place_order"])
    def test_the_order_is_blocked(tape):
        run_agent("Sell about $1,000 of ACME")
        assert tape.captured_result("place_order", 1)["blocked"]

The replay is open from the set-up of `tape` to the end of the test's call. From then to the end of `tape`, while
fixtures behind it are torn down, it is closed and nothing has taken its place: what they call fails.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from tracetape.errors import DivergenceError, RecordingEnded
    from tracetape.model.report import Report
    from tracetape.replayer.session import Tape

_tape_key = pytest.StashKey[Any]()  # of an item: its replay
_open_key = pytest.StashKey[Any]()  # of the configuration: the replay from the set-up of `tape` to its teardown


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tracetape(source, plan=None, *, live=(), …): the recording that the fixture `tape` replays; the path "
        "is relative to the test file, the other arguments are those of tracetape.replay",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A marked test is replayed although it does not ask for `tape`: whoever forgets the argument must not
    call a real model."""
    for item in items:
        names = getattr(item, "fixturenames", None)
        if names is not None and "tape" not in names and item.get_closest_marker("tracetape"):
            # A list of its own: the variants of a parametrized test share theirs, and may be marked one by one.
            at = sum(_is_shared(item, name) for name in names)  # those come first
            item.fixturenames = [*names[:at], "tape", *names[at:]]  # type: ignore[attr-defined]


def _is_shared(item: pytest.Item, name: str) -> bool:
    """Whether a fixture is of other tests too, and so not this one's to replay."""
    known = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return any(one.scope != "function" for one in known.get(name, ())[-1:])


@pytest.fixture
def tape(request: pytest.FixtureRequest) -> Iterator[Tape]:
    """The replay that the test's `tracetape` mark names, open until the end of the test's call."""
    from tracetape.errors import TracetapeError

    why = ""
    try:
        session = _opened(request)
        session.__enter__()
    except TracetapeError as error:
        why = f"tracetape: {error}"
    except TypeError as error:
        why = f"@pytest.mark.tracetape: {error}"
    if why:
        pytest.fail(why, pytrace=False)
    request.node.stash[_tape_key] = request.config.stash[_open_key] = session
    yield session
    del request.config.stash[_open_key]
    session.abandon()
    session.unseal()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: Any, request: Any) -> Generator[None, object, object]:
    """A fixture behind `tape` is replayed too. Before other plugins see its function, which they may run in a
    loop of theirs."""
    if request.config.stash.get(_open_key, None) is None:
        return (yield)
    from tracetape._carrying import carried

    function = fixturedef.func
    fixturedef.func = carried(function)
    try:
        return (yield)
    finally:
        fixturedef.func = function


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    except BaseException as error:
        session = item.stash.get(_tape_key, None)
        if session is not None:
            session.seal()
            _leave(session, _held(error))
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """An async test may run in a loop that others share."""
    if pyfuncitem.stash.get(_tape_key, None) is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return (yield)
    from tracetape._carrying import carried

    function = pyfuncitem.obj
    pyfuncitem.obj = carried(function)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = function


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The verdict belongs to the call: a FAILURE with the report, not an error at teardown."""
    session = item.stash.get(_tape_key, None)
    if session is None:
        if item.get_closest_marker("tracetape"):
            _fail_without_replay()
        return (yield)
    try:
        result = yield
    except BaseException as error:
        session.seal()
        _leave(session, _held(error))
        raise
    session.seal()
    kept = getattr(item, "_excinfo", None)  # of unittest, which keeps its errors for the report
    try:
        _leave(session, kept[0].value if kept else None)
    except BaseException:
        if kept:
            kept.clear()
        raise
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """What a fixture calls after the call of its test is not replayed, and is not real either."""
    if item.stash.get(_tape_key, None) is None:
        return (yield)
    from tracetape._carrying import Unwound
    from tracetape.errors import DivergenceError

    try:
        return (yield)
    except (Unwound, DivergenceError) as error:
        failed = pytest.fail.Exception(str(error), pytrace=False)
    finally:
        del item.stash[_tape_key]
    raise failed from None


def _opened(request: pytest.FixtureRequest) -> Tape:
    import tracetape

    mark = request.node.get_closest_marker("tracetape")
    if mark is None or not (mark.args or "source" in mark.kwargs):
        pytest.fail(
            'the fixture `tape` needs the recording: @pytest.mark.tracetape("run.otlp.jsonl", live=["…"])',
            pytrace=False,
        )
    options = dict(mark.kwargs)
    source, *rest = mark.args or (options.pop("source"),)
    from tracetape.sources.addresses import is_url

    if isinstance(source, (str, os.PathLike)) and not is_url(os.fspath(source)):
        source = request.path.parent / source
    return tracetape.replay(source, *rest, **options)


def _held(error: BaseException) -> BaseException:
    from tracetape._carrying import Unwound

    return error.held if isinstance(error, Unwound) else error


def _leave(session: Tape, error: BaseException | None) -> None:
    from tracetape.errors import DivergenceError, RecordingEnded

    try:
        session.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
    except (DivergenceError, RecordingEnded) as verdict:
        _fail(verdict, error, session.report)


def _fail(verdict: DivergenceError | RecordingEnded, error: BaseException | None, report: Report) -> NoReturn:
    """Fail with the whole report in place of a traceback, which would be one of ours; still as an exception
    of the verdict's class, for `xfail(raises=…)`."""
    text = str(verdict)
    if report.divergences:
        # The summary of a session shows the first line alone.
        text = f"{report.divergences[0].in_brief}\n\n{text}"
    if str(report) not in text:
        text = f"{text}\n\n{report}"
    if isinstance(error, Exception):
        # Often a consequence, and at times a failure of its own: named, so that nobody looks for it in vain.
        text += f"\n\nthe test itself ended with {type(error).__name__}: {error}"
    kind = type(verdict)
    failure = type(kind.__name__, (pytest.fail.Exception, kind), {"__module__": kind.__module__})
    failed = failure(text, pytrace=False)
    failed.report = getattr(verdict, "report", None)
    raise failed from None


def _fail_without_replay() -> NoReturn:
    pytest.fail(
        "the mark tracetape has opened no replay, and nothing was run: another fixture of the name `tape` hides "
        "the one of tracetape; give it another name",
        pytrace=False,
    )
