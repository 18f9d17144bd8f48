"""What a replay would do is told before one is made: the stubs, the cut, what halts."""

from __future__ import annotations

import pytest

from tracetape.cli.checking import usable
from tracetape.cli.preflight import check_plan, preflight_lines
from tracetape.errors import UsageError
from tracetape.model.crossing import UNUSABLE, Crossing
from tracetape.model.plan import ReplayPlan
from tracetape.model.recording import Recording
from tracetape.model.span import Gap

OFF = Gap("CONTENT_OFF", "its content was not recorded", "span 0b")


def crossing(boundary: str, occurrence: int, started: int, **more: object) -> Crossing:
    return Crossing(boundary=boundary, occurrence=occurrence, started=started, duration=5, **more)  # type: ignore[arg-type]


RUN = Recording(
    "0a" * 16, (crossing("plan", 1, 10), crossing("order", 1, 20), crossing("plan", 2, 30)), (), source="run"
)


def told(given: Recording, plan: ReplayPlan) -> list[str]:
    check_plan(given, plan)
    return [line.plain for line in preflight_lines(given, plan)]


def test_where_nothing_is_live_all_is_served_and_there_is_no_cut() -> None:
    assert told(RUN, ReplayPlan()) == [
        "a replay serves 3 (plan@1, order@1, plan@2)",
        "  nothing is live, so there is no cut: a call with other inputs than recorded halts",
    ]


def test_the_cut_is_where_the_first_live_call_ends() -> None:
    assert told(RUN, ReplayPlan().live("order")) == [
        "a replay serves 2 (plan@1, plan@2), and runs 1 (order@1)",
        "  the cut is where order@1 ends: a call with other inputs halts before it, and is served as stale behind "
        "it: 1 (plan@2)",
    ]
    assert told(RUN, ReplayPlan().live("plan", 1))[1].endswith("behind it: 2 (order@1, plan@2)")


def test_what_cannot_be_served_halts_unless_it_is_live() -> None:
    given = Recording(
        "0a" * 16,
        (crossing("plan", 1, 10), crossing("order", 1, 20, grade=UNUSABLE, gaps=(OFF,))),
        (),
        source="run",
    )
    assert told(given, ReplayPlan())[0] == "a replay serves 1 (plan@1)"
    assert told(given, ReplayPlan())[-1] == "  it halts at 1 (order@1): what cannot be served"
    assert not usable(given)
    live = ReplayPlan().live("order")
    assert not any("halts at" in line for line in told(given, live))
    assert usable(given, live)


def test_what_is_inside_a_served_call_is_never_asked_for() -> None:
    agent, inside = crossing("agent", 1, 10), crossing("plan", 1, 11)
    inside.kin.parent, agent.kin.children = agent, (inside,)
    given = Recording("0a" * 16, (agent, inside), (), source="run")
    assert told(given, ReplayPlan())[:2] == [
        "a replay serves 1 (agent@1)",
        "  never asked for: 1 crossing inside of those that are served",
    ]
    assert told(given, ReplayPlan().live("agent"))[0] == "a replay serves 1 (plan@1), and runs 1 (agent@1)"


def test_of_many_the_first_are_named() -> None:
    many = Recording("0a" * 16, tuple(crossing("plan", n, n) for n in range(1, 1_201)), (), source="run")
    assert told(many, ReplayPlan())[0] == ("a replay serves 1,200 (plan@1, plan@2, plan@3, plan@4, plan@5, …)")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (
            ReplayPlan().live("ordr"),
            "--live ordr: no crossing of that name in the recording; did you mean 'order'",
        ),
        (ReplayPlan().live("plan", 3), "--live plan@3: plan has 2 crossings, the last is plan@2"),
    ],
)
def test_nothing_is_foretold_of_what_is_not_there(plan: ReplayPlan, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_plan(RUN, plan)
    assert str(caught.value).startswith(message)
