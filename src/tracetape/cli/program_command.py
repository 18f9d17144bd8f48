"""A click command whose last words are a program with its own options."""

from __future__ import annotations

import click

__all__ = ["ProgramCommand"]


class ProgramCommand(click.Command):
    """Everything behind SCRIPT, or behind the module of `-m`, belongs to the program, as with `python`.

    A hidden option `--source` takes the first word, where the command has one: click stops at the first
    word otherwise, and `replay SOURCE --live NAME SCRIPT` has options behind it.
    """

    allow_interspersed_args = False

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self._has_source():
            position = self._first_word(args)
            if position is not None:
                args = [f"--source={args[position]}", *args[:position], *args[position + 1 :]]
        rest = super().parse_args(ctx, args)
        self._check_complete(ctx)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*(["SOURCE"] if self._has_source() else []), "[OPTIONS]", "SCRIPT|-m MODULE [ARGS]…"]

    def _check_complete(self, ctx: click.Context) -> None:
        """Say what is missing in the words of the usage."""
        if ctx.resilient_parsing:
            return
        if self._has_source() and not ctx.params.get("source"):
            ctx.fail("name the recording, then the program: SOURCE SCRIPT, or SOURCE -m MODULE")
        if not ctx.params.get("program"):
            behind = f" behind the recording {ctx.params['source']}" if self._has_source() else ""
            ctx.fail(f"name the program{behind}: a SCRIPT, or -m MODULE")

    def _has_source(self) -> bool:
        return any(parameter.name == "source" for parameter in self.params)

    def _first_word(self, args: list[str]) -> int | None:
        """Where the first argument stands that is neither an option nor an option's value."""
        takes_value = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and not parameter.is_flag
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        position = 0
        while position < len(args):
            word = args[position]
            if word in takes_value:
                position += 2
            elif word.startswith("-") and word != "-":
                position += 1
            else:
                return position
        return None
