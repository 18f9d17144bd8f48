"""A program started by us, beside the same one started by `python`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tracetape.cli.launch import NoSuchProgram, Program

RECORD = (sys.executable, "-m", "tracetape", "record", "--overwrite", "-o", "run.jsonl")


def by_python(*words: str, **settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, **settings)


def by_us(*words: str, **settings) -> subprocess.CompletedProcess[str]:
    """Without the lines that we add to standard error."""
    ended = subprocess.run([*RECORD, *words], capture_output=True, text=True, timeout=60, **settings)
    lines = ended.stderr.splitlines(keepends=True)
    ended.stderr = "".join(line for line in lines if not line.startswith("tracetape: "))
    return ended


def assert_same(words: tuple[str, ...], **settings) -> None:
    """Standard output, standard error and exit status are those of `python`."""
    plain, ours = by_python(*words, **settings), by_us(*words, **settings)
    assert (ours.stdout, ours.stderr, ours.returncode) == (plain.stdout, plain.stderr, plain.returncode)


LOOK_AROUND = """
'''What a program can see of how it was started.'''
import pickle, sys, __main__

class Mine: ...

print(sorted(globals()))
print(sys.argv, sys.path[0], len(sys.path))
print(__name__, __file__, __package__, __cached__, __doc__, __annotations__, __builtins__)
print(__spec__ and (__spec__.name, __spec__.origin, __spec__.parent, __spec__.cached))
print(type(__loader__), __loader__.name, __loader__.path)
print(sys.modules["__main__"].__dict__ is globals(), __main__.Mine is Mine)
print(type(pickle.loads(pickle.dumps(Mine()))) is Mine, Mine.__module__)
"""
ARGUMENTS = ("a", "-o", "b", "-m", "--help", "--", "é")


@pytest.mark.parametrize("path", ["look.py", "./look.py", "sub/../look.py", "link.py"])
def test_a_script_sees_what_it_sees_under_python(script, here, path):
    script("look.py", LOOK_AROUND)
    (here / "sub").mkdir()
    script("elsewhere/look.py", LOOK_AROUND)
    (here / "link.py").symlink_to("elsewhere/look.py")

    assert_same((path, *ARGUMENTS))


@pytest.mark.parametrize("module", ["pkg", "pkg.look", "look"])
def test_a_module_sees_what_it_sees_under_python(script, module):
    script("look.py", LOOK_AROUND)
    script("pkg/__init__.py", "print('imported', __name__)")
    script("pkg/__main__.py", LOOK_AROUND)
    script("pkg/look.py", LOOK_AROUND)

    assert_same(("-m", module, *ARGUMENTS))


def test_the_folder_of_the_script_stays_off_the_path_where_python_was_told_so(script):
    script("look.py", "import sys; print(sys.path)")

    assert_same(("look.py",), env={**os.environ, "PYTHONSAFEPATH": "1"})


@pytest.mark.parametrize(
    "source",
    [
        "import sys; print('out'); sys.exit(5)",
        "import sys; sys.exit('a message')",
        "import sys; sys.exit()",
        "raise SystemExit((1, 2))",
        "def f():\n    raise ValueError('x')\nf()",
        "raise KeyboardInterrupt",
        "class Odd(BaseException): ...\nraise Odd('x')",
        "raise BrokenPipeError(32, 'x')",
        "import click\nraise click.UsageError('the own one')",
        "def f(:\n",
        "# -*- coding: latin-1 -*-\nprint(ascii('\\xe9'))",
        "import sys\nsys.excepthook = lambda kind, error, trace: print('mine', error)\n1 / 0",
        "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
        "import threading\nthreading.Thread(target=lambda: 1 / 0, name='t').start()",
        "import no_such_module",
    ],
)
def test_a_program_ends_as_it_ends_under_python(script, source):
    script("ends.py", source)

    plain, ours = by_python("ends.py"), by_us("ends.py")

    assert (ours.stdout, ours.stderr) == (plain.stdout, plain.stderr)
    # Under `python` a KeyboardInterrupt ends in the signal itself, which a shell counts as 130.
    assert ours.returncode == (130 if plain.returncode == -signal.SIGINT else plain.returncode)


def test_a_traceback_through_boundaries_has_only_the_frames_of_the_program(script):
    script(
        "fails.py",
        """
        import threading, tracetape

        @tracetape.boundary("fails")
        def fails():
            try:
                1 / 0
            except ZeroDivisionError as error:
                raise ValueError("bad") from error

        thread = threading.Thread(target=fails)
        thread.start()
        thread.join()  # or two tracebacks would be printed into each other
        try:
            fails()
        except ValueError:
            raise KeyError("worse")
        """,
    )

    ended = by_us("fails.py")

    assert ended.returncode == 1
    files = {line.split('"')[1] for line in ended.stderr.splitlines() if line.startswith('  File "')}
    assert {Path(name).name for name in files} == {"fails.py", "threading.py"}
    assert "ValueError: bad\n" in ended.stderr
    assert "KeyError: 'worse'\n" in ended.stderr


def test_calls_of_threads_that_outlive_the_script_are_recorded(script, here):
    script(
        "threads.py",
        """
        import sys, threading, tracetape
        from concurrent.futures import ThreadPoolExecutor

        @tracetape.boundary("late")
        def late(number):
            sys.stdout.write(f"late {number}\\n")  # in one piece, for threads take turns

        over = threading.Event()

        def in_a_thread():
            over.wait()
            late(1)
            threading.Thread(target=late, args=(2,)).start()

        threading.Thread(target=in_a_thread).start()
        pool = ThreadPoolExecutor(1)  # and nobody shuts it down
        pool.submit(lambda: (over.wait(), late(3)))
        over.set()
        """,
    )

    ended = by_us("threads.py")

    assert ended.returncode == 0
    assert sorted(ended.stdout.splitlines()) == ["late 1", "late 2", "late 3"]
    assert (here / "run.jsonl").read_text().count('"stringValue":"late"') >= 3


def test_a_traceback_is_told_before_threads_are_waited_for(script):
    script(
        "hangs.py",
        """
        import sys, threading
        threading.Thread(target=sys.stdin.read).start()
        raise ValueError("why it hangs")
        """,
    )
    with subprocess.Popen(
        [*RECORD, "hangs.py"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        giving_up = threading.Timer(60, running.kill)
        giving_up.start()
        told = ""
        while "why it hangs" not in told:
            line = running.stderr.readline()
            assert line, told
            told += line
        assert running.poll() is None
        running.communicate("")
        giving_up.cancel()

    assert running.returncode == 1


# -- in this process


def test_what_a_program_raises_comes_out_and_is_remembered(script):
    program = Program(script("fails.py", "raise ValueError('x')"), (), module=False)
    told: list[BaseException] = []

    with pytest.raises(ValueError, match="x") as caught:
        program.run(told.append)

    assert told == [caught.value]
    assert program.failure is caught.value


def test_a_program_that_ends_well_leaves_no_failure_and_its_main_module(script):
    program = Program(script("well.py", "value = 5"), (), module=False)
    program.run()

    assert program.failure is None
    assert sys.modules["__main__"].value == 5


def test_nothing_of_a_package_is_imported_before_it_runs(script):
    script("launch_pkg_a/__init__.py", "raise ValueError('imported')")
    script("launch_pkg_a/tool.py", "")

    program = Program("launch_pkg_a.tool", (), module=True)

    with pytest.raises(ValueError, match="imported"):
        program.run()
    assert isinstance(program.failure, ValueError)


@pytest.mark.parametrize(
    ("files", "module", "says"),
    [
        (("launch_pkg_b/__init__.py",), "launch_pkg_b", "a package without __main__.py"),
        (("launch_mod/__init__.py", "launch_mod/x.py"), "launch_mod.x.y", "no module"),
    ],
)
def test_a_module_that_turns_out_not_to_be_one_is_no_failure_of_the_program(script, files, module, says):
    for name in files:
        script(name, "")
    with pytest.raises(NoSuchProgram, match=says):
        program = Program(module, (), module=True)
        program.run()


def test_an_import_that_fails_inside_the_package_is_the_programs_failure(script):
    script("launch_pkg_c/__init__.py", "import launch_no_such_thing")
    script("launch_pkg_c/__main__.py", "")
    program = Program("launch_pkg_c", (), module=True)

    with pytest.raises(ModuleNotFoundError, match="launch_no_such_thing"):
        program.run()
    assert program.failure is not None


def test_threads_of_others_are_not_waited_for(script):
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        Program(script("well.py", ""), (), module=False).run()
        assert other.is_alive()
    finally:
        over.set()
        other.join()
