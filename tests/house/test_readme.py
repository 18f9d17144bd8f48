"""The README is true: its files are written, its commands are run, what they print is compared.

Blocks: ```python file=NAME``` is written to a folder; ```console``` has commands behind `$ ` and what they
print; ```sh``` are set-up commands, which CI runs as they stand. Ids, times and versions may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

_BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_VOLATILE = [
    (re.compile(r"\b[0-9a-f]{32}\b"), "<trace>"),
    (re.compile(r"\b\d+(\.\d+)? (µs|ms|s)\b"), "<time>"),
    (re.compile(r"in \d+\.\d+s"), "in <time>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
]


@dataclass(frozen=True)
class Block:
    kind: str
    file: str
    body: str


def blocks() -> Iterator[Block]:
    for found in _BLOCK.finditer(README):
        kind, _, rest = found["info"].partition(" ")
        yield Block(kind, rest.removeprefix("file="), found["body"])


def same(text: str) -> str:
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return text.strip("\n")


def test_each_block_is_of_a_kind_that_is_run() -> None:
    assert {block.kind for block in blocks()} <= {"python", "console", "sh"}
    assert all(block.file for block in blocks() if block.kind == "python")


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for block in blocks() if block.kind == "sh" for line in block.body.splitlines()]
    wanted = [line.split("#")[0].strip() for line in commands if line.split("#")[0].strip()]
    assert wanted
    for command in wanted:
        assert command in CI, f"{command!r} is in the README and not run by .ci/run"


def test_files_and_commands_do_what_the_readme_shows(tmp_path: Path) -> None:
    environ = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "PYTEST_ADDOPTS": "-p no:asyncio",  # a development dependency here, and none of the reader's
    }
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks():
        if block.kind == "python":
            (tmp_path / block.file).write_text(block.body, encoding="utf-8")
        if block.kind != "console":
            continue
        for command, expected in commands_of(block.body):
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
            )
            assert same(done.stdout + done.stderr) == same(expected), command


def commands_of(body: str) -> Iterator[tuple[str, str]]:
    """Each command with the lines that it prints."""
    command, printed = "", list[str]()
    for line in body.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, "\n".join(printed)
            command, printed = line[2:], []
        else:
            printed.append(line)
    if command:
        yield command, "\n".join(printed)
