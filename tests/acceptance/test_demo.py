"""`tracetape demo`: the incident from start to finish, in an empty folder, with the core dependencies only."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest

# What the wheel asks for when no extra is named, and what these ask for; nothing else may be imported.
CORE = {
    "tracetape",
    "click",
    "deprecated",  # opentelemetry before 1.35
    "google",  # protobuf
    "importlib_metadata",  # opentelemetry before 1.40
    "markdown_it",  # rich
    "mdurl",  # rich
    "opentelemetry",
    "orjson",
    "pygments",  # rich
    "rich",
    "typing_extensions",  # opentelemetry
    "wrapt",
    "zipp",  # importlib_metadata
    "zstandard",
}
REFUSED = set(packages_distributions()) - CORE
FILES = ["broker_agent.py", "incident.otlp.jsonl", "test_incident.py"]

REFUSE_THE_REST = textwrap.dedent(f"""
    import importlib.abc, socket, sys

    class Refuse(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            top = name.partition(".")[0]
            if top in {sorted(REFUSED)!r}:
                raise ModuleNotFoundError(f"no module named {{name!r}} in a bare installation", name=name)

    def refuse(event, arguments):
        if event in ("socket.connect", "socket.getaddrinfo"):
            print("connected", event, arguments, file=sys.stderr)
            raise SystemExit(99)

    sys.meta_path.insert(0, Refuse())
    sys.addaudithook(refuse)
    from tracetape.cli import main
    sys.argv = ["tracetape", *sys.argv[1:]]
    main()
""")


def demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The demo in a bare installation that has no network."""
    return subprocess.run(
        [sys.executable, "-c", REFUSE_THE_REST, "demo", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> tuple[Path, str]:
    """The folder where the demo was run once, and what it said."""
    folder = tmp_path_factory.mktemp("empty")
    ended = demo(folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    return folder, ended.stdout


@pytest.mark.optional
def test_the_core_is_what_the_package_asks_for():
    assert {"openai", "pydantic", "pytest"} <= REFUSED
    asked = {
        line.split(">")[0].split("=")[0].strip() for line in requires("tracetape") or () if "extra" not in line
    }

    assert {name.split("-")[0].replace("protobuf", "google") for name in asked} <= CORE


def test_no_model_is_called_and_a_line_says_so(told):
    assert "model calls: 0" in told[1].splitlines()


def test_the_story_is_told(told):
    text = told[1]

    assert 'user:  "Sell about $1,000 of ACME stock"' in text
    assert 'agent: "Done: sold 1,000 shares for $190,000.00."' in text
    assert "├─ agent@1  agent" in text
    assert '"quantity":1000' in text
    assert "place_order@1 recorded: {'status': 'filled', 'quantity': 1000, 'notional': 190000.0}" in text
    assert "place_order@1 replayed: {'blocked': True," in text
    assert "+    if notional > 10_000:" in text
    assert "\x1b" not in text


def test_it_leaves_the_agent_the_recording_and_a_test(told):
    folder, text = told

    assert sorted(path.name for path in (folder / "tracetape-demo").iterdir()) == FILES
    assert all(name in text for name in FILES)
    assert "if notional > 10_000" in (folder / "tracetape-demo" / "broker_agent.py").read_text()


def commands(text: str) -> list[list[str]]:
    """The command lines that the demo shows to be typed."""
    shown = (line.partition("tracetape show ") for line in text.splitlines())
    looked = [["tracetape", "show", path] for _, found, path in shown if found]
    typed = [line.split("   ")[0].split() for line in text.splitlines() if line.startswith(sys.executable)]
    return looked + typed


def test_the_commands_that_it_shows_can_be_typed(told):
    folder, text = told
    shown = commands(text)
    assert [words[:3] for words in shown] == [
        ["tracetape", "show", "tracetape-demo/incident.otlp.jsonl"],
        [sys.executable, "-m", "tracetape"],
        [sys.executable, "-m", "pytest"],
    ]

    for words in shown:
        start = [sys.executable, "-m", "tracetape"] if words[0] == "tracetape" else words[:1]
        ended = subprocess.run(
            [*start, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=60, env={"PATH": ""}
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr


def test_its_test_fails_without_the_repair(told, tmp_path):
    for name in FILES:
        text = (told[0] / "tracetape-demo" / name).read_text()
        (tmp_path / name).write_text(text.replace("notional > 10_000", "False"))

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 1
    assert "KeyError: 'blocked'" in ended.stdout


def test_a_second_run_takes_the_next_free_name_and_leaves_the_first_alone(tmp_path):
    first = tmp_path / "tracetape-demo"
    first.mkdir()
    (first / "mine.txt").write_text("mine")

    ended = demo(tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tracetape-demo", "tracetape-demo-2"]
    assert [path.name for path in first.iterdir()] == ["mine.txt"]
    assert sorted(path.name for path in (tmp_path / "tracetape-demo-2").iterdir()) == FILES


def test_it_goes_where_it_is_told_to(tmp_path):
    ended = demo(tmp_path, "--into", "a/new folder")

    assert ended.returncode == 0, ended.stderr
    assert sorted(path.name for path in (tmp_path / "a" / "new folder").iterdir()) == FILES


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")

    ended = demo(tmp_path, "--into", str(tmp_path))

    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr == f"tracetape: {tmp_path} is not empty; --into takes an empty or new folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
