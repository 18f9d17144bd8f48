"""The command line: one module per command."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The entry point `tracetape`; `python -m tracetape` is the same."""
    from tracetape.cli.commands import cli

    cli.main(prog_name="tracetape")
