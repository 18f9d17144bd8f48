"""The command line: one module per command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The entry point `tracetape`; `python -m tracetape` is the same."""
    from tracetape.cli import backend_commands  # noqa: F401 (adds its commands)
    from tracetape.cli.commands import cli

    # The object says that this process belongs to the command: see `running.replay_program`.
    cli.main(prog_name="tracetape", obj=True)
