"""Rows as text for people."""

from __future__ import annotations

from bench.measuring import Row, Side

__all__ = ["HEAD", "shown"]

HEAD = (
    f"{'':46} {'ours':>9} {'quartiles':>17} {'floor':>9} {'quartiles':>17} {'ratio':>6} {'CPU':>6} {'must':>6}"
    "        unit; floor; note"
)


def shown(row: Row) -> str:
    """One line of the table."""
    least = row.least
    said = "" if row.met is None else "met" if row.met else "NOT met"
    about = "; ".join(part for part in (row.unit, row.floor, row.note) if part)
    return (
        f"{row.name:46} {_number(row.ours.median):>9} {_spread(row.ours):>17} "
        f"{'' if least is None else _number(least.median):>9} {'' if least is None else _spread(least):>17} "
        f"{_ratio(row.ratio):>6} {_ratio(row.cpu_ratio):>6} {_target(row):>6} {said:7} {about}"
    )


def _target(row: Row) -> str:
    if row.must is not None:
        return f"{row.must:g}"
    return "" if row.most is None else f"≤{row.most:.4g}"


def _spread(side: Side) -> str:
    return "" if side.low == side.high else f"{_number(side.low)} to {_number(side.high)}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
