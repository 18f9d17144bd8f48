"""The pytest plugin: `@pytest.mark.tracetape(…)` with the fixture `tape`.

pytest loads it for everyone who has tracetape installed, so it imports the rest inside its hooks.

    @pytest.mark.tracetape("incident.otlp.jsonl", live=["place_order"])
    def test_the_order_is_blocked(tape):
        run_agent("Sell about $1,000 of ACME")
        assert tape.captured_result("place_order", 1)["blocked"]
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracetape.replayer.session import Tape

_tape_key = pytest.StashKey[Any]()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "tracetape(source, plan=None, *, live=(), …): the recording that the fixture `tape` replays; the path "
        "is relative to the test file, the other arguments are those of tracetape.replay",
    )


@pytest.fixture
def tape(request: pytest.FixtureRequest) -> Iterator[Tape]:
    """The replay that the test's `tracetape` mark names, open until the end of the test's call."""
    from tracetape.errors import TracetapeError

    try:
        session = _opened(request)
    except TracetapeError as error:
        pytest.fail(f"tracetape: {error}", pytrace=False)
    except TypeError as error:
        pytest.fail(f"@pytest.mark.tracetape: {error}", pytrace=False)
    request.node.stash[_tape_key] = session
    with_verdict = session.__enter__()
    yield with_verdict
    session.abandon()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """The verdict belongs to the call: a FAILURE with the report, not an error at teardown."""
    session = item.stash.get(_tape_key, None)
    if session is None:
        return (yield)
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
    if mark is None or not mark.args:
        pytest.fail(
            'the fixture `tape` needs the recording: @pytest.mark.tracetape("run.otlp.jsonl", live=["…"])',
            pytrace=False,
        )
    source, *rest = mark.args
    return tracetape.replay(request.path.parent / source, *rest, **mark.kwargs)


def _leave(session: Tape, error: BaseException | None) -> None:
    from tracetape.errors import DivergenceError, RecordingEnded

    try:
        session.__exit__(type(error) if error else None, error, error.__traceback__ if error else None)
    except (DivergenceError, RecordingEnded) as verdict:
        text = str(verdict)
    else:
        return
    pytest.fail(text, pytrace=False)
