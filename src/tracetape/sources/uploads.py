"""Finds content that was uploaded beside the spans: files that a `…_ref` attribute names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tracetape.config import uploads_base
from tracetape.errors import TracetapeError
from tracetape.model.span import SpanRecord
from tracetape.sources.addresses import is_url

__all__ = ["addresses_in", "fetched"]

_REF = "_ref"
_MOST_BYTES = 64 * 2**20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")


def addresses_in(spans: Iterable[SpanRecord]) -> list[str]:
    """The addresses that spans name."""
    found: dict[str, None] = {}
    for span in spans:
        for key, value in span.attributes.items():
            if key.endswith(_REF) and key.startswith("gen_ai.") and isinstance(value, str):
                found[value] = None
    return list(found)


def fetched(addresses: Iterable[str], sources: Sequence[Path]) -> Mapping[str, Any]:
    """The content by address, of those that are found.

    A trace comes from outside, so what it names is opened nowhere but beside it: by the last part of its address,
    in the folder of the source, in the folders of that one of which the address names one, and below
    TRACETAPE_UPLOADS, which is the folder, or the address of the store, that the uploads went to.
    """
    base = uploads_base()
    folders = list(dict.fromkeys(path.absolute().parent for path in sources))
    found: dict[str, Any] = {}
    for address in addresses:
        steps = [step for step in re.split(r"[/\\]+", address.partition("?")[0]) if step]
        if not steps or not _NAME.fullmatch(steps[-1]):
            continue
        content = _beside(steps, folders)
        if content is None and base:
            content = _below(base, steps[-1])
        if content is not None:
            found[address] = content
    return found


def _beside(steps: Sequence[str], folders: Sequence[Path]) -> Any:
    above = [step for step in steps[-3:-1] if _NAME.fullmatch(step)]
    for folder in folders:
        for place in (folder, *(folder / step for step in above)):
            path = place / steps[-1]
            try:
                # A link may lead anywhere.
                is_beside = path.resolve().is_relative_to(folder.resolve())
                if is_beside and path.is_file() and path.stat().st_size <= _MOST_BYTES:
                    return _parsed(path.read_bytes(), path.name)
            except (OSError, RuntimeError):  # a loop of links is the latter before Python 3.13
                continue  # the crossing says that it is not there, or cannot be read
    return None


def _below(base: str, name: str) -> Any:
    if not is_url(base):
        return _beside([name], [Path(base)])
    from tracetape.sources.backends.stores import objects

    try:
        for _, opening in objects(f"{base.rstrip('/')}/{name}"):
            with opening() as chunks:
                data = bytearray()
                for chunk in chunks:
                    data += chunk
                    if len(data) > _MOST_BYTES:
                        return None
            return _parsed(bytes(data), name)
    except TracetapeError:
        return None  # the crossing says that it is not there
    return None


def _parsed(data: bytes, name: str) -> Any:
    """A JSON document, or lines of one message each with an `index`; None for what is neither."""
    try:
        if not name.endswith(".jsonl"):
            return orjson.loads(data)
        lines = [orjson.loads(line) for line in data.splitlines() if line.strip()]
    except orjson.JSONDecodeError:
        return None
    if len(lines) == 1 and isinstance(lines[0], list):
        return lines[0]
    ordered = sorted((one for one in lines if isinstance(one, dict)), key=lambda one: _index(one.get("index")))
    return [{key: value for key, value in one.items() if key != "index"} for one in ordered]


def _index(value: Any) -> int:
    return value if type(value) is int else 0
