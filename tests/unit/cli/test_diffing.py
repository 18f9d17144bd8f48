"""How two recordings differ, as text or JSON."""

from __future__ import annotations

from tracetape.cli.diffing import as_json, lines
from tracetape.model.crossing import Crossing
from tracetape.model.recording import Recording
from tracetape.model.report import Difference, Divergence

A = Recording("0a" * 16, (Crossing(boundary="plan", occurrence=1),), source="a.jsonl")
B = Recording("0b" * 16, (), source="b.jsonl")
HEAD = [
    f"first:  a.jsonl  trace {'0a' * 16}  1 crossing",
    f"second: b.jsonl  trace {'0b' * 16}  0 crossings",
]


def text(*divergences: Divergence) -> list[str]:
    return [line.plain for line in lines(A, B, divergences)]


def test_no_difference_is_said_in_words():
    assert text() == [*HEAD, "same: every crossing has equal inputs and an equal outcome"]


def test_a_change_is_shown_with_both_values():
    changes = (Difference("$.q", '"a: recorded 1, now 2"', "5"), Difference("$.new", "", "null"))
    divergence = Divergence("changed", "plan@1", "plan@1: other inputs\n  as it was said before", changes)

    assert text(divergence) == [
        *HEAD,
        "plan@1: other inputs",
        '  $.q: "a: recorded 1, now 2" → 5',
        "  $.new: (absent) → null",
        "1 difference",
    ]


def test_what_is_only_in_one_is_not_compared_with_what_is_near():
    near = (Difference("$.q", "1", "2"),)

    assert text(
        Divergence("added", "x@1", "x@1 is only in the second recording", near),
        Divergence("missing", "y@1", "y@1 is only in the first recording"),
    ) == [*HEAD, "x@1 is only in the second recording", "y@1 is only in the first recording", "2 differences"]


def test_text_of_a_trace_cannot_command_the_terminal():
    evil = "\x1b[2J\u202e"

    told = text(Divergence("changed", evil, evil, (Difference(evil, evil, evil),)))

    assert all(line.isprintable() for line in told)


def test_json_has_the_changes_as_they_are():
    divergence = Divergence("changed", "plan@1", "plan@1: other inputs", (Difference("$.q", "1", ""),))

    assert as_json([divergence]) == [
        {
            "kind": "changed",
            "name": "plan@1",
            "text": "plan@1: other inputs",
            "changes": [{"path": "$.q", "a": "1", "b": ""}],
        }
    ]
