"""The part of YAML that the configs of this repository keep to.

Block mappings and sequences, sequences of scalars in one line, comments. No YAML library is a dependency. Refuses
whatever it does not know, hence stricter than YAML.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["parse_yaml"]

_WORDS = {"true": True, "false": False}
_Lines = list[tuple[int, int, str]]


def parse_yaml(text: str) -> Any:
    lines: _Lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split(" #", 1)[0].rstrip()
        if line and not line.lstrip().startswith("#"):
            indent = len(line) - len(line.lstrip(" "))
            assert indent % 2 == 0, f"line {number}: indented by {indent}"
            assert "\t" not in line, f"line {number}: a tab"
            lines.append((number, indent, line[indent:]))
    value = _block(lines, 0)
    assert not lines, f"line {lines[0][0]}: indented too much or too little"
    return value


def _block(lines: _Lines, indent: int) -> Any:
    """The block at this indentation; takes its lines away."""
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    while lines and lines[0][1] == indent:
        number, _, text = lines.pop(0)
        if text.startswith("- "):
            if re.match(r"[\w/]+:( |$)", text[2:]):
                lines.insert(0, (number, indent + 2, text[2:]))
                items.append(_block(lines, indent + 2))
            else:
                items.append(_value(number, text[2:]))
            continue
        found = re.fullmatch(r"([\w/-]+):(?: (\S.*))?", text)
        assert found, f"line {number}: neither `key: value` nor `- value`: {text}"
        key, scalar = found.groups()
        assert key not in mapping, f"line {number}: {key} is there twice"
        if scalar is not None:
            mapping[key] = _value(number, scalar)
        elif lines and lines[0][1] == indent + 2:
            mapping[key] = _block(lines, indent + 2)
        else:
            mapping[key] = None
    assert not (items and mapping), "a mapping and a sequence in one block"
    return items or mapping


def _value(number: int, text: str) -> Any:
    inside = re.fullmatch(r"\[(.*)\]", text)
    if inside is None:
        return _scalar(number, text)
    found: list[str] = re.findall(r'"[^"\\]*"|[^",\s][^",]*', inside[1])
    assert ",".join(found).replace(" ", "") == inside[1].replace(" ", ""), f"line {number}: {text}"
    return [_scalar(number, one.strip()) for one in found]


def _scalar(number: int, text: str) -> str | int | bool:
    quoted = re.fullmatch(r'"([^"\\]*)"', text)
    if quoted:
        return quoted[1]
    variable = re.fullmatch(r"\$\{env:\w+(:-[^{}\"']*)?\}[\w-]*", text)
    plain = variable or re.fullmatch(r"-{0,2}[\w./$][^\"'{}\[\]#,]*", text)
    assert plain, f"line {number}: quote this value: {text}"
    assert ": " not in text, f"line {number}: two keys in one line: {text}"
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else text
