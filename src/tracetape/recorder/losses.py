"""What the program's OpenTelemetry settings will take from our spans."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tracetape.config import DEFAULT_EXPORT_LIMIT, PIECE_LIMIT
from tracetape.semconv import mirror, write

__all__ = ["Facts", "losses"]

GRPC_REQUEST = 4 * 2**20
"""Bytes that receivers take in one gRPC request, unless they are told otherwise."""
_LARGE = 32
_DIGEST = 71

_ALWAYS = ("AlwaysOnSampler", "ComposableAlwaysOn")
_RATIO = re.compile(r"TraceIdRatioBased\{([0-9.e-]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a provider; None where it does not say. The `…_said_by` are what a user has to change: a
    variable, or an argument in the program.

    disabled:    OTEL_SDK_DISABLED.
    sampler:     the sampler's description.
    most_attributes, longest_value:  of a span.
    piece_limit: how long the pieces are in which payloads go on a span.
    content:     whether values go on it; `content_said_by` is the switch.
    export_limit: payload bytes a span may carry.
    grpc_batch:  how many spans an OTLP exporter over gRPC sends at once, whatever their size.
    mirror:      whether payloads go on it under other names too.
    """

    disabled: bool = False
    sampler: str | None = None
    sampler_said_by: str = "sampler=… of the TracerProvider"
    most_attributes: int | None = None
    most_attributes_said_by: str = "max_span_attributes of its SpanLimits"
    longest_value: int | None = None
    longest_value_said_by: str = "max_span_attribute_length of its SpanLimits"
    piece_limit: int = PIECE_LIMIT
    content: bool = True
    content_said_by: str = "TRACETAPE_CONTENT"
    export_limit: int = DEFAULT_EXPORT_LIMIT
    grpc_batch: int | None = None
    mirror: bool = False


def losses(facts: Facts) -> list[str]:
    """One clause for each loss: what is lost, and what to set. Empty where nothing is."""
    if facts.disabled:
        return ["OTEL_SDK_DISABLED=true: there are no spans at all; unset it"]
    found = (_sampled(facts), _attributes(facts), _lengths(facts), _content(facts), _batch(facts))
    return [one for one in found if one]


def _sampled(facts: Facts) -> str:
    said = facts.sampler
    if said is None:
        return ""
    root = said.removeprefix("ParentBased{root:").partition(",remoteParent")[0]
    ratio = _RATIO.fullmatch(root)
    if root in _ALWAYS or (ratio is not None and float(ratio[1]) >= 1):
        return ""
    what = "no run is exported" if root == "AlwaysOffSampler" else "not every run is exported"
    if ratio is not None:
        what = f"about {float(ratio[1]):.4g} of the runs are exported"
    return f"the sampler is {root}, so {what}: set {_cure(facts.sampler_said_by, 'always_on', 'ALWAYS_ON')}"


def _attributes(facts: Facts) -> str:
    most = facts.most_attributes
    needed = write.MOST_ATTRIBUTES + (mirror.MOST_ATTRIBUTES if facts.mirror else 0)
    if most is None or most >= needed:
        return ""
    return (
        f"a span keeps {most:,} attributes and one of ours has up to {needed}, so the oldest go: "
        f"set {_cure(facts.most_attributes_said_by, '128', '128')}"
    )


def _lengths(facts: Facts) -> str:
    longest = facts.longest_value
    if longest is None:
        return ""
    unset = _cure(facts.longest_value_said_by, "", "None")
    if longest < facts.piece_limit:
        return (
            f"values are cut at {longest:,} characters, and payloads with them: set {unset}, or set "
            f"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT={longest} as well, so that they go in pieces of that length"
        )
    if longest < _DIGEST:
        return f"values are cut at {longest:,} characters, digests and long names with them: set {unset}"
    if facts.mirror:
        return f"values are cut at {longest:,} characters, those of TRACETAPE_MIRROR with them: set {unset}"
    return ""


def _content(facts: Facts) -> str:
    if facts.content:
        return ""
    return (
        f"{facts.content_said_by} keeps inputs and outcomes off them, and what is exported cannot be replayed: "
        "set TRACETAPE_CONTENT=full"
    )


def _batch(facts: Facts) -> str:
    """At the defaults (512 spans of up to 256 KiB) one span in 32 may be as large as can be before a request is
    too large; that much is taken for granted, and more is said."""
    batch, limit = facts.grpc_batch, facts.export_limit
    if batch is None or (batch * limit <= _LARGE * GRPC_REQUEST and limit <= GRPC_REQUEST):
        return ""
    fitting = max((GRPC_REQUEST - GRPC_REQUEST // 8) // limit, 1)  # the rest is for all but payloads
    cure = f"OTEL_BSP_MAX_EXPORT_BATCH_SIZE={fitting}" if fitting < batch else f"TRACETAPE_EXPORT_LIMIT={2**18}"
    spans = f"{batch:,} {'span' if batch == 1 else 'spans'}"
    return (
        f"gRPC sends {spans} of up to {limit:,} bytes each in one request, and receivers refuse one over 4 MiB "
        f"with all that is in it: set {cure}, or use tracetape.exporters.provider()"
    )


def _cure(said_by: str, in_environment: str, in_program: str) -> str:
    """What to set, where it was set."""
    if said_by.startswith("OTEL_"):
        name = said_by.partition("=")[0]
        return f"{name}={in_environment}" if in_environment else f"no {name}"
    return f"{said_by} to {in_program}"
