"""Builds the real backends of the tests, each once.

    python -m tests.backends.build [collector jaeger kafka phoenix]

Go, Maven and pip fetch by their ordinary configuration. One that fails says why, and the others go on.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.backends.cache import BACKENDS, Backend, root

__all__ = ["BuildError", "build", "main"]

GO = ("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w")
LINES_OF_A_FAILURE = 20


class BuildError(Exception):
    """A backend could not be built; says why."""


def collector(source: Path, into: Path) -> None:
    run([*GO, "-o", str(into / "otelcol"), "."], source)


def jaeger(source: Path, into: Path) -> None:
    run([*GO, "-o", str(into / "jaeger"), "github.com/jaegertracing/jaeger/cmd/jaeger"], source)


def kafka(source: Path, into: Path) -> None:
    # Maven writes beside the pom, so it gets a copy.
    shutil.copy(source / "pom.xml", into)
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
    run(["mvn", "--batch-mode", "--quiet", copy, f"-DoutputDirectory={into / 'lib'}"], into)


def phoenix(source: Path, into: Path) -> None:
    venv = into / "venv"
    run([sys.executable, "-m", "venv", str(venv)], source)
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "install", "-r", str(source / "requirements.txt")], source)


BUILDS: Mapping[str, Callable[[Path, Path], None]] = {
    one.__name__: one for one in (collector, jaeger, kafka, phoenix)
}


def run(command: Sequence[str], folder: Path) -> None:
    if shutil.which(command[0]) is None:
        raise BuildError(f"{command[0]} is not on the path")
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-LINES_OF_A_FAILURE:])
        raise BuildError(f"{' '.join(command)}\nended with {done.returncode}:\n{said}")


def build(backend: Backend, builds: Mapping[str, Callable[[Path, Path], None]]) -> bool:
    """Build it where it is not there yet; say whether it had to be. Nothing half-built is ever in its place."""
    if backend.path.exists():
        return False
    root().mkdir(parents=True, exist_ok=True)
    into = Path(tempfile.mkdtemp(prefix=f".building-{backend.name}-", dir=root()))
    try:
        builds[backend.name](backend.source, into)
        if not (into / backend.product).exists():
            raise BuildError(f"the build left no {backend.product}")
        try:
            into.rename(backend.entry)
        except OSError:
            if not backend.path.exists():  # else another build was faster
                raise
    finally:
        shutil.rmtree(into, ignore_errors=True)
    return True


def main(names: Sequence[str]) -> int:
    unknown = [name for name in names if name not in BACKENDS]
    if unknown:
        print(f"no such backend: {', '.join(unknown)}; there are {', '.join(BACKENDS)}", file=sys.stderr)
        return 2
    failed = 0
    for name in names or BACKENDS:
        backend, began = BACKENDS[name], time.monotonic()
        print(f"{name}: ", end="", flush=True)
        try:
            built = build(backend, BUILDS)
        except (BuildError, OSError) as error:
            failed += 1
            print("NOT built", flush=True)
            print(f"{name} was not built: {error}", file=sys.stderr, flush=True)
        else:
            took = f"built in {time.monotonic() - began:.0f} s" if built else "there already"
            print(f"{took}, {backend.entry}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
