"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracetape
from tracetape import errors

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tracetape"
# The files of the demo are the user's, not ours.
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent.name != "demo_files")


KEY = (
    r"[\"'](tracetape\.(?!model|codec|sources|recorder|replayer|cli|errors)[a-z]+\.[a-z_.]+|gen_ai\.[a-z_.]+)[\"']"
)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_the_public_names_are_these() -> None:
    assert set(tracetape.__all__) == {
        "boundary",
        "checkpoint",
        "compare",
        "Crossing",
        "effect",
        "ENDED",
        "Gap",
        "load",
        "propagate",
        "read_spans",
        "record",
        "Recording",
        "replay",
        "ReplayPlan",
        "SpanRecord",
        "Tape",
    }
    for name in tracetape.__all__:
        assert getattr(tracetape, name) is not None
    with pytest.raises(AttributeError, match="module 'tracetape' has no attribute 'nothing'"):
        tracetape.nothing  # noqa: B018


def test_no_module_has_a_public_function_s_name() -> None:
    beside = {path.stem for path in SOURCE.iterdir()}
    assert beside.isdisjoint(tracetape.__all__)


def test_each_public_function_has_a_docstring_that_says_what_it_raises() -> None:
    for name in (
        "boundary",
        "effect",
        "checkpoint",
        "record",
        "load",
        "propagate",
        "read_spans",
        "replay",
        "compare",
    ):
        assert inspect.getdoc(getattr(tracetape, name))
    for name in ("boundary", "propagate", "record", "load", "replay"):
        assert "Raises" in (inspect.getdoc(getattr(tracetape, name)) or "")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_s_docstring_says_its_one_reason_in_its_first_line(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(text_of(path)))
    assert docstring, f"{path} has no docstring"
    assert " and " not in docstring.splitlines()[0]


def test_modules_stay_small() -> None:
    longest = {path.relative_to(SOURCE).as_posix(): len(text_of(path).splitlines()) for path in MODULES}
    assert {name: lines for name, lines in longest.items() if lines > 350} == {}


def test_importing_tracetape_imports_nothing_else() -> None:
    program = (
        "import sys; before = set(sys.modules); import tracetape; "
        "print({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE.parent)!r}); " + program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "{'tracetape'}"


def test_every_error_is_drawn_in_the_tree_at_the_top() -> None:
    drawn = errors.__doc__ or ""
    for name in errors.__all__:
        assert re.search(rf"\b{name}\b", drawn), name
    ours = [one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, BaseException)]
    assert {one.__name__ for one in ours} == set(errors.__all__)


def test_attribute_keys_stand_in_one_module() -> None:
    elsewhere = [path.name for path in MODULES if path.name != "names.py" and re.search(KEY, text_of(path))]
    assert elsewhere == []


def test_every_committed_recording_is_read_by_a_test() -> None:
    """An orphan claims something that nobody checks."""
    tests = "\n".join(text_of(path) for path in (ROOT / "tests").rglob("*.py"))
    folders = [path for path in (ROOT / "tests" / "recordings").iterdir() if path.is_dir()]
    assert folders
    for folder in folders:
        assert folder.name in tests, f"no test reads {folder}"
        assert (folder / "PROVENANCE.md").exists(), f"{folder} does not say where it comes from"


def test_unfinished_words_stay_out() -> None:
    for path in MODULES:
        assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text_of(path)), path


def test_the_project_names_no_machine_s_paths() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    assert paths
    foreign = re.compile(rb"(?<![\w.])/(root|home|work)/\w")
    found = [str(path.relative_to(ROOT)) for path in paths if path.is_file() and foreign.search(path.read_bytes())]
    assert found == []
