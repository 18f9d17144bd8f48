"""The configs beside the Collector's recordings are those that they were made with."""

from __future__ import annotations

import hashlib
from pathlib import Path

RECORDINGS = Path(__file__).parents[1] / "recordings" / "otelcol-0.161.0"
CONFIG = RECORDINGS / "collector-config"


def test_the_configs_are_those_that_the_recordings_were_made_with():
    """Changed one? Run make.py beside it, which validates them and records again."""
    now = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}" for one in sorted(CONFIG.iterdir())]
    assert (RECORDINGS / "collector-config.sha256").read_text().splitlines() == now
