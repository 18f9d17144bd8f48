"""A replay as the processes see it that the replayed program has started: every boundary halts there."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracetape._processes import Word
from tracetape.model.call import Call, Flow, Mode
from tracetape.model.report import Divergence
from tracetape.replayer import messages
from tracetape.replayer.halting import Halt
from tracetape.replayer.reporting import Halted, send

__all__ = ["Elsewhere", "halt_here"]


def halt_here(name: str, reports: str) -> Halt:
    """Say in one line that a call has halted in this process, and tell the process of the replay."""
    halted = Halted(name, os.getpid(), _program())
    text = messages.halted_elsewhere(halted)
    if sys.stderr is not None:
        sys.stderr.write(f"tracetape: {text}\n")  # with its end, for others write into it too
        sys.stderr.flush()
    send(reports, halted)
    return Halt(Divergence("process", name, text))


class Elsewhere:
    """Stands for the replay of the process that has started this one: a session that answers every call by a
    halt, before any code of the program runs. A `record` is inert in it; a `replay` of its own works."""

    fails = "closed"
    emits = False
    is_open = True
    runs_program = True

    def __init__(self, word: Word) -> None:
        self._word = word
        self._halted: Halt | None = None

    @property
    def mode(self) -> Mode:
        return self

    def reads_from(self, path: Path) -> bool:
        return False

    def handed_on(self) -> Word:
        return replace(self._word, pid=os.getpid())

    def cross(self, call: Call) -> Flow:
        if self._halted is None:
            self._halted = halt_here(call.spec.name, self._word.reports)
        raise self._halted


def _program() -> str:
    """What this process is, for people: the worker's name in a pool, else the script."""
    module: Any = sys.modules.get("multiprocessing.process")
    name = module.current_process().name if module is not None else "MainProcess"
    if name != "MainProcess":
        return str(name)
    script = sys.argv[0] if sys.argv else ""
    return "" if script.startswith("-") else script  # `-c`
