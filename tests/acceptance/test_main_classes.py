"""Classes of the script that runs as `__main__` are found from pytest, where it is a module; the reverse too."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
import dataclasses, enum, sys
from typing import NamedTuple
import tracetape

class Side(enum.Enum):
    SELL = "sell"

@dataclasses.dataclass(frozen=True)
class Order:
    symbol: str
    side: Side

class Fill(NamedTuple):
    order: Order
    quantity: int

class Refused(Exception):
    def __init__(self, code, *, order):
        super().__init__(f"refused with {code}")
        self.code, self.order = code, order
MODEL
ran = []

@tracetape.boundary("place", kind="tool")
def place(order):
    ran.append("place")
    return Fill(order, 5)

@tracetape.boundary("refuse", kind="tool")
def refuse(order):
    ran.append("refuse")
    raise Refused(7, order=order)

@tracetape.boundary("report", kind="tool")
def report(fill):
    ran.append("report")
    return {"fill": fill, "side": Side.SELL, "seen": [Report(text="done", fill=fill)]}

def main():
    order = Order("ACME", Side.SELL)
    fill = place(order)
    assert type(fill) is Fill and type(fill.order) is Order and fill.order.side is Side.SELL
    try:
        refuse(order)
    except Refused as error:
        assert (error.code, error.order, str(error)) == (7, order, "refused with 7")
    told = report(fill)
    assert type(told["seen"][0]) is Report and told["seen"][0].fill == fill
    print("ran", ran)

if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "record":
        with tracetape.record(sys.argv[2]):
            main()
    elif len(sys.argv) > 2 and sys.argv[1] == "replay":
        with tracetape.replay(sys.argv[2], strict=True):
            main()
    else:
        main()
"""
DATACLASS = """
@dataclasses.dataclass
class Report:
    text: str
    fill: Fill
"""
PYDANTIC = """
import pydantic

class Report(pydantic.BaseModel):
    text: str
    fill: Fill
"""
TEST = """
import sys
from pathlib import Path
import tracetape
from MODULE import main, ran

def test_it(capsys):
    with HOW:
        main()
    assert ran == RAN
"""
RAN = ["place", "refuse", "report"]
MODELS = [DATACLASS, pytest.param(PYDANTIC, marks=pytest.mark.optional)]


@pytest.fixture(params=MODELS, ids=["dataclass", "pydantic"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """`agent.py` and `pkg/agent.py`."""
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    program = PROGRAM.replace("MODEL", request.param)
    for path in (tmp_path / "agent.py", tmp_path / "pkg" / "agent.py"):
        path.write_text(program)
    return tmp_path


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def in_pytest(folder: Path, module: str, how: str, ran: list[str]) -> None:
    text = TEST.replace("MODULE", module).replace("HOW", how).replace("RAN", repr(ran))
    (folder / "test_agent.py").write_text(textwrap.dedent(text))
    run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "test_agent.py")


RECORDERS: dict[str, tuple[str, ...]] = {
    "python agent.py": ("agent.py", "record", "run.jsonl"),
    "python -m pkg.agent": ("-m", "pkg.agent", "record", "run.jsonl"),
    "tracetape record agent.py": ("-m", "tracetape", "record", "-o", "run.jsonl", "agent.py"),
    "tracetape record -m pkg.agent": ("-m", "tracetape", "record", "-o", "run.jsonl", "-m", "pkg.agent"),
}
REPLAYERS: dict[str, tuple[str, ...]] = {
    "python agent.py": ("agent.py", "replay", "run.jsonl"),
    "python -m pkg.agent": ("-m", "pkg.agent", "replay", "run.jsonl"),
    "tracetape replay agent.py": ("-m", "tracetape", "replay", "run.jsonl", "agent.py"),
    "tracetape replay -m pkg.agent": ("-m", "tracetape", "replay", "run.jsonl", "-m", "pkg.agent"),
}


@pytest.mark.parametrize("recorder", RECORDERS)
def test_recorded_as_main_it_is_replayed_from_pytest(recorder: str, folder: Path) -> None:
    assert f"ran {RAN}" in run(folder, *RECORDERS[recorder])
    module = "pkg.agent" if "pkg" in recorder else "agent"
    in_pytest(folder, module, 'tracetape.replay("run.jsonl", strict=True)', [])


@pytest.mark.parametrize("replayer", REPLAYERS)
def test_recorded_from_pytest_it_is_replayed_as_main(replayer: str, folder: Path) -> None:
    module = "pkg.agent" if "pkg" in replayer else "agent"
    in_pytest(folder, module, 'tracetape.record("run.jsonl")', RAN)
    assert "ran []" in run(folder, *REPLAYERS[replayer])


def test_recorded_as_main_it_is_replayed_as_main(folder: Path) -> None:
    run(folder, *RECORDERS["python agent.py"])
    assert "ran []" in run(folder, *REPLAYERS["python agent.py"])
    assert "ran []" in run(folder, *REPLAYERS["tracetape replay agent.py"])
