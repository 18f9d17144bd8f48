"""Runs a script or module as `python` would."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from tracetape.errors import UsageError

__all__ = ["Program", "without_our_frames"]


class Program:
    """A script (`python agent.py a b`) or, with `module`, a module (`python -m agent a b`).

    Found at once, so that a wrong name is told before anything is recorded. Raises UsageError.
    """

    def __init__(self, target: str, arguments: Sequence[str], *, module: bool) -> None:
        self._arguments = list(arguments)
        self._module = module
        if module:
            # As `python -m` does: the current folder comes first on the path.
            sys.path[0] = str(Path.cwd())
            self._spec, self._path = _find_module(target)
        else:
            self._spec, self._path = None, _find_script(target)
            sys.path[0] = str(Path(target).resolve().parent)
        self.target = target

    def run(self) -> None:
        """Run it in a fresh `__main__` that stays in `sys.modules`, and wait for its threads, as the
        interpreter does before it ends. What the program raises comes out, SystemExit included."""
        main = ModuleType("__main__")
        main.__dict__.update(
            __builtins__=builtins,
            __file__=self._path,
            __spec__=self._spec,
            __package__=self._spec.parent if self._spec else None,
            __loader__=self._spec.loader if self._spec else _loader("__main__", self._path),
        )
        sys.argv = [self._path if self._module else self.target, *self._arguments]
        code = self._code()
        sys.modules["__main__"] = main
        try:
            exec(code, main.__dict__)  # noqa: S102 (running the user's program is the command)
        finally:
            _wait_for_threads()

    def _code(self) -> CodeType:
        if self._spec is not None:
            code: CodeType | None = self._spec.loader.get_code(self._spec.name)
            if code is None:
                raise UsageError(f"-m {self.target}: the module has no Python code to run")
            return code
        source = Path(self._path).read_bytes()
        return compile(source, self._path, "exec", dont_inherit=True)


def without_our_frames(error: BaseException) -> TracebackType | None:
    """The traceback as `python` would show it: from the program's own first frame on."""
    trace = error.__traceback__
    package = str(Path(__file__).resolve().parent.parent)
    while trace is not None and _is_ours(trace, package):
        trace = trace.tb_next
    return trace


def _is_ours(trace: TracebackType, package: str) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name.startswith(package) or "/click/" in name


def _find_script(target: str) -> str:
    path = Path(target)
    if path.is_dir():
        raise UsageError(f"{target} is a folder; name the script in it, or use -m PACKAGE")
    if not path.is_file():
        raise UsageError(f"{target}: no such script (for a module, write -m {target.removesuffix('.py')})")
    return str(path.absolute())


def _find_module(target: str) -> tuple[Any, str]:
    name = target
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name = f"{target}.__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError) as error:
        raise UsageError(f"-m {target}: {error}") from None
    if spec is None or spec.origin is None or not hasattr(spec.loader, "get_code"):
        raise UsageError(f"-m {target}: no module named {name} that could be run")
    return spec, spec.origin


def _loader(name: str, path: str) -> Any:
    return importlib.machinery.SourceFileLoader(name, path)


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.main_thread():
            thread.join()
