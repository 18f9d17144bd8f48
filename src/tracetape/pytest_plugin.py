"""The pytest plugin: `@pytest.mark.tracetape(…)` with the fixture `tape`.

pytest loads it for everyone who has tracetape installed, so it imports the rest inside its hooks.

    @pytest.mark.tracetape("incident.otlp.jsonl", live=["place_order"])
    def test_the_order_is_blocked(tape):
        run_agent("Sell about $1,000 of ACME")
        assert tape.captured_result("place_order", 1)["blocked"]
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from tracetape.errors import DivergenceError, RecordingEnded
    from tracetape.replayer.session import Tape

_tape_key = pytest.StashKey[Any]()


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
            item.fixturenames = ["tape", *names]  # type: ignore[attr-defined]


@pytest.fixture
def tape(request: pytest.FixtureRequest) -> Iterator[Tape]:
    """The replay that the test's `tracetape` mark names, open until the end of the test's call."""
    from tracetape.errors import TracetapeError

    try:
        session = _opened(request)
        session.__enter__()
    except TracetapeError as error:
        pytest.fail(f"tracetape: {error}", pytrace=False)
    except TypeError as error:
        pytest.fail(f"@pytest.mark.tracetape: {error}", pytrace=False)
    request.node.stash[_tape_key] = session
    yield session
    session.abandon()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The verdict belongs to the call: a FAILURE with the report, not an error at teardown."""
    session = item.stash.get(_tape_key, None)
    if session is None:
        return (yield)
    del item.stash[_tape_key]
    try:
        result = yield
    except BaseException as error:
        _leave(session, error)
        raise
    _leave(session, None)
    return result


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
    if isinstance(source, (str, os.PathLike)):
        source = request.path.parent / source
    return tracetape.replay(source, *rest, **options)


def _leave(session: Tape, error: BaseException | None) -> None:
    from tracetape.errors import DivergenceError, RecordingEnded

    try:
        session.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
    except (DivergenceError, RecordingEnded) as verdict:
        _fail(verdict, error, str(session.report))


def _fail(verdict: DivergenceError | RecordingEnded, error: BaseException | None, report: str) -> NoReturn:
    """Fail with the whole report in place of a traceback, which would be one of ours; still as an exception
    of the verdict's class, for `xfail(raises=…)`."""
    text = str(verdict)
    if report not in text:
        text = f"{text}\n\n{report}"
    if isinstance(error, Exception):
        # Often a consequence, and at times a failure of its own: named, so that nobody looks for it in vain.
        text += f"\n\nthe test itself ended with {type(error).__name__}: {error}"
    kind = type(verdict)
    failure = type(kind.__name__, (pytest.fail.Exception, kind), {"__module__": kind.__module__})
    failed = failure(text, pytrace=False)
    failed.report = getattr(verdict, "report", None)
    raise failed from None
