"""Five agents in five styles: each replays with nothing real, tells a planted change by name, can be repaired."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import tracetape
from tests.acceptance.agents import chatting, delegating, gathering, retrieving, retrying
from tracetape.errors import DivergenceError
from tracetape.model.recording import Recording

ROOT = Path(__file__).parents[2]
AGENTS: dict[str, Any] = {
    "retrying": retrying,
    "gathering": gathering,
    "chatting": chatting,
    "retrieving": retrieving,
    "delegating": delegating,
}
TIMES = 4  # jitter: an order that suits once may not suit again


def record(name: str, folder: Path) -> tuple[Path, Any]:
    """The recording, and what the agent answered. A world that was not asked would prove nothing."""
    path = folder / f"{name}.otlp.jsonl"
    before = AGENTS[name].CALLS.total()
    with tracetape.record(path):
        answer = AGENTS[name].run()
    assert AGENTS[name].CALLS.total() > before
    return path, answer


def the_call(recording: Recording, boundary: str, **inputs: Any) -> str:
    """The name of the one recorded call with these inputs. In which order calls began differs from run to run."""
    names = [
        one.name
        for one in recording.crossings
        if one.boundary == boundary and inputs.items() <= dict(one.inputs).items()
    ]
    assert len(names) == 1
    return names[0]


def command(seed: int, *words: object) -> subprocess.CompletedProcess[str]:
    """`tracetape …` in a process of its own, in which sets of strings have an order of their own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACETAPE_"))}
    return subprocess.run(
        [sys.executable, "-m", "tracetape", *map(str, words)],
        cwd=ROOT,
        env={**clean, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_recording_holds_what_its_agent_is_about(tmp_path: Path) -> None:
    """Else the tests below would pass for agents to which nothing ever happens."""
    recordings = {name: tracetape.load(record(name, tmp_path)[0]) for name in AGENTS}
    assert {name: one.grade for name, one in recordings.items()} == dict.fromkeys(AGENTS, "exact")

    def outcomes(name: str, boundary: str) -> list[str | None]:
        return [one.outcome for one in recordings[name].crossings if one.boundary == boundary]

    # Two time-outs before the first item is paid, one call for each of the other two.
    assert outcomes("retrying", "pay_out") == ["raised", "raised", "returned", "returned", "returned"]
    assert Counter(outcomes("gathering", "fetch")) == {"returned": 11, "cancelled": 1}
    # Left at the end of each of the four tool calls; the answer is read to its end.
    streams = [one for one in recordings["chatting"].crossings if one.boundary == "ask"]
    assert [one.stream_end for one in streams] == ["abandoned"] * 4 + ["finished"]
    assert outcomes("chatting", "convert") == ["returned", "raised", "returned"]
    # Three searches, each over two shards in threads of its own.
    searches = [one for one in recordings["retrieving"].crossings if one.boundary == "search"]
    assert [[below.boundary for below in one.children] for one in searches] == [["embed", "scan", "scan"]] * 3
    assert all(type(one.result) is set for one in recordings["retrieving"].crossings if one.boundary == "scan")
    assert outcomes("delegating", "search_fares") == ["returned", "raised", "returned"]
    assert isinstance(recordings["delegating"]["visa_rules", 3].error, SystemExit)
    assert outcomes("delegating", "book") == ["returned"] * 3


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_replays_to_the_same_answer_with_zero_live_calls(name: str, tmp_path: Path) -> None:
    path, answer = record(name, tmp_path)
    really_called = Counter(AGENTS[name].CALLS)
    for _ in range(TIMES):
        with tracetape.replay(path) as tape:
            replayed = AGENTS[name].run()
        assert replayed == answer
        assert type(replayed) is type(answer)
        assert really_called == AGENTS[name].CALLS
        assert tape.report.verdict == "same"
        assert (tape.report.live_calls, tape.report.stale, tape.report.divergences) == ([], [], [])
        assert tape.report.notes == []
        assert tape.report.model_calls == 0
        # All of it was asked for, each once: what is inside a served call alone was not.
        asked = sorted(step.name for step in tape.report.steps)
        assert asked == sorted(one.name for one in tape.recording.crossings if one.parent is None)


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_replays_in_a_fresh_process_to_the_same_printed_answer(name: str, tmp_path: Path) -> None:
    path, module = tmp_path / "run.otlp.jsonl", f"tests.acceptance.agents.{name}"
    recorded = command(1, "record", "-o", path, "-m", module)
    assert recorded.returncode == 0, recorded.stderr
    replayed = command(2, "replay", path, "-m", module)
    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout == recorded.stdout != ""
    assert "real calls: 0\n" in replayed.stderr
    assert ": 0 live, " in replayed.stderr
    assert "0 divergences, model calls: 0" in replayed.stderr
    # Here its classes are those of a module, there they were those of `__main__`.
    with tracetape.replay(path):
        assert f"{AGENTS[name].run()}\n" == recorded.stdout


@pytest.mark.parametrize(
    ("name", "live"),
    [("retrieving", ["search"]), ("delegating", list(delegating.AGENTS))],
    ids=lambda one: str(one),
)
def test_what_is_called_inside_live_agents_is_served_from_under_them(
    name: str, live: list[str], tmp_path: Path
) -> None:
    """Their own code runs, in threads too; models, tools, indexes do not."""
    path, answer = record(name, tmp_path)
    really_called = Counter(AGENTS[name].CALLS)
    for _ in range(TIMES):
        with tracetape.replay(path, live=live) as tape:
            assert AGENTS[name].run() == answer
        assert really_called == AGENTS[name].CALLS
        assert (tape.report.verdict, tape.report.model_calls, tape.report.stale) == ("same", 0, [])
        assert sorted(one.name for one in tape.report.steps) == sorted(
            one.name for one in tape.recording.crossings
        )
        assert {step.boundary for step in tape.report.live_calls} == set(live)
        for step in tape.report.steps:
            above = step.recorded.parent if step.recorded else None
            assert (step.parent.name if step.parent else None) == (above.name if above else None)
            assert step.outcome_changes == ()


@dataclass(frozen=True)
class Planted:
    """A bug in the code between the boundaries, and the one call that it changes.

    helper, bug:  the function of the agent's module that has it, the function with it.
    boundary, inputs:  the call that is to be blamed, by what was recorded of it.
    changes:      path, recorded value, present value, as texts.
    live:         boundaries that must run for the bug to be reached.
    """

    name: str
    helper: str
    bug: Callable[[Any], Any]
    boundary: str
    inputs: Mapping[str, Any]
    changes: list[tuple[str, str, str]]
    live: tuple[str, ...] = ()


TO_QUITO = delegating.LEGS[1]

PLANTED = {
    "retrying: thousands are taken for euros": Planted(
        "retrying",
        "cents_of",
        lambda price: round(float(price.split(",")[0]) * 100),
        "pay_out",
        {"item": "desk"},
        [("$.cents", "125000", "100")],
    ),
    "gathering: one of twelve asks in another unit": Planted(
        "gathering",
        "unit_of",
        lambda station: "F" if station == "Galway" else "C",
        "fetch",
        {"place": "Galway"},
        [("$.unit", '"C"', '"F"')],
    ),
    # The place is all that tells the twelve apart; the ids, which are made anew, say nothing.
    "gathering: one of twelve asks for another place": Planted(
        "gathering",
        "place_of",
        lambda station: "Galway, Ireland" if station == "Galway" else station,
        "fetch",
        {"place": "Galway"},
        [("$.place", '"Galway"', '"Galway, Ireland"')],
    ),
    "gathering: the one that hangs asks in another unit": Planted(
        "gathering",
        "unit_of",
        lambda station: "F" if station == gathering.HANGS else "C",
        "fetch",
        {"place": gathering.HANGS},
        [("$.unit", '"C"', '"F"')],
    ),
    "chatting: the cents are dropped": Planted(
        "chatting",
        "amount_of",
        lambda text: Decimal(text.replace(",", "").split(".")[0]),
        "convert",
        {"currency": "GBP"},
        [("$.amount", '"1250.50"', '"1250"')],
    ),
    "retrieving: one of the searches has another limit": Planted(
        "retrieving",
        "limit_of",
        lambda interest: 20 if interest == "sea" else 2,
        "search",
        {"query": retrieving.Query("sea in town", frozenset({"sea"}), 2)},
        [("$.query.limit", "2", "20")],
    ),
    # The coordinator lets what is no Exception through; its caller swallows it.
    "delegating: another currency, far below": Planted(
        "delegating",
        "currency_of",
        lambda leg: "USD" if leg == TO_QUITO else "EUR",
        "search_fares",
        {"leg": TO_QUITO},
        [("$.currency", '"EUR"', '"USD"')],
        live=delegating.AGENTS,
    ),
    # The coordinator swallows it at once.
    "delegating: other days, where all is swallowed": Planted(
        "delegating",
        "days_in",
        lambda leg: 90 if leg == TO_QUITO else 30,
        "visa_rules",
        {"country": "QUITO"},
        [("$.days", "30", "90")],
        live=delegating.AGENTS,
    ),
}


@pytest.mark.parametrize("bug", PLANTED.values(), ids=PLANTED)
def test_each_agent_finds_a_planted_change_by_name(
    bug: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = record(bug.name, tmp_path)
    blamed = the_call(tracetape.load(path), bug.boundary, **bug.inputs)
    monkeypatch.setattr(AGENTS[bug.name], bug.helper, bug.bug)
    really_called = Counter(AGENTS[bug.name].CALLS)
    for _ in range(TIMES):
        with pytest.raises(DivergenceError) as caught:
            with tracetape.replay(path, live=bug.live) as tape:
                AGENTS[bug.name].run()
        assert really_called == AGENTS[bug.name].CALLS
        [divergence] = tape.report.divergences
        # Nothing is answered after it; another thread may have been on its way.
        halted = [step.name for step in tape.report.steps if step.mode == "halted"]
        assert halted == [blamed]
        assert bug.name == "retrieving" or tape.report.steps[-1].name == blamed
        assert (divergence.kind, divergence.name) == ("changed", blamed)
        assert [(one.path, one.recorded, one.replayed) for one in divergence.changes] == bug.changes
        where, recorded, now = bug.changes[0]
        assert f"{where}: recorded {recorded}, now {now}" in str(caught.value)
        assert blamed in str(caught.value)


def test_in_a_loop_the_first_changed_call_is_blamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three attempts for the lamp, so the desk is the fourth transfer; the pen, changed as well, is never paid."""
    path, _ = record("retrying", tmp_path)
    monkeypatch.setattr(retrying, "cents_of", lambda price: 1 if price != retrying.ORDER["lamp"] else 4950)
    with pytest.raises(DivergenceError, match=r"pay_out@4 was called with other inputs"):
        with tracetape.replay(path):
            retrying.run()


def test_an_agent_that_swallows_everything_still_fails_its_process(tmp_path: Path) -> None:
    """It ends with a fallback answer, status 0 of its own; what a build looks at is the exit status."""
    path = tmp_path / "run.otlp.jsonl"
    module = "tests.acceptance.agents.delegating"
    assert command(1, "record", "-o", path, "-m", module, delegating.BUDGET).returncode == 0
    replayed = command(1, "replay", path, "-m", module, 500)
    assert "Something is booked." in replayed.stdout
    assert replayed.returncode == 1
    assert "DIVERGED: book@1 was called with other inputs than recorded (before the cut)" in replayed.stderr
    assert "$.budget: recorded 1000, now 500" in replayed.stderr
    assert "real calls: 0\n" in replayed.stderr


def test_strict_tells_a_changed_prompt_inside_live_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it a model inside a live agent is served and listed, for a repaired agent asks other things."""
    path, answer = record("delegating", tmp_path)
    real = delegating.ask

    def asks_politely(prompt: str) -> str:
        return real(f"please: {prompt}" if prompt == "the country of Quito" else prompt)

    monkeypatch.setattr(delegating, "ask", asks_politely)
    asked = the_call(tracetape.load(path), "ask", prompt="the country of Quito")
    with tracetape.replay(path, live=delegating.AGENTS) as tape:
        assert delegating.run() == answer
    assert [step.name for step in tape.report.stale] == [asked]

    with pytest.raises(DivergenceError):
        # Under strict an id made anew is a difference too.
        with tracetape.replay(path, live=delegating.AGENTS, strict=True, ignore=["$.request_id"]) as tape:
            delegating.run()
    assert tape.report.divergences[0].name == asked
    [change] = tape.report.divergences[0].changes
    assert (change.recorded, change.replayed) == ('"the country of Quito"', '"please: the country of Quito"')


class CappedAgent(retrying.RefundAgent):
    @tracetape.boundary("pay_out", kind="tool")
    def pay_out(self, item: str, cents: int, key: str) -> dict[str, Any]:
        return {"refused": "over 1,000 euros"} if cents > 100_000 else self.bank.transfer(cents, key)


def repair_retrying(path: Path, monkeypatch: pytest.MonkeyPatch) -> tracetape.Tape:
    """What was paid is refused; then the agent asks a person, which it did not do that day."""
    with tracetape.replay(path, live=["pay_out@4"]) as tape:
        assert tape.run(retrying.run, CappedAgent) is tracetape.ENDED
    assert tape.captured_result("pay_out", 4) == {"refused": "over 1,000 euros"}
    assert tape["pay_out", 4].inputs["cents"] == 125_000
    assert tape.report.verdict == "ended"
    assert tape.report.ended == "left the recording at ask_a_person@new@1, after pay_out@4 ran live"
    with pytest.raises(TimeoutError):
        tape.captured_result("pay_out", 1)  # served as it was
    return tape


def repair_gathering(path: Path, monkeypatch: pytest.MonkeyPatch) -> tracetape.Tape:
    """The station that hung is read from a mirror."""
    reading = gathering.Reading(gathering.HANGS, 14, "C", datetime(2026, 1, 1, tzinfo=UTC))

    async def fetch_from_mirror(place: str, unit: str, call_id: str) -> gathering.Reading:
        return reading

    monkeypatch.setattr(gathering, "fetch", tracetape.boundary("fetch", kind="tool")(fetch_from_mirror))
    hung = the_call(tracetape.load(path), "fetch", place=gathering.HANGS)
    with tracetape.replay(path, live=[hung]) as tape:
        gathering.run()
    assert tape.captured_result("fetch", hung.partition("@")[2]) == reading
    assert [step.name for step in tape.report.stale] == ["merge@1"]
    assert tape["merge", 1].inputs["readings"][list(gathering.CELSIUS).index(gathering.HANGS)] == reading
    assert tape.report.notes == ["not called after the cut: usual@1"]
    return tape


def repair_chatting(path: Path, monkeypatch: pytest.MonkeyPatch) -> tracetape.Tape:
    """The tool knows yen: from there on the model would have been told something else."""

    @tracetape.boundary("convert", kind="tool")
    def convert_yen_too(amount: Decimal, currency: str) -> Decimal:
        return amount / 100 if currency == "JPY" else Decimal("-1")

    monkeypatch.setitem(chatting.TOOLS, "convert", convert_yen_too)
    with tracetape.replay(path, live=["convert@2"]) as tape:
        chatting.run()
    assert tape.captured_result("convert", 2) == Decimal("0.8")
    # The model was asked five times; the first two know nothing of yen yet.
    assert [step.name for step in tape.report.stale] == ["ask@3", "ask@4", "ask@5"]
    assert tape["ask", 3].inputs["messages"][-1]["content"] == "0.8"
    assert tape["ask", 3].changes[0].recorded == '"error: LookupError: no rate for JPY"'
    return tape


def repair_retrieving(path: Path, monkeypatch: pytest.MonkeyPatch) -> tracetape.Tape:
    """One search is repaired: its vector and the scans of its shards are those of that day."""
    scan = retrieving.scan

    @tracetape.boundary("search", kind="retrieval")
    def search_last_first(query: retrieving.Query) -> list[retrieving.Passage]:
        vector = retrieving.embed(query.text)
        found = [passage for shard in retrieving.SHARDS for passage in scan(vector, query.tags, shard)]
        return sorted(found, key=lambda one: one.document, reverse=True)

    monkeypatch.setattr(retrieving, "search", search_last_first)
    wanted = retrieving.Query("sea in town", frozenset({"sea"}), retrieving.limit_of("sea"))
    name = the_call(tracetape.load(path), "search", query=wanted)
    with tracetape.replay(path, live=[name]) as tape:
        retrieving.run()
    # The library has two documents on the sea.
    documents = [one.document for one in tape.captured_result("search", name.partition("@")[2])]
    assert documents == ["harbour.md", "ferries.md"]
    inside = [step for step in tape.report.steps if step.parent is not None]
    assert [(step.boundary, step.mode) for step in inside] == [
        ("embed", "stub"),
        ("scan", "stub"),
        ("scan", "stub"),
    ]
    assert tape.report.stale == []  # the same passages, as a set
    return tape


def repair_delegating(path: Path, monkeypatch: pytest.MonkeyPatch) -> tracetape.Tape:
    """A leg without a fare is no longer booked at any price; the agents below are served, errors too."""

    @tracetape.boundary("book", kind="agent")
    def book_or_hold(leg: delegating.Leg, budget: int) -> delegating.Booking:
        papers = delegating.check_papers(leg)
        try:
            return delegating.Booking(leg, delegating.find_fare(leg), papers)
        except ConnectionError as error:
            return delegating.Booking(leg, 0, papers, f"held: {error}")

    monkeypatch.setattr(delegating, "book", book_or_hold)
    with tracetape.replay(path, live=["book@2"]) as tape:
        delegating.run()
    held = delegating.Booking(TO_QUITO, 0, "30 days without a visa", "held: QUITO: connection reset")
    assert tape.captured_result("book", 2) == held
    assert tape["summarise", 1].inputs["bookings"][1] == held
    assert [step.name for step in tape.report.stale] == ["summarise@1"]
    assert [tape[name, 2].mode for name in ("find_fare", "check_papers")] == ["stub", "stub"]
    return tape


REPAIRS = {
    "retrying": repair_retrying,
    "gathering": repair_gathering,
    "chatting": repair_chatting,
    "retrieving": repair_retrieving,
    "delegating": repair_delegating,
}


@pytest.mark.parametrize("name", AGENTS)
def test_each_agent_can_be_repaired_with_one_function_live(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = record(name, tmp_path)
    really_called = Counter(AGENTS[name].CALLS)
    tape = REPAIRS[name](path, monkeypatch)
    assert really_called == AGENTS[name].CALLS  # none of the repaired functions asks its world
    [live] = tape.report.live_calls
    assert live.outcome_changes
    assert (tape.report.divergences, tape.report.model_calls) == ([], 0)
    assert f"{live.name}" in str(tape.report)
    assert ": 1 live, " in tape.report.first_line


def test_a_repaired_agent_may_leave_out_a_call_that_it_made_that_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a live agent does inside is after the cut: not to make a call any more is often the repair itself."""
    path, _ = record("delegating", tmp_path)

    @tracetape.boundary("book", kind="agent")
    def book_or_leave_it(leg: delegating.Leg, budget: int) -> delegating.Booking | None:
        try:
            return delegating.Booking(leg, delegating.find_fare(leg), delegating.check_papers(leg))
        except ConnectionError:
            return None  # no fare, so there is no need of papers

    monkeypatch.setattr(delegating, "book", book_or_leave_it)
    with tracetape.replay(path, live=["book@2"]) as tape:
        delegating.run()
    assert tape.captured_result("book", 2) is None
    assert tape.report.verdict == "same"
    assert any("check_papers@2" in note for note in tape.report.notes)  # not lost in silence
