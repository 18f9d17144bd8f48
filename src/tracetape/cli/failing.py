"""The exit codes, with the one line that explains each failure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import click

from tracetape.errors import DivergenceError, NotReplayable, SourceError, TracetapeError
from tracetape.model.names import nearest
from tracetape.model.printing import escaped_lines

__all__ = ["CANNOT_COMPARE", "DIVERGED", "INTERRUPTED", "SAME", "WRONG_USE", "Commands", "fail", "reports_errors"]

SAME, DIVERGED, WRONG_USE, CANNOT_COMPARE = 0, 1, 2, 3
INTERRUPTED = 130


def fail(message: str, status: int) -> NoReturn:
    """Say it on standard error and leave with `status`."""
    sys.stdout.flush()
    click.echo(escaped_lines(message), err=True)
    raise SystemExit(status)


class Commands(click.Group):
    """The commands; whatever is wrong with their use is one line on standard error, without the usage that
    click puts around it."""

    def main(self, *args: Any, **settings: Any) -> NoReturn:
        try:
            status = super().main(*args, **{**settings, "standalone_mode": False})
        except click.ClickException as error:
            fail(f"{self._command(error)}: {_sentence(error)}", error.exit_code)
        except click.Abort:
            fail("tracetape: interrupted", INTERRUPTED)
        except OSError as error:
            fail(f"tracetape: {error.strerror or error}", CANNOT_COMPARE)
        raise SystemExit(status if isinstance(status, int) else SAME)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(WRONG_USE)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            ctx.fail(f"no command {args[0]!r}{nearest(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    @staticmethod
    def _command(error: click.ClickException) -> str:
        context = getattr(error, "ctx", None)
        return context.command_path if context is not None else "tracetape"


def _sentence(error: click.ClickException) -> str:
    text = " ".join(error.format_message().split())
    if isinstance(error, click.NoSuchOption):
        # click has changed its words for this
        text = f"No such option {error.option_name!r}" + nearest(error.option_name, error.possibilities or ())
        text = text.removesuffix("; there are none")
    context = getattr(error, "ctx", None)
    end = "" if text.endswith(("?", ".")) else "."
    return f"{text}{end} See {context.command_path} --help" if context is not None else text


def reports_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of ours become their text and an exit code: never a traceback for a user's mistake."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except SourceError as error:
            fail(f"tracetape: {error}", CANNOT_COMPARE)
        except (NotReplayable, DivergenceError) as error:
            fail(f"tracetape: {error}", DIVERGED)
        except TracetapeError as error:
            fail(f"tracetape: {error}", WRONG_USE)

    return run
