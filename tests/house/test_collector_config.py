"""The Collector's configs are those that a real Collector validated and recorded with; compose fits them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "collector-config"
RECORDINGS = ROOT / "tests" / "recordings" / "otelcol-0.161.0"
COMPOSE = ROOT / "docker-compose.yml"
FILES = [*sorted(CONFIG.iterdir()), COMPOSE]


def test_the_configs_are_those_that_the_recordings_were_made_with():
    """Changed one? Run tests/recordings/otelcol-0.161.0/make.py, which validates them and records again."""
    now = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in sorted(CONFIG.iterdir())]
    assert (RECORDINGS / "collector-config.sha256").read_text().splitlines() == now


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_yaml_parses(file):
    assert parse_yaml(file.read_text())


def test_every_component_of_the_pipeline_is_configured():
    base = parse_yaml((CONFIG / "collector.yaml").read_text())
    traces = base["service"]["pipelines"]["traces"]
    for kind in ("receivers", "processors", "exporters"):
        assert set(traces[kind]) == set(base[kind])
    assert set(base["receivers"]["otlp"]["protocols"]) == {"grpc", "http"}


def test_jaeger_is_added_and_the_file_stays():
    more = parse_yaml((CONFIG / "jaeger.yaml").read_text())
    # The Collector merges maps and replaces lists.
    assert more["service"]["pipelines"]["traces"]["exporters"] == ["file", *more["exporters"]]


def test_nothing_listens_beyond_this_machine_by_default():
    for found in re.findall(r"endpoint: (.*)", (CONFIG / "collector.yaml").read_text()):
        assert re.fullmatch(r"\$\{env:\w+:-127\.0\.0\.1:\d+\}", found)
    for service in parse_yaml(COMPOSE.read_text())["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_compose_starts_the_collector_with_configs_that_are_there_and_sets_variables_that_they_read():
    collector = parse_yaml(COMPOSE.read_text())["services"]["collector"]
    assert collector["volumes"][0] == f"./{CONFIG.name}:/etc/otelcol:ro"
    used = [CONFIG / argument.removeprefix("--config=/etc/otelcol/") for argument in collector["command"]]
    assert used == [CONFIG / "collector.yaml", CONFIG / "jaeger.yaml"]
    read = {name for config in used for name in re.findall(r"\$\{env:(\w+)", config.read_text())}
    assert set(collector["environment"]) == read


def test_compose_pins_every_image():
    for service in parse_yaml(COMPOSE.read_text())["services"].values():
        assert re.search(r":\d+\.\d+\.\d+$", service["image"])


def parse_yaml(text: str) -> Any:
    """The part of YAML that these files keep to: block mappings, block sequences of scalars, comments.

    No YAML library is among the dependencies. Refuses whatever it does not know, hence stricter than YAML.
    """
    lines = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split(" #", 1)[0].rstrip()
        if line and not line.lstrip().startswith("#"):
            indent = len(line) - len(line.lstrip(" "))
            assert indent % 2 == 0, f"line {number}: indented by {indent}"
            assert "\t" not in line, f"line {number}: a tab"
            lines.append((number, indent, line[indent:]))
    value, rest = _block(lines, 0)
    assert not rest, f"line {rest[0][0]}: indented too much or too little"
    return value


def _block(lines: list[tuple[int, int, str]], indent: int) -> tuple[Any, list[tuple[int, int, str]]]:
    items: list[Any] = []
    mapping: dict[str, Any] = {}
    while lines and lines[0][1] == indent:
        number, _, text = lines.pop(0)
        if text.startswith("- "):
            items.append(_scalar(number, text[2:]))
            continue
        found = re.fullmatch(r"([\w/]+):(?: (\S.*))?", text)
        assert found, f"line {number}: neither `key: value` nor `- value`: {text}"
        key, scalar = found.groups()
        assert key not in mapping, f"line {number}: {key} is there twice"
        if scalar is not None:
            mapping[key] = _scalar(number, scalar)
        elif lines and lines[0][1] == indent + 2:
            mapping[key], lines = _block(lines, indent + 2)
        else:
            mapping[key] = None
    assert not (items and mapping), "a mapping and a sequence in one block"
    return items or mapping, lines


def _scalar(number: int, text: str) -> str | int | bool:
    quoted = re.fullmatch(r'"([^"\\]*)"', text)
    if quoted:
        return quoted[1]
    plain = re.fullmatch(r"[\w./$-][^\"'{}\[\]#]*", text) or re.fullmatch(r"\$\{env:[\w:./-]+\}", text)
    assert plain, f"line {number}: quote this value: {text}"
    assert ": " not in text, f"line {number}: two keys in one line: {text}"
    return _WORDS[text] if text in _WORDS else int(text) if text.isdecimal() else text


_WORDS = {"true": True, "false": False}
