"""The environment, read once, each variable with its meaning."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from tracetape.config import Settings, settings

SOURCE = Path(__file__).parents[2] / "src" / "tracetape"


def test_an_empty_environment_gives_the_defaults() -> None:
    assert settings({}) == Settings(
        build_id=None,
        host_content=True,
        export_limit=262_144,
        piece_limit=2_000,
        service_name="unknown_service",
        otlp_hosts=(),
    )


@pytest.mark.parametrize(
    ("environ", "content"),
    [
        ({"TRACETAPE_CONTENT": "off"}, False),
        ({"TRACETAPE_CONTENT": "FULL", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"}, True),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "NO_CONTENT"}, False),
        ({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}, True),
    ],
)
def test_content_is_on_unless_it_was_switched_off_in_so_many_words(environ: dict[str, str], content: bool) -> None:
    assert settings(environ).host_content is content


def test_a_value_limit_of_the_host_makes_the_pieces_smaller_never_larger() -> None:
    assert settings({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "100"}).piece_limit == 100
    assert settings({"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "5000"}).piece_limit == 2_000


def test_otlp_endpoints_are_known_with_their_ports() -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "collector.example:4317",
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://collector:not-a-port",
    }
    assert settings(environ).otlp_hosts == ("collector:4318", "collector.example:4317")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TRACETAPE_CONTENT", "none", "TRACETAPE_CONTENT='none' is not one of full, off; full is used"),
        (
            "TRACETAPE_EXPORT_LIMIT",
            "-5",
            "TRACETAPE_EXPORT_LIMIT='-5' is not a positive whole number; 262144 is used",
        ),
    ],
)
def test_a_bad_value_warns_with_the_permitted_ones_and_the_one_used(name: str, value: str, message: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert settings({name: value}) == settings({})
    assert [str(one.message) for one in caught][:1] == [message]


def test_no_other_module_reads_the_environment() -> None:
    readers = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"os\.environ|os\.getenv", path.read_text(encoding="utf-8")) and path.name != "config.py"
    ]
    assert readers == []
