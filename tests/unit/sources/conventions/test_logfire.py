"""Reprs that Logfire writes of Anthropic's blocks are read as literals alone; nothing in them is ever run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.sources.conventions.spans import Message, assistant, call, llm, read, result, user, value_of

from tracetape.sources.conventions import logfire

SCOPE = "logfire.anthropic"


def read_back(text: str) -> list[Any]:
    """The parts of a message of the assistant with one text."""
    recording = read(llm(1, 1, 2, [user("hi"), assistant(text), user("more")], assistant("ok"), scope=SCOPE))
    found: list[Message] = value_of(recording.crossings[0].input)["messages"]
    assert [one["role"] for one in found] == ["user", "assistant", "user"]
    parts: list[Any] = found[1]["parts"]
    return parts


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("TextBlock(citations=None, text='hi', type='text')", {"type": "text", "content": "hi"}),
        ("BetaTextBlock(citations=None, text='hi', type='text')", {"type": "text", "content": "hi"}),
        ("TextBlock(text=\"it's\", type='text')", {"type": "text", "content": "it's"}),
        ("TextBlock(text='a\\nb (c)', type='text')", {"type": "text", "content": "a\nb (c)"}),
        (
            "ThinkingBlock(signature='s', thinking='Hm.', type='thinking')",
            {"type": "reasoning", "content": "Hm."},
        ),
        (
            "ToolUseBlock(id='c1', input={'dice': 1, 'on': [True, None]}, name='roll', type='tool_use')",
            call("c1", "roll", dice=1, on=[True, None]),
        ),
    ],
)
def test_a_repr_of_a_block_is_the_block(text: str, part: dict[str, Any]) -> None:
    assert read_back(text) == [part]


def test_a_tool_s_result_is_the_call_s_that_a_repr_has() -> None:
    block = "ToolUseBlock(id='c1', input={'dice': 1}, name='roll', type='tool_use')"
    asked = {"role": "assistant", "parts": [call("c1", "roll", dice=1)]}
    recording = read(
        llm(1, 10, 20, [user("Roll")], asked, scope=SCOPE),
        llm(
            2,
            50,
            60,
            [user("Roll"), assistant(block), result("c1", "six")],
            assistant("ok"),
            scope=SCOPE,
        ),
    )
    assert [one.name for one in recording.crossings] == ["chat@1", "roll@1", "chat@2"]
    assert value_of(recording["roll", 1].output) == "six"


@pytest.mark.parametrize(
    "field",
    [
        "open({path!r}, 'w')",
        "__import__('pathlib').Path({path!r}).touch()",
        "[open({path!r}, 'w') for _ in 'a']",
        "(lambda: open({path!r}, 'w'))()",
        "f'{{open({path!r}, chr(119))}}'",
        "open({path!r}, 'w') or 'hi'",
    ],
)
@pytest.mark.parametrize("place", ["text={field}, type='text'", "text='hi', type='text', citations={field}"])
def test_a_call_in_a_repr_is_never_made(field: str, place: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    text = f"TextBlock({place.format(field=field.format(path=str(path)))})"
    assert read_back(text) == [{"type": "text", "content": text}]
    assert not path.exists()


@pytest.mark.parametrize(
    "inner",
    [
        "text=name, type='text'",
        "text=__name__, type='text'",
        "text='a'.__class__, type='text'",
        "text=().__class__.__bases__[0], type='text'",
        "text='a' 'b' % 1, type='text'",
        "text='a' * 3, type='text'",
        "text='abc'[0], type='text'",
        "text=(a := 'b'), type='text'",
        "text=lambda: 1, type='text'",
        "text='a' if 1 else 'b', type='text'",
        "**{'text': 'hi', 'type': 'text'}",
        "'hi', 'text'",
        "text={[]: 1}, type='text'",
        "text='hi'",
        "text='hi', type='image'",
        "text=[1], type='text'",
        "*['hi'], type='text'",
        "id='c1', input={}, type='tool_use'",
        "name='t', input={(1, 2): 3}, type='tool_use'",
        "name='t', input={'a': {1, 2}}, type='tool_use'",
        "name='t', input={'a': 1j}, type='tool_use'",
    ],
)
def test_what_is_no_block_of_literals_stays_a_text(inner: str) -> None:
    text = f"TextBlock({inner})"
    assert read_back(text) == [{"type": "text", "content": text}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "OtherBlock(text='hi', type='text')",
        "TextBlock",
        "TextBlock(",
        "TextBlock(text='hi', type='text'",
        "See TextBlock(text='hi', type='text')",
        "MyTextBlock(text='hi', type='text')",
        "TextBlock(text='hi', type='text') or so",
        "TextBlock(text='hi', type='text'), TextBlock(text='ho', type='text')",
        "TextBlock(text='hi', type='text').model_copy()",
        "TextBlock().other(text='hi', type='text')",
        "TextBlock(text='\0', type='text')",
        "TextBlock(text='\\N{no such}', type='text')",
        "TextBlock(text='\\x', type='text')",
        "TextBlock(text=1_, type='text')",
        "TextBlock(text='hi' type='text')",
    ],
)
def test_a_text_that_only_looks_like_a_block_stays_a_text(text: str) -> None:
    part = {"type": "text", "content": text}
    assert logfire._block(part) == part


@pytest.mark.parametrize(
    "field",
    [
        "[" * 5_000 + "]" * 5_000,
        "{1:" * 5_000 + "1" + "}" * 5_000,
        "-" * 50_000 + "1",
        "1+" * 50_000 + "1j",
        "not " * 50_000 + "1",
        "a" + ".a" * 50_000,
        "a" + "()" * 50_000,
        "lambda:" * 50_000 + "1",
        "9" * 50_000,
    ],
    ids=["lists", "dicts", "signs", "sums", "nots", "attributes", "calls", "functions", "digits"],
)
def test_a_repr_that_is_nested_deeply_stays_a_text(field: str) -> None:
    text = f"TextBlock(text={field}, type='text')"
    assert read_back(text) == [{"type": "text", "content": text}]


def test_a_huge_repr_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(logfire, "_literals", never)
    text = f"TextBlock(text='{'a' * 1_000_000}', type='text')"
    assert read_back(text) == [{"type": "text", "content": text}]
