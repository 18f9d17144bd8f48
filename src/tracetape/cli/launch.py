"""Runs a script or module as `python` would."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
import threading
import warnings
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tracetape.errors import UsageError

__all__ = ["NoSuchProgram", "Program"]


class NoSuchProgram(UsageError):
    """There is no such script or module, or no code in it."""


# How long the threads of a program that was unwound may take before the report is printed all the same.
_GRACE_S = 1.0


class Program:
    """A script (`python agent.py a b`) or, with `module`, a module (`python -m agent a b`).

    Looked for at once, so that a wrong name is told before anything is recorded; nothing of it is imported
    before `run`, since its packages may cross boundaries too. Raises NoSuchProgram, here or in `run`.

    failure:  what the program raised, SystemExit included; None until then.
    """

    def __init__(self, target: str, arguments: Sequence[str], *, module: bool) -> None:
        self.target = target
        self.failure: BaseException | None = None
        self._arguments = list(arguments)
        self._module = module
        if module:
            # As `python -m` does: the current folder comes first on the path.
            _come_first(str(Path.cwd()))
            if not _may_be_module(target):
                raise NoSuchProgram(f"-m {target}: no module of that name is to be found from {Path.cwd()}")
        else:
            self._check_script()
            _come_first(str(Path(target).resolve().parent))

    def run(
        self, failed: Callable[[BaseException], None] = lambda error: None, owns_process: bool = False
    ) -> None:
        """Run it in a fresh `__main__` that stays in `sys.modules`, and wait for its threads, as the
        interpreter does before it ends. What the program raises comes out, SystemExit included.

        failed:  told at once what the program raised, before its threads are waited for: who is looking at
                 a program that hangs should see why it does.
        owns_process:  the interpreter's own way of waiting is taken, after which no pool of this process takes
                 work: threads that wait for the main one to end see it end.
        """
        before = set(threading.enumerate())
        grace: float | None = None
        try:
            code, main = self._prepared()
            sys.modules["__main__"] = main
            exec(code, main.__dict__)  # noqa: S102 (running the user's program is the command)
        except NoSuchProgram:
            raise
        except BaseException as error:
            self.failure = error
            try:
                failed(error)
            except SystemExit as left:  # the program's own hook
                self.failure = left
                raise
            if not isinstance(error, (Exception, SystemExit)):
                grace = _GRACE_S  # unwound: a thread that waits for the main one would wait for ever
            raise
        finally:
            if owns_process and grace is None and hasattr(threading, "_shutdown"):
                threading._shutdown()
            else:
                _wait_for_threads(before, grace)

    def _check_script(self) -> None:
        path = Path(self.target)
        if path.is_dir():
            raise NoSuchProgram(f"{self.target} is a folder; name the script in it, or use -m PACKAGE")
        if not path.is_file():
            name = self.target.removesuffix(".py")
            hint = f" (for a module, write -m {name})" if name.replace(".", "_").isidentifier() else ""
            raise NoSuchProgram(f"{self.target}: no such script{hint}")
        if path.suffix == ".pyc" or zipfile.is_zipfile(path):
            raise NoSuchProgram(f"{self.target} is no Python source; name the script that it was made of")

    def _prepared(self) -> tuple[CodeType, ModuleType]:
        if self._module:
            sys.argv = ["-m", *self._arguments]  # what the packages above it see
            spec, code = _module_code(self.target)
            path, loader, package = str(spec.origin), spec.loader, spec.parent
        else:
            path = os.path.join(os.getcwd(), self.target)  # noqa: PTH109, PTH118 (`./` stays, as python has it)
            spec, package = None, None
            loader = SourceFileLoader("__main__", path)
        sys.argv = [path if self._module else self.target, *self._arguments]
        main = ModuleType("__main__")
        main.__dict__.update(
            __builtins__=builtins, __file__=path, __spec__=spec, __package__=package, __loader__=loader
        )
        if sys.version_info < (3, 14):
            main.__dict__.update(__annotations__={}, __cached__=spec.cached if spec else None)
        if not self._module:
            code = compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)
        return code, main


def _come_first(folder: str) -> None:
    """Put a folder where `python` has that of the script; with `python -P` it has none there."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _may_be_module(name: str) -> bool:
    """Whether there is something of that name, told without importing the packages above it."""
    top, *rest = name.split(".")
    if not all(part.isidentifier() for part in (top, *rest)):
        return False
    try:
        spec = importlib.util.find_spec(top)
        for position, _ in enumerate(rest):
            if spec is None or spec.submodule_search_locations is None:
                break
            full = ".".join((top, *rest[: position + 1]))
            spec = PathFinder.find_spec(full, list(spec.submodule_search_locations))
    except (ImportError, ValueError):
        return False
    return spec is not None


def _module_code(target: str) -> tuple[ModuleSpec, CodeType]:
    """The module, or `__main__` of the package, with its code. Imports the packages above it."""
    name = target
    spec = _spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{target}.__main__"
        spec = _spec(name)
    _warn_of_imported(name)
    loader: Any = spec.loader if spec is not None else None
    if spec is None or not hasattr(loader, "get_code"):
        is_package = name != target
        why = f"a package without __main__.py; name a module in it, -m {target}.…" if is_package else "no module"
        raise NoSuchProgram(f"-m {target}: {why}")
    code = loader.get_code(name)
    if code is None:
        raise NoSuchProgram(f"-m {target}: the module has no Python code to run")
    return spec, code


def _warn_of_imported(name: str) -> None:
    """As `python -m` does."""
    loaded = sys.modules.get(name)
    if loaded is not None and not hasattr(loaded, "__path__"):
        warnings.warn(
            f"{name!r} found in sys.modules after import of package {name.rpartition('.')[0]!r}, but prior to "
            f"execution of {name!r}; this may result in unpredictable behaviour",
            RuntimeWarning,
            stacklevel=2,
        )


def _spec(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise  # the package above is there, and itself imports what is not


def _wait_for_threads(before: set[threading.Thread], grace: float | None) -> None:
    """Join the non-daemon threads that the program has started, those that they start included."""
    _end_pools(before)
    while started := _started(before):
        started[0].join(grace)
        if grace is not None and started[0].is_alive():
            return


def _started(before: set[threading.Thread]) -> list[threading.Thread]:
    return [one for one in threading.enumerate() if not one.daemon and one not in before]


def _end_pools(before: set[threading.Thread]) -> None:
    """The idle workers of a pool that nobody shut down wait for ever. The interpreter wakes them at its
    end; here that end has come, but the recording is still open."""
    if not _started(before):
        return
    import gc

    # By `type`, not isinstance: a lazy object would load what it stands for to answer that.
    for one in gc.get_objects():
        if issubclass(type(one), Executor):
            one.shutdown(wait=False)
