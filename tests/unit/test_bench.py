"""The benchmark's own arithmetic: medians, ratios, what fails a comparison."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bench import baseline
from bench.measuring import Plan, Row, Sample, Side, awaited, called, in_turn, timed
from bench.showing import shown


def row(ours: float, least: float | None = 10.0, **more: object) -> Row:
    floor = None if least is None else Side(least, least, least, more.pop("floor_cpu", None))  # type: ignore[arg-type]
    side = Side(ours, ours, ours, more.pop("cpu", None))  # type: ignore[arg-type]
    return Row("a row", "a floor", "µs a call", side, floor, **more)  # type: ignore[arg-type]


def test_a_side_has_the_median_the_quartiles_and_the_median_of_the_cpu_time() -> None:
    side = Side.of([Sample(wall, cpu) for wall, cpu in ((3, 1), (1, 9), (2, 5), (100, 2), (4, 3))])
    assert (side.median, side.cpu) == (3, 3)
    assert side.low < 3 < side.high
    assert Side.of([Sample(7)]) == Side(7, 7, 7, None)
    assert Side.exactly(2.5) == Side(2.5, 2.5, 2.5)


def test_samples_of_both_sides_are_taken_in_turn() -> None:
    taken: list[str] = []

    def take(name: str, wall: float) -> Sample:
        taken.append(name)
        return Sample(wall)

    ours, least = in_turn(lambda: take("ours", 2), lambda: take("floor", 1), 3)
    assert taken == ["ours", "floor"] * 3
    assert (ours.median, least.median) == (2, 1)


def test_a_function_is_called_as_often_as_is_said() -> None:
    seen: list[int] = []

    async def asynchronous(value: int) -> None:
        seen.append(value)

    assert timed(called(seen.append, 1), 3).wall > 0
    awaited(asynchronous, 2)(2)
    assert seen == [1, 1, 1, 2, 2]


def test_a_target_is_met_by_the_ratio_by_ours_or_by_both() -> None:
    assert row(12, must=1.3).met is True
    assert row(14, must=1.3).met is False
    assert row(14).met is None
    assert row(14, None, most=20).met is True
    assert row(12, must=1.3, most=11).met is False
    assert baseline.missed([row(12, must=1.3), row(14, must=1.3), row(14)]) == ["a row"]


def test_a_row_survives_json() -> None:
    for one in (row(12, cpu=3.0, floor_cpu=2.0, must=1.3, note="seen"), row(12, None, most=5, tolerance=None)):
        assert Row.from_json(json.loads(json.dumps(one.as_json()))) == one


def test_only_a_ratio_beyond_its_tolerance_fails_a_comparison() -> None:
    before = baseline.stored([row(20)], {})
    assert baseline.worsened([row(29)], before) == {}
    assert baseline.worsened([row(31)], before) == {"a row": "3.10 × its floor, stored 2.00, tolerance 1.5 ×"}
    assert baseline.worsened([row(31, tolerance=2)], before) == {}
    assert baseline.worsened([row(310, tolerance=None)], before) == {}


def test_a_slower_machine_does_not_fail_a_comparison() -> None:
    assert baseline.worsened([row(2_000, 1_000)], baseline.stored([row(20)], {})) == {}


def test_what_only_the_wall_clock_saw_fails_a_comparison_beyond_twice_the_tolerance() -> None:
    """A preempted sample is not worse code; what waits is, and takes no CPU time."""
    before = baseline.stored([row(20, cpu=20.0, floor_cpu=10.0)], {})
    assert baseline.worsened([row(59, cpu=20.0, floor_cpu=10.0)], before) == {}
    assert set(baseline.worsened([row(61, cpu=20.0, floor_cpu=10.0)], before)) == {"a row"}
    assert set(baseline.worsened([row(31, cpu=31.0, floor_cpu=10.0)], before)) == {"a row"}


def test_a_ratio_of_cpu_time_is_compared_with_the_stored_one_of_cpu_time() -> None:
    before = baseline.stored([row(20, cpu=80.0, floor_cpu=10.0)], {})
    assert baseline.worsened([row(35, cpu=80.0, floor_cpu=10.0)], before) == {}


@pytest.mark.parametrize("before", [{}, baseline.stored([row(20)], {}) | {"rows": {"another": {"ratio": 1.0}}}])
def test_a_row_that_is_not_stored_fails_a_comparison(before: dict[str, object]) -> None:
    assert baseline.worsened([row(20)], before) == {
        "a row": "there is no stored ratio to this floor: look at it, then store it with --save"
    }


def test_a_row_whose_floor_is_another_now_fails_a_comparison() -> None:
    stored = baseline.stored([replace(row(20), floor="a lower floor")], {})
    assert set(baseline.worsened([row(20)], stored)) == {"a row"}


def test_a_row_without_a_ratio_is_not_compared() -> None:
    assert baseline.worsened([row(60, None)], baseline.stored([row(60, None)], {})) == {}


def test_storing_keeps_the_rows_that_were_not_measured() -> None:
    kept = baseline.stored([row(30)], {"rows": {"a row": {"ratio": 2.0}, "another": {"ratio": 1.0}}})
    assert kept["rows"]["another"] == {"ratio": 1.0}
    assert kept["rows"]["a row"] == {
        "ratio": 3.0,
        "cpu_ratio": None,
        "ours": 30.0,
        "floor": 10.0,
        "unit": "µs a call",
        "about": "a floor",
    }


@pytest.mark.parametrize(("one", "said"), [(row(12, must=1.3), " met "), (row(14, must=1.3), "NOT met")])
def test_a_line_shows_both_sides_the_ratio_with_its_target(one: Row, said: str) -> None:
    line = shown(one)
    assert f"{one.ours.median:.2f}" in line
    assert "10.00" in line
    assert f"{one.ratio:.2f}" in line
    assert said in line
    assert line.endswith("µs a call; a floor")


def test_the_quick_form_takes_fewer_samples() -> None:
    assert Plan(quick=True).repeat < Plan().repeat
