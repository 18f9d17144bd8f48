"""The exit codes, with the line that explains each failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import click

from tracetape.errors import DivergenceError, NotReplayable, SourceError, TracetapeError

__all__ = ["CANNOT_COMPARE", "DIVERGED", "SAME", "WRONG_USE", "fail", "reports_errors"]

SAME, DIVERGED, WRONG_USE, CANNOT_COMPARE = 0, 1, 2, 3


def fail(message: str, status: int) -> NoReturn:
    """Say it on standard error and leave with `status`."""
    click.echo(message, err=True)
    raise SystemExit(status)


def reports_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of ours become their text and an exit code: never a traceback for a user's mistake."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except SourceError as error:
            fail(f"tracetape: {error}", CANNOT_COMPARE)
        except NotReplayable as error:
            fail(f"tracetape: {error}", DIVERGED)
        except DivergenceError as error:
            fail(str(error), DIVERGED)
        except TracetapeError as error:
            fail(f"tracetape: {error}", WRONG_USE)

    return run
