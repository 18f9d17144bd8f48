"""A recorded or replayed program runs as it runs under `python`, to the last byte that it prints."""

from __future__ import annotations

import os
import pty
import py_compile
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

MIRROR = Path(__file__).with_name("mirror.py")

# Of our own, on standard error: lines that say so, and the report of a replay.
OURS = re.compile(rb"^tracetape: .*\n|^replay of .*: 0 live, 1 served, .*\n\n(?:  .*\n)+", re.MULTILINE)

CALL = """
import tracetape

@tracetape.boundary("answer")
def answer():
    return 42

print(answer(), flush=True)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder of the programs."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("TRACETAPE_", "OTEL_"))]:
        monkeypatch.delenv(name)
    return tmp_path


def ended(*words: str, options: tuple[str, ...] = (), together: bool = False) -> tuple[bytes, bytes, int]:
    """What a program has printed, on standard output and error, and its status as a shell counts it."""
    done = subprocess.run(
        [sys.executable, *options, *words],
        input=b"a line\n",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if together else subprocess.PIPE,
        timeout=60,
    )
    return done.stdout, done.stderr or b"", done.returncode if done.returncode >= 0 else 128 - done.returncode


def assert_same(*words: str, options: tuple[str, ...] = (), together: bool = False) -> None:
    """A program ends under `record` and under `replay` as it ends under `python`."""
    plain = ended(*words, options=options, together=together)
    for command in (("record", "-o", "run.jsonl"), ("replay", "run.jsonl")):
        stdout, stderr, status = ended("-m", "tracetape", *command, *words, options=options, together=together)
        if together:
            stdout = OURS.sub(b"", stdout)
        assert (stdout.decode(), OURS.sub(b"", stderr).decode(), status) == (
            plain[0].decode(),
            plain[1].decode(),
            plain[2],
        ), command[0]


def write(path: str, source: str | bytes) -> str:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(source.encode() if isinstance(source, str) else source)
    return path


# -- what a program can see


@pytest.fixture
def mirror(here: Path) -> str:
    return shutil.copy(MIRROR, "mirror.py")


def test_a_script_sees_what_it_sees_under_python_and_so_do_its_processes(mirror):
    assert_same(mirror, "well", "processes", "-o", "b", "--", "é")


def test_a_script_of_another_folder_is_named_and_found_as_under_python(mirror, here):
    write("elsewhere/mirror.py", MIRROR.read_bytes())
    (here / "linked.py").symlink_to("elsewhere/mirror.py")
    (here / "folder").symlink_to("elsewhere")

    for path in ("./elsewhere/../elsewhere/mirror.py", str(here / "elsewhere" / "mirror.py"), "linked.py"):
        Path("run.jsonl").unlink(missing_ok=True)
        assert_same(path, "well")


def test_a_module_sees_what_it_sees_under_python_and_so_do_its_processes(here):
    write("pkg/__init__.py", "from . import beside\n")
    write("pkg/beside.py", "print('imported', __name__)\n")
    write("pkg/mirror.py", MIRROR.read_bytes() + b"\nfrom .beside import __name__ as imported\n")

    assert_same("-m", "pkg.mirror", "well", "processes", "-m", "x")


def test_a_package_sees_what_it_sees_under_python(here):
    write("pkg/__init__.py", "print('imported', __name__)\n")
    write("pkg/__main__.py", MIRROR.read_bytes() + b"\nfrom . import __name__ as imported\n")

    assert_same("-m", "pkg", "well")


def test_the_packages_above_a_module_see_what_they_see_under_python(here):
    write("pkg/__init__.py", "import sys\nprint(__name__, sys.argv, sys.path)\n")
    write("pkg/sub/__init__.py", "import sys\nprint(__name__, sys.argv, sys.path)\n")
    write("pkg/sub/program.py", CALL + "import sys\nprint(__name__, sys.argv, sys.path)\n")

    assert_same("-m", "pkg.sub.program", "a", "b")


def test_a_module_that_its_package_has_imported_before_is_warned_about(here):
    write("pkg/__init__.py", "from . import program\n")
    write("pkg/program.py", "if __name__ == '__main__':\n" + CALL.replace("\n", "\n    "))

    stderr = ended("-m", "tracetape", "record", "-o", "run.jsonl", "-m", "pkg.program")[1].decode()

    assert "RuntimeWarning: 'pkg.program' found in sys.modules after import of package 'pkg'" in stderr


@pytest.mark.parametrize(
    "options", ["-O", "-OO", "-X dev -X own=1", "-I", "-P -s", "-W error::UserWarning", "-u -b"]
)
def test_the_options_of_the_interpreter_are_kept(mirror, options):
    assert_same(mirror, "well", options=tuple(options.split()))


# -- how it ends


@pytest.mark.parametrize(
    "how",
    [
        "exit",
        "exit-3",
        "exit-256",
        "exit--1",
        "exit-text",
        "exit-pair",
        "raise",
        "interrupt",
        "terminate",
        "at-once",
    ],
)
def test_a_program_ends_as_it_ends_under_python(mirror, how):
    assert_same(mirror, how)


def test_what_is_printed_before_an_error_comes_before_it(here):
    write("fails.py", CALL + "import sys\nsys.stdout.write('not yet flushed')\nraise ValueError('x')\n")

    assert_same("fails.py", together=True)


@pytest.mark.parametrize(
    "source",
    [
        "import threading\n"
        "def last(): threading.main_thread().join(); print('the main thread is over')\n"
        "threading.Thread(target=last).start()",
        "import threading\n"
        "over = threading.Event()\n"
        "threading.Thread(target=lambda: (over.wait(), print('late'))).start()\n"
        "over.set()\n"
        "1 / 0",
        "import sys\nsys.stdout.close()",
        "import sys\nsys.stdout = None",
        "import sys\ndef hook(*told): raise KeyError('in the hook')\nsys.excepthook = hook\n1 / 0",
        "import sys\ndef hook(*told): sys.exit(9)\nsys.excepthook = hook\n1 / 0",
        "import sys\ndel sys.excepthook\n1 / 0",
        "import atexit, sys\natexit.register(lambda: print(repr(sys.last_value), sys.last_type))\n1 / 0",
        "import os\nif os.fork():\n    print(os.wait()[1])\nelse:\n    1 / 0",
        "import os, sys\nif os.fork():\n    print(os.wait()[1])\nelse:\n    sys.exit(3)",
        "import os\nos.chdir('/')\n1 / 0",
        "import sys\nsys.modules['__main__'] = None\nprint(__name__)",
    ],
    ids=[
        "a thread waits for the main one",
        "a thread goes on",
        "closed stdout",
        "no stdout",
        "a hook that fails",
        "a hook that exits",
        "no hook",
        "the last error",
        "a child that fails",
        "a child that exits",
        "another folder",
        "another main module",
    ],
)
def test_what_is_odd_at_the_end_is_as_odd_as_under_python(here, source):
    write("odd.py", CALL + source + "\n")

    assert_same("odd.py")


# -- how it is written


@pytest.mark.parametrize(
    "source",
    [
        b"\xef\xbb\xbfprint(ascii('\xc3\xa9'))\n" + CALL.encode() + b"raise ValueError('\xc3\xa9')\n",
        b"#!/usr/bin/env python\n# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))\n" + CALL.encode() + b"1 / 0\n",
        CALL.replace("\n", "\r\n").encode() + b"print(ascii('''a\r\nb'''))\r\n1 / 0",
        b"from __future__ import annotations\nnumber: int\nprint(__annotations__)\n" + CALL.encode(),
        b"print(1 is 1, '\\d')\n" + CALL.encode(),
    ],
    ids=["a BOM", "a cookie", "CRLF", "a future", "warned about"],
)
def test_a_source_is_read_as_under_python(here, source):
    assert_same(write("no_extension", source))


@pytest.mark.parametrize("source", ["x = (1,\n\ny = 2\n", "print 'x'\n", "if 1:\nx\n", "return 1\n", "é = 1 1\n"])
def test_what_is_no_python_is_told_as_under_python(here, source):
    write("answers.py", CALL)
    ended("-m", "tracetape", "record", "-o", "run.jsonl", "answers.py")
    plain = ended(write("wrong.py", source))

    recorded = ended("-m", "tracetape", "record", "-o", "other.jsonl", "wrong.py")
    replayed = ended("-m", "tracetape", "replay", "run.jsonl", "wrong.py")

    assert plain[2] == recorded[2] == replayed[2] == 1
    assert OURS.sub(b"", recorded[1]) == plain[1]
    assert replayed[1].startswith(plain[1] + b"replay of run.jsonl: 0 live, 0 served, ")


def test_what_python_runs_and_we_do_not_is_refused_by_name(here):
    write("folder/__main__.py", CALL)
    with zipfile.ZipFile("app.zip", "w") as app:
        app.writestr("__main__.py", CALL)
    py_compile.compile(write("script.py", CALL), "script.pyc")

    for name in ("folder", "app.zip", "script.pyc"):
        stdout, stderr, status = ended("-m", "tracetape", "record", "-o", "run.jsonl", name)
        assert (stdout, status) == (b"", 2)
        assert stderr.decode().startswith(f"tracetape: {name}")
        assert len(stderr.splitlines()) == 1
    assert not Path("run.jsonl").exists()


# -- on a terminal


def on_a_terminal(*words: str) -> str:
    """What a terminal shows of a program that is typed to."""
    ours, theirs = pty.openpty()
    os.write(ours, b"Ada\n")
    with subprocess.Popen([sys.executable, *words], stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux ends a terminal that nobody holds so
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    assert running.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_program_on_a_terminal_is_on_a_terminal(here, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    write(
        "asks.py",
        CALL + "import os, sys\n"
        "print([os.isatty(number) for number in range(3)], sys.stdout.isatty(), sys.stdout.line_buffering)\n"
        "print(os.get_terminal_size(), repr(input('name? ')))\n",
    )

    plain = on_a_terminal("asks.py")

    assert plain.endswith("'Ada'\n")
    for command in (("record", "-o", "run.jsonl"), ("replay", "run.jsonl")):
        shown = on_a_terminal("-m", "tracetape", *command, "asks.py")
        assert OURS.sub(b"", shown.encode()).decode() == plain
