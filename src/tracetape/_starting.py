"""Hands a word on to each process that the program starts, as it is meant where the start happens.

What is in the environment is one word for all threads, and a program may give a child an environment of its
own. So while a session is open the functions that start processes are wrapped, where everything in the
standard library ends up that does: in the environment that they pass on, the word is that of the crossing
that starts the process. The program's own mappings are never changed. What starts processes in C (uvloop,
`os.system`) has the word of the environment.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tracetape._processes import CONFIG_KEY, Word
from tracetape._wrapping import when_imported
from tracetape.config import SESSION, environment

__all__ = ["Listener", "install", "is_installed", "listeners", "uninstall"]

Start = Callable[..., Any]
Here = Callable[[], Word | None]


class Listener(Protocol):
    """Told around each start: what has threads must have none at a fork."""

    @property
    def started(self) -> Callable[[str], None]: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


listeners: list[Listener] = []
_patched: list[tuple[Any, str, Start, Start]] = []
_here: Here | None = None
_KEY = os.fsencode(SESSION)
_REAL = "__tracetape_real__"
_FORK_SERVER = "multiprocessing.forkserver"


def is_installed() -> bool:
    return _here is not None


def install(here: Here) -> None:
    """From now on every started process is given the word that `here()` says; None leaves all as it is."""
    global _here
    if _here is not None:
        return
    _here = here
    for name in ("fork", "forkpty"):
        _patch(os, name, _forking)
    for name in ("posix_spawn", "posix_spawnp"):
        _patch(os, name, _spawning)
    _patch(os, "execv", functools.partial(_replacing, execve=os.execve))
    _patch(os, "execve", _replacing_with)
    # Each by its name in the one module that uses it; both are called at the end of what is public.
    for module, name in (("subprocess", "_fork_exec"), ("_posixsubprocess", "fork_exec")):
        when_imported(module, functools.partial(_patch_late, name=name, make=_fork_exec))
    when_imported("multiprocessing.process", _patch_processes)


def uninstall() -> None:
    """Put back what is still ours; what others have wrapped since stays, and passes everything through."""
    global _here
    _here = None
    for owner, name, real, ours in _patched:
        if getattr(owner, name, None) is ours:
            setattr(owner, name, real)
    _patched.clear()


def _patch(owner: Any, name: str, make: Callable[[Start], Start]) -> None:
    real = getattr(owner, name, None)
    real = getattr(real, _REAL, real)  # another module's copy of what is wrapped already
    if real is not None and not any(one[:2] == (owner, name) for one in _patched):
        ours = functools.wraps(real)(make(real))
        setattr(ours, _REAL, real)
        _patched.append((owner, name, real, ours))
        setattr(owner, name, ours)


def _patch_late(module: Any, *, name: str, make: Callable[[Start], Start]) -> None:
    if _here is not None:
        _patch(module, name, make)


def _patch_processes(module: Any) -> None:
    if _here is not None:
        _patch(module.BaseProcess, "start", _starting)


def _word() -> Word | None:
    return _here() if _here is not None else None


def _around(program: Any, start: Start, *args: Any, **kwargs: Any) -> Any:
    told = tuple(listeners)
    for one in told:
        one.started(os.fsdecode(program))
        one.pause()
    try:
        return start(*args, **kwargs)
    finally:
        for one in told:
            one.resume()


def _forking(real: Start) -> Start:
    def fork() -> Any:
        return _around("a fork of this process", real)

    return fork


def _starting(real: Start) -> Start:
    def start(process: Any) -> Any:
        word = _word()
        if word is not None and isinstance(getattr(process, "_config", None), dict):
            process._config[CONFIG_KEY] = word.text
        return real(process)

    return start


def _fork_exec(real: Start) -> Start:
    def fork_exec(args: Any, executables: Any, close: Any, passed: Any, cwd: Any, env: Any, *rest: Any) -> Any:
        return _around(
            args[0] if args else "", real, args, executables, close, passed, cwd, _listed(env, args), *rest
        )

    return fork_exec


def _spawning(real: Start) -> Start:
    def posix_spawn(path: Any, argv: Any, env: Any, /, **options: Any) -> Any:
        word = _word()
        return _around(path, real, path, argv, env if word is None else _mapping(env, word), **options)

    return posix_spawn


def _replacing(real: Start, *, execve: Start) -> Start:
    def execv(path: Any, argv: Any, /) -> Any:
        word = _word()
        return real(path, argv) if word is None else execve(path, argv, _mapping(None, word.for_successor()))

    return execv


def _replacing_with(real: Start) -> Start:
    def execve(path: Any, argv: Any, env: Any) -> Any:
        word = _word()
        return real(path, argv, env if word is None else _mapping(env, word.for_successor()))

    return execve


def _listed(env: list[bytes] | None, args: Any) -> list[bytes] | None:
    """The environment as the list of its lines. A fork server outlives the session: it gets none, for the
    processes that it forks are told theirs one by one."""
    serves = any(_FORK_SERVER in os.fsdecode(one) for one in args)
    word = None if serves else _word()
    if word is None and not serves:
        return env
    lines = [key + b"=" + value for key, value in environment().items()] if env is None else env
    kept = [line for line in lines if not line.startswith(_KEY + b"=")]
    return kept if word is None else [*kept, _KEY + b"=" + word.text.encode()]


def _mapping(env: Mapping[Any, Any] | None, word: Word) -> dict[Any, Any]:
    given: Mapping[Any, Any] = environment() if env is None else env
    return {key: value for key, value in given.items() if key not in (SESSION, _KEY)} | {SESSION: word.text}
