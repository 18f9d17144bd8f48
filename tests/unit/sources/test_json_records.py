"""Text is cut into objects, whatever lies between them."""

from __future__ import annotations

import io

import pytest

from tracetape.errors import FormatError
from tracetape.sources import json_records
from tracetape.sources.json_records import read_text
from tracetape.sources.records import Record

BOM = b"\xef\xbb\xbf"


def pieces(data: bytes) -> list[object]:
    """Objects as they are, gaps as their code and place."""
    return [
        one.content if isinstance(one, Record) else f"{one.code} {one.where}"
        for one in read_text(io.BytesIO(data), "f")
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
        (b'{"a":1}\r\n\r\n{"a":2}', [{"a": 1}, {"a": 2}]),
        (BOM + b'{"a":1}\n' + BOM + b'{"a":2}', [{"a": 1}, {"a": 2}]),
        (BOM + b'{\n"a":1\n}', [{"a": 1}]),
        (b'{\n "a": 1\n}\n', [{"a": 1}]),
        (b'{\n "a": {}\n}\n{\n "a": 2\n}\n', [{"a": {}}, {"a": 2}]),
        (b'{\n "a": 1\n}{\n "a": 2\n}', [{"a": 1}, {"a": 2}]),
        (b'{"a":1}{"a":2}\n{"a":3}', [{"a": 1}, {"a": 2}, {"a": 3}]),
        (b'[{"a":1},{"a":2}]', [{"a": 1}, {"a": 2}]),
        (b'[\n{"a":1},\n{"a":2}\n]', [{"a": 1}, {"a": 2}]),
        (b"[]", []),
        (b"{}", [{}]),
        (b"", []),
        (b'{"a":"\xe2\x80\xa8"}\n', [{"a": "\u2028"}]),
        (b'hello\n{"a":1}\n[INFO] x\n', ["SKIPPED_LINE f:1", {"a": 1}, "SKIPPED_LINE f:3"]),
        (b'{\n "a": 1\n}\nbye\n{"a":2}', [{"a": 1}, "SKIPPED_LINE f:4", {"a": 2}]),
        (b'{"a":\n\n{"a":2}\n', ["SKIPPED_LINE f:1", {"a": 2}]),
        (b'{"a":1}\n{"a":"x', [{"a": 1}, "TRUNCATED_LAST_RECORD f:2"]),
        (b'{"a":1}\n{"a":"\xe2\x80', [{"a": 1}, "TRUNCATED_LAST_RECORD f:2"]),
        (b'{"a":1}\n{"a":"x\n\n', [{"a": 1}, "TRUNCATED_LAST_RECORD f:2"]),
        (b'{"a":1}\n{"a":tr', [{"a": 1}, "TRUNCATED_LAST_RECORD f:2"]),
        (b'{"a":1}\n{"a":"\\u00', [{"a": 1}, "TRUNCATED_LAST_RECORD f:2"]),
        (b'{\n "a": 1\n}\n{\n "a":', [{"a": 1}, "TRUNCATED_LAST_RECORD f:4"]),
        (b'{\n "a": x\n}\n{"a":2}', ["SKIPPED_LINE f:1", "SKIPPED_LINE f:3", {"a": 2}]),
        (b'[1,{"a":1}]', ["SKIPPED_LINE f:1", {"a": 1}]),
        (b"7\n", ["SKIPPED_LINE f:1"]),
        (b'{"a":"\xff"}', [{"a": "\ufffd"}, "INVALID_UTF8 f:1"]),
        (b'{"a":"\\ud83d"}', [{"a": "\ufffd"}, "INVALID_UTF8 f:1"]),
        (
            b'{"\\ud83d":["\\ud83d\\ude80",NaN]}'.replace(b"NaN", b"-Infinity"),
            [{"\ufffd": ["🚀", float("-inf")]}, "INVALID_UTF8 f:1"],
        ),
    ],
)
def test_objects_and_gaps(data, expected):
    assert pieces(data) == expected


def test_where_says_the_line():
    data = b'\n{"a":1}\n{\n"a":2}\n{"a":3}\n'

    assert [one.where for one in read_text(io.BytesIO(data), "f")] == ["f:2", "f:3", "f:5"]


def test_nan_is_a_number():
    [one] = pieces(b'{"a":NaN}')
    assert isinstance(one, dict)
    assert one["a"] != one["a"]


def test_a_line_is_bounded(monkeypatch):
    monkeypatch.setattr(json_records, "LINE_LIMIT", 10)

    with pytest.raises(FormatError) as caught:
        pieces(b'{}\n{"a":"0123456789"}\n')

    assert (caught.value.code, str(caught.value)) == (
        "TOO_LARGE",
        "f:2: a line of more than 10 bytes, which is the most that is read. Export in smaller batches.",
    )
