"""MLflow's tracking server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import SplitResult, parse_qs, urlencode

from tracetape.errors import SourceError, TraceSelectionError
from tracetape.sources.backends import Address, Document, Found, Get, Wanted
from tracetape.sources.backends.traces import refuse_status

__all__ = ["documents", "find", "name", "pasted", "spelling"]

name = "mlflow"
spelling = "mlflow+http://HOST:5000/TRACE_ID"

_TRACE = re.compile(r"tr-([0-9a-f]{32})")
_KEYS = ("selectedEvaluationId", "selectedTraceId")


def pasted(parts: SplitResult) -> Address | None:
    """The UI's page of a trace, which stands in the fragment:
    `#/experiments/1/traces?selectedEvaluationId=tr-…`."""
    query = parse_qs(parts.fragment.partition("?")[2])
    for key in _KEYS:
        found = _TRACE.fullmatch(query.get(key, [""])[0])
        if found is not None:
            return Address(name, f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", found[1])
    return None


def documents(address: Address, get: Get) -> Iterator[Document]:
    """By `traces/get`."""
    query = urlencode({"trace_id": f"tr-{address.trace_id}", "allow_partial": "False"})
    answer = get(f"{address.base}/api/3.0/mlflow/traces/get?{query}", "application/json")
    if answer.status == 404 and b"RESOURCE_DOES_NOT_EXIST" in answer.body:
        raise TraceSelectionError(
            f"{address}: MLflow has no such trace. Is the id right (tr-… without its tr-), and is it this "
            "server's?",
            code="TRACE_NOT_FOUND",
        )
    refuse_status(answer, "MLflow", address)
    yield Document(answer.url, answer.body)


def find(address: Address, wanted: Wanted, get: Get) -> list[Found]:
    """Not offered: MLflow searches by experiment, in a language of its own."""
    raise SourceError(
        f"{address}: looking for traces in MLflow is not done here. Look in its UI, and give {spelling}, or "
        "paste the address of the page.",
        code="BACKEND_ERROR",
    )
