"""The benchmark keeps the rules of the house, and its stored ratios can be compared with."""

from __future__ import annotations

import ast
import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bench import baseline, run
from bench.measuring import Row, Side

BENCH = Path(__file__).parents[2] / "bench"
MODULES = sorted(BENCH.glob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_small_and_says_its_one_reason(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring
    assert " and " not in docstring.splitlines()[0]
    assert len(text.splitlines()) <= 350
    assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text)


@pytest.mark.parametrize("group", run.GROUPS)
def test_a_group_is_a_function_that_yields_rows(group: str) -> None:
    module, function = run.GROUPS[group].split(":")
    assert callable(getattr(importlib.import_module(f"bench.{module}"), function))


def test_the_stored_ratios_are_such() -> None:
    stored = json.loads(run.BASELINE.read_text(encoding="utf-8"))
    ratios = [one["ratio"] for one in stored["rows"].values() if one["ratio"] is not None]
    assert len(ratios) > 20
    assert all(ratio > 0 for ratio in ratios)
    name, one = next((name, one) for name, one in stored["rows"].items() if one["ratio"] is not None)
    same = Row(name, one["about"], "", Side.exactly(one["ratio"]), Side.exactly(1))
    assert baseline.worsened([same], stored) == {}
    assert set(baseline.worsened([replace(same, ours=Side.exactly(1_000_000))], stored)) == {name}
