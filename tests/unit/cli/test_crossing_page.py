"""One crossing in full."""

from __future__ import annotations

import orjson

from tracetape.cli.crossing_page import crossing_in_full
from tracetape.model.crossing import Crossing
from tracetape.model.payload import Payload
from tracetape.model.span import Gap


def payload(value: object) -> Payload:
    return Payload.of(orjson.dumps(value).decode())


def page(**fields) -> list[str]:
    given = {"boundary": "plan", "occurrence": 2, "kind": "llm", "duration": 2_000_000, "trace_id": "0a" * 16}
    return [line.plain for line in crossing_in_full(Crossing(**{**given, **fields}))]


def test_everything_that_is_known_has_a_line():
    lines = page(
        model="m-1",
        usage={"input_tokens": 1200, "output_tokens": 7},
        version="2026.11.1",
        span_ids=("0b" * 8, "0c" * 8),
        gaps=(Gap("OPAQUE", "a socket", "$.x"),),
        input=payload({"q": "sell"}),
        output=payload([1]),
    )

    assert lines == [
        "plan@2",
        "  kind      llm",
        "  grade     exact",
        "  duration  2 ms",
        "  model     m-1",
        "  usage     input_tokens 1,200, output_tokens 7",
        "  version   2026.11.1",
        f"  trace     {'0a' * 16}",
        f"  spans     {'0b' * 8}, {'0c' * 8}",
        f"  gap       {Gap('OPAQUE', 'a socket', '$.x')}",
        "in",
        "  {",
        '    "q": "sell"',
        "  }",
        "out",
        "  [",
        "    1",
        "  ]",
    ]


def test_a_text_of_several_lines_is_read_as_lines():
    lines = page(input=payload({"prompt": 'You are "good".\n\tSell.', "n": 1}), output=payload("a\nb"))

    assert lines[lines.index("in") :] == [
        "in",
        "  {",
        '    "prompt":',
        '      | You are "good".',
        "      |         Sell.",
        '    "n": 1',
        "  }",
        "out",
        "    | a",
        "    | b",
    ]


def test_a_backslash_before_an_n_is_no_line_break():
    assert '    "path": "C:\\\\new"' in page(input=payload({"path": "C:\\new"}))


def test_a_huge_value_is_cut_and_the_way_to_the_rest_is_said():
    lines = page(output=payload("x" * 50_000))

    assert len("".join(lines)) < 21_000
    assert lines[-1] == "  … (30,002 more characters; --json has them all)"


def test_text_of_a_trace_cannot_command_the_terminal():
    evil = "\x1b[2J\u202e"
    lines = page(boundary=evil, model=evil, input=payload({evil: f"{evil}\n{evil}"}))

    assert all(line.isprintable() for line in lines)


def test_an_outcome_that_never_came_has_no_value():
    assert page(outcome="unfinished", duration=None)[-1] == "unfinished"
