"""Errors that are known only by the text that a model was given in place of a tool's result."""

from __future__ import annotations

import re

from tracetape.sources.conventions.observed import Failure

__all__ = ["failure_in"]

# What programs and frameworks write, the class where it is said, the message.
_PATTERNS = (
    # LangGraph: "Error: ValueError('trading in HALTED is suspended')\n Please fix your mistakes."
    re.compile(
        r"""Error: (?P<type>[A-Za-z_][\w.]*)\((?P<quote>['"])(?P<message>.*)(?P=quote),?\)\s*(?:Please fix .*)?""",
        re.S,
    ),
    # MCP: "Error executing tool place_order: trading in HALTED is suspended"
    re.compile(r"Error (?:executing|invoking|calling) tool '?[\w.\-]+'?:? (?P<message>.*)", re.S),
    # "Error: trading in HALTED is suspended", "ValueError: trading in HALTED is suspended"
    re.compile(r"(?P<type>[A-Z]\w*(?:Error|Exception)): (?P<message>.*)", re.S),
    re.compile(r"Error: (?P<message>.*)", re.S),
    # OpenAI's Agents SDK: "An error occurred while running the tool. Please try again. Error: …"
    re.compile(r"An error occurred while running the tool\. Please try again\.(?: Error: (?P<message>.*))?", re.S),
)


def failure_in(text: str, *, certain: bool = False) -> Failure | None:
    """The failure that a text tells of; None for one that reads like a result.

    certain: that it is an error is known, so that a text of another form is its message.
    """
    for pattern in _PATTERNS:
        found = pattern.fullmatch(text.strip())
        if found is not None:
            told = found.groupdict()
            message = told.get("message")
            shown = text.strip() if message is None else message.strip()
            return Failure(told.get("type"), shown, stands_for=True, told=text)
    return Failure(None, text, stands_for=True, told=text) if certain else None
