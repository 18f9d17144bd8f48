"""Layouts of backends that are not read are named, never taken for an empty trace."""

from __future__ import annotations

import json

import pytest

from tracetape.errors import FormatError
from tracetape.sources.loading import load

TRACE, SPAN = "00fbef7e3c9a1e5b2d48608c1ffff9d7", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"name": "a", "context": {"trace_id": TRACE}}, "the keys 'name', 'context'"),
        ({"level": "info", "msg": "hello"}, "the keys 'level', 'msg'"),
    ],
)
def test_the_layout_is_named(document, words, tmp_path):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document, indent=1))

    with pytest.raises(FormatError) as caught:
        load(path)

    assert caught.value.code == "UNKNOWN_FORMAT"
    assert words in str(caught.value)
    assert "OTLP protobuf" in str(caught.value)


@pytest.mark.parametrize("key", ["resourceLogs", "resource_metrics", "resourceProfiles"])
def test_another_signal_is_named(key, tmp_path):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({key: [{}]}))

    with pytest.raises(FormatError) as caught:
        load(path)

    assert caught.value.code == "WRONG_SIGNAL"
