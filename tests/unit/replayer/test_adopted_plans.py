"""Plans over recordings of others: a function's recorded calls are known when it calls, and so is the cut."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import tracetape
from tests.unit.sources.conventions.spans import OPENINFERENCE, assistant, call, calls, llm, result, tool, user
from tracetape import ReplayPlan
from tracetape.codec.reader import Reader
from tracetape.errors import DivergenceError, NotReplayable, PlanError
from tracetape.model.messages import text_of
from tracetape.model.recording import Recording
from tracetape.model.span import SpanRecord
from tracetape.sources.assemble import assemble

ASK = [user("sell")]
SOLD = [*ASK, calls(call("c", "sell", quantity=5)), result("c", {"status": "filled"})]
SUM_UP = [user("sum up")]


def recorded(*spans: SpanRecord) -> Recording:
    return assemble(spans, source="run", everything=True, values=Reader(()))


RUN = recorded(
    llm(1, 10, 20, ASK, SOLD[1]),
    tool(2, 21, 22, "sell", {"quantity": 5}, {"status": "filled"}),
    llm(3, 30, 40, SOLD, assistant("sold")),
    llm(4, 50, 60, SUM_UP, assistant("all sold")),
)


def said(answer: dict[str, Any]) -> Any:
    return text_of(answer["messages"][0]) or answer["messages"][0]["parts"]


@tracetape.boundary("decide", kind="llm", answer=said)
def decide(messages: list[dict[str, Any]]) -> Any:
    return "decided now"


@tracetape.boundary("sum_up", kind="llm", answer=said)
def sum_up(prompt: str) -> str:
    return "summed up now"


@tracetape.boundary("sell", kind="tool")
def sell(quantity: int) -> Any:
    return {"status": "blocked"}


def agent() -> Any:
    decide(ASK)
    given = sell(5)
    return decide([*SOLD[:2], result("c", given)]), sum_up("sum up")


def test_the_cut_is_at_the_calls_of_the_function_that_is_named() -> None:
    with tracetape.replay(RUN, live=["sum_up"]) as tape:
        assert agent() == ("sold", "summed up now")
    assert [(one.name, one.mode, one.after_cut) for one in tape.report.steps] == [
        ("decide@1", "stub", False),
        ("sell@1", "stub", False),
        ("decide@2", "stub", False),
        ("sum_up@3", "live", False),
    ]


def test_before_it_another_functions_changed_call_diverges() -> None:
    with pytest.raises(DivergenceError, match=r"decide@1 was called with other inputs"):
        with tracetape.replay(RUN, live=["sum_up"]):
            decide([user("buy")])


def test_after_it_what_has_changed_is_stale_and_what_is_not_called_is_listed() -> None:
    with tracetape.replay(RUN, plan=ReplayPlan().live("decide", 1)) as tape:
        assert decide(ASK) == "decided now"
        assert sum_up("another") == "all sold"  # the nearest: it has one message too
    assert tape["sum_up", 3].stale
    assert tape.report.divergences == []
    assert [one for one in tape.report.notes if one.startswith("not called after the cut")] == [
        "not called after the cut: sell@1",
        "not called after the cut: chat@2",
    ]


def test_live_by_the_recorded_name_is_no_name_that_never_ran() -> None:
    with tracetape.replay(RUN, live=["chat"], after_cut="live") as tape:
        agent()
    assert not [note for note in tape.report.notes if "never ran live" in note]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ReplayPlan().patch("decide", 4, "x"), "decide@4.* has 3 of chat: the last is chat@3"),
        (ReplayPlan().patch("sell", 2, "x"), "sell@2.* has 1 of sell: the last is sell@1"),
        (ReplayPlan().stub("sel"), "the plan names sel, .*did you mean 'sell'"),
        (ReplayPlan().stub("buy"), "the plan names buy, and run has no crossing of it; there are: chat, sell"),
    ],
    ids=["beyond the last", "of a tool", "a typo", "marked, and not recorded"],
)
def test_what_cannot_be_meant_is_refused(plan: ReplayPlan, message: str) -> None:
    @tracetape.boundary("buy", kind="tool")
    def buy() -> None: ...

    with pytest.raises(PlanError, match=message):
        tracetape.replay(RUN, plan)


@pytest.mark.parametrize("plan", [ReplayPlan().patch("sum_up", 1, "x"), ReplayPlan().stub("sum_up", 2)])
def test_what_was_never_meant_is_a_divergence(plan: ReplayPlan) -> None:
    name = plan.entries[0].name
    with pytest.raises(DivergenceError, match=f"the plan names {name}, and no call of sum_up was that one"):
        with tracetape.replay(RUN, plan):
            agent()


def test_a_live_function_needs_no_recorded_answer() -> None:
    run = recorded(llm(1, 10, 20, ASK, None), llm(2, 30, 40, SUM_UP, assistant("all sold")))
    with pytest.raises(NotReplayable, match="chat@1"):
        tracetape.replay(run)
    with tracetape.replay(run, live=["decide"]):
        assert decide(ASK) == "decided now"
        assert sum_up("sum up") == "all sold"


def test_a_patch_is_asked_with_what_the_function_would_hand_out() -> None:
    with tracetape.replay(RUN, ReplayPlan().patch("sum_up", 3, lambda text: text.upper())):
        assert agent()[1] == "ALL SOLD"


def test_a_stream_is_patched_by_its_items_whatever_was_recorded() -> None:
    @tracetape.boundary("sum_up", kind="llm", answer=said)
    def stream(prompt: str) -> Iterator[str]:
        yield "now"

    run = recorded(llm(1, 50, 60, SUM_UP, assistant("all sold")))
    with tracetape.replay(run, ReplayPlan().patch("sum_up", 1, ["a", "b"])):
        assert list(stream("sum up")) == ["a", "b"]
    with tracetape.replay(run, ReplayPlan().patch("sum_up", 1, lambda items: [*items, "!"])):
        assert list(stream("sum up")) == ["all sold", "!"]
    with pytest.raises(DivergenceError, match="the patch of a stream is its items, and int has none"):
        with tracetape.replay(run, ReplayPlan().patch("sum_up", 1, 5)):
            list(stream("sum up"))


def test_an_agent_that_is_marked_runs_and_what_it_calls_is_answered() -> None:
    @tracetape.boundary("broker", kind="agent")
    def broker() -> Any:
        return agent()

    with tracetape.replay(RUN) as tape:
        assert broker() == ("sold", "all sold")
    assert [one.name for one in tape.report.steps] == ["decide@1", "sell@1", "decide@2", "sum_up@3"]
    with pytest.raises(DivergenceError, match="before the cut"):
        with tracetape.replay(RUN):

            @tracetape.boundary("other", kind="agent")
            def other() -> Any:
                return decide([user("buy")])

            other()


def test_it_is_live_where_the_plan_says_so() -> None:
    @tracetape.boundary("broker", kind="agent")
    def broker() -> Any:
        return decide([user("buy")])

    run = recorded(llm(1, 10, 20, ASK, assistant("sold")))
    with tracetape.replay(run, live=["broker"]) as tape:
        broker()
    assert [(one.name, one.mode) for one in tape.report.steps] == [("broker@new@1", "live"), ("decide@1", "stub")]
    assert tape["decide", 1].stale


def test_a_call_that_was_cancelled_waits_for_its_cancellation() -> None:
    @tracetape.boundary("decide", kind="llm")
    async def ask(messages: list[dict[str, Any]]) -> Any:
        return "now"

    async def with_time_out() -> str:
        try:
            return str(await asyncio.wait_for(ask(ASK), 0.01))
        except TimeoutError:
            return "too late"

    cancelled = llm(1, 10, 20, ASK, None, error="", more={"error.type": "asyncio.exceptions.CancelledError"})
    run = recorded(_failed_as(cancelled, "asyncio.exceptions.CancelledError"))
    assert run.crossings[0].outcome == "cancelled"
    with tracetape.replay(run):
        assert asyncio.run(with_time_out()) == "too late"


def _failed_as(span: SpanRecord, kind: str) -> SpanRecord:
    span.attributes["error.type"] = kind  # type: ignore[index]
    return span


def test_a_stream_that_broke_raises_whatever_hands_it_out() -> None:
    @tracetape.boundary("decide", kind="llm")
    def whole(messages: list[dict[str, Any]]) -> Any:
        return "now"

    @tracetape.boundary("decide", kind="llm")
    def stream(messages: list[dict[str, Any]]) -> Iterator[Any]:
        yield "now"

    broken = llm(
        1, 10, 20, ASK, assistant("so"), scope=OPENINFERENCE, error="cut off",
        more={"llm.invocation_parameters": '{"stream": true}'},
    )  # fmt: skip
    run = recorded(broken)
    assert run.crossings[0].stream_end == "raised"
    with tracetape.replay(run), pytest.raises(Exception, match="cut off"):
        whole(ASK)
    with tracetape.replay(run):
        items = stream(ASK)
        assert text_of(next(items)["messages"][0]) == "so"
        with pytest.raises(Exception, match="cut off"):
            next(items)


def test_an_entry_for_one_call_wins_by_whichever_name() -> None:
    for plan in (ReplayPlan().live("decide").stub("chat", 2), ReplayPlan().stub("decide", 2).live("chat")):
        with tracetape.replay(RUN, plan, after_cut="live") as tape:
            decide(ASK)
            sell(5)
            assert decide(SOLD) == "sold"
        assert [(one.name, one.mode) for one in tape.report.steps if one.boundary == "decide"] == [
            ("decide@1", "live"),
            ("decide@2", "stub"),
        ]


def test_a_step_is_looked_up_by_either_name() -> None:
    with tracetape.replay(RUN) as tape:
        agent()
    assert tape["chat", 2] is tape["decide", 2]
    assert tape.captured_result("chat", 3) == "all sold"


def test_a_call_that_is_not_recorded_has_no_number() -> None:
    @tracetape.boundary("broker", kind="agent")
    def broker() -> None: ...

    with pytest.raises(PlanError, match="a call that it does not have has no number; name broker alone"):
        tracetape.replay(RUN, live=["broker@1"])


def test_a_stub_that_has_answered_another_is_not_served_again() -> None:
    @tracetape.boundary("by_number", kind="llm", answer=said)
    def by_number(number: int) -> Any:
        return "now"

    run = recorded(*(llm(n, 10 * n, 10 * n + 5, [user(f"q{n}")], assistant(f"a{n}")) for n in (1, 2, 3)))
    with tracetape.replay(run, ReplayPlan().live("decide", 1)):
        decide([user("q1")])
        assert decide([user("q2, changed")]) == "a2"
        assert by_number(1) == "a3"


def test_what_a_live_function_gives_is_compared_with_what_it_would_have_given() -> None:
    @tracetape.boundary("sum_up", kind="llm", answer=said)
    def same(prompt: str) -> str:
        return "all sold"

    run = recorded(llm(1, 50, 60, SUM_UP, assistant("all sold")))
    for function, changes in ((same, 0), (sum_up, 1)):
        with tracetape.replay(run, live=["sum_up"]) as tape:
            function("sum up")
        assert len(tape["sum_up", 1].outcome_changes) == changes


def test_half_a_stream_is_told() -> None:
    @tracetape.boundary("decide", kind="llm", answer=said)
    def whole(messages: list[dict[str, Any]]) -> Any: ...

    more = {"llm.invocation_parameters": '{"stream": true}', "output.value": '{"object": "chat.completion.chunk", '
            '"choices": [{"index": 0, "delta": {"content": "half"}, "finish_reason": null}]}'}  # fmt: skip
    run = recorded(llm(1, 10, 20, ASK, assistant("half"), more=more))
    assert run.crossings[0].stream_end == "abandoned"
    with tracetape.replay(run) as tape:
        whole(ASK)
    assert tape["decide", 1].notes == ("it was given what had come of a stream that its consumer left",)


def test_a_function_that_is_marked_and_never_called_leaves_its_calls_missing() -> None:
    with pytest.raises(DivergenceError, match="chat@1 is in the recording and was never called"):
        with tracetape.replay(RUN):
            sell(5)
