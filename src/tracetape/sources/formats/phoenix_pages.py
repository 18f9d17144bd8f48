"""What a page of Phoenix's REST API says of the page after it."""

from __future__ import annotations

from typing import Any

from tracetape.model.span import Gap

__all__ = ["INCOMPLETE", "LAST", "page_gap"]

INCOMPLETE = "INCOMPLETE_PAGE"
# Never shown: tells the reader of several pages that the last one is among them.
LAST = "LAST_PAGE"


def page_gap(cursor: Any, where: str) -> Gap:
    if cursor is None:
        return Gap(LAST, "", where)
    return Gap(
        INCOMPLETE,
        f"is one page of several: there are more spans behind its next_cursor {str(cursor)[:40]!r}. Ask with "
        "limit=1000 and cursor=…, and give all pages; or fetch the trace as "
        "phoenix+http://HOST:6006/PROJECT/TRACE_ID",
        where,
    )
