"""Text is cut into objects, whatever lies between them."""

from __future__ import annotations

import io
import json
import time
import tracemalloc

import pytest

from tracetape.errors import FormatError
from tracetape.model.span import Gap
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


LONG = b'{"a":"0123456789"}\n'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b'{"a":1}\n' + LONG + b'{"a":2}\n', [{"a": 1}, "SKIPPED_LINE f:2", {"a": 2}]),
        (LONG + b'{"a":2}', ["SKIPPED_LINE f:1", {"a": 2}]),
        (b'{"a":1}\n' + LONG.strip(), [{"a": 1}, "SKIPPED_LINE f:2"]),
        (b'{"a":1}\n{"a":\n' + LONG + b"{}", [{"a": 1}, "SKIPPED_LINE f:2", "SKIPPED_LINE f:3", {}]),
    ],
)
def test_a_line_over_the_limit_costs_that_line_alone(data, expected, monkeypatch):
    monkeypatch.setattr(json_records, "LINE_LIMIT", 10)

    assert pieces(data) == expected


def test_a_line_over_the_limit_is_named_with_its_size_and_lines_after_it_have_their_place(monkeypatch):
    monkeypatch.setattr(json_records, "LINE_LIMIT", 10)
    gap, record = read_text(io.BytesIO(LONG + b'{"a":2}\n'), "f")

    assert isinstance(gap, Gap)
    assert gap.text == (
        "line 1 has 19 bytes, more than the 10 that are read of one, and is left out. Export in smaller batches."
    )
    assert isinstance(record, Record)
    assert record.place == (19, 8)


def test_a_line_over_the_limit_is_never_in_memory_whole(monkeypatch):
    monkeypatch.setattr(json_records, "LINE_LIMIT", 1_000)

    class Endless(io.RawIOBase):
        left = 64 * 2**20

        def readable(self):
            return True

        def readinto(self, buffer):
            size = min(len(buffer), self.left)
            self.left -= size
            buffer[:size] = b"x" * size
            return size

    tracemalloc.start()
    with pytest.raises(FormatError):
        list(read_text(io.BufferedReader(Endless()), "f"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 2**20


def test_a_file_of_nothing_but_a_line_over_the_limit_is_too_large(monkeypatch):
    monkeypatch.setattr(json_records, "LINE_LIMIT", 10)

    with pytest.raises(FormatError) as caught:
        pieces(b"noise\n" + LONG)

    assert (caught.value.code, str(caught.value)) == (
        "TOO_LARGE",
        "f:2: line 2 has 19 bytes, more than the 10 that are read of one, and is left out. "
        "Export in smaller batches.",
    )


@pytest.mark.parametrize("damage", ["{x\n", "[1,}\n", "noise\n", '{"a":"b" "c"}\n'])
def test_damaged_text_is_read_in_time_that_grows_as_its_size(damage):
    def cost(lines):
        data = ('{"resourceSpans": [\n' + damage * lines).encode()
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            for _ in read_text(io.BytesIO(data), "f"):
                pass
            best = min(best, time.process_time() - begin)
        return best

    # Sixteen times the size: linear is 16, quadratic is 256.
    assert cost(64_000) < 64 * cost(4_000)


@pytest.mark.parametrize("damage", ['{"resourceSpans":x ', '{"resourceSpans":"x" ', '{"resource_spans":[{ '])
def test_a_damaged_line_is_read_in_time_that_grows_as_its_size(damage):
    def cost(times):
        data = (damage * times + "\n").encode()
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            for _ in read_text(io.BytesIO(data), "f"):
                pass
            best = min(best, time.process_time() - begin)
        return best

    # Sixteen times the size: linear is 16, quadratic is 256.
    assert cost(16_000) < 64 * cost(1_000)


@pytest.mark.parametrize("cut", range(1, 130, 3))
def test_a_document_behind_one_that_is_cut_is_read(cut):
    said = {"name": 'a " {"resourceSpans": ', "n": [1, 2]}
    content = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": [said]}]}]}
    whole = json.dumps(content, separators=(",", ":")).encode()
    text = whole[: min(cut, len(whole) - 1)] + whole + b"\n" + whole + b"\n"
    pieces = list(read_text(io.BytesIO(text), "f"))
    records = [one for one in pieces if isinstance(one, Record)]
    gaps = [one for one in pieces if isinstance(one, Gap)]
    assert [one.content for one in records] == [content] * 2
    assert [one.code for one in gaps] == ["SKIPPED_LINE"]
