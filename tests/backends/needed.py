"""Which backends a test cannot do without."""

from __future__ import annotations

import os

import pytest

from tests.backends.cache import available

__all__ = ["needs"]


def needs(*names: str) -> None:
    """Skip what calls this, with the reason, where one of the backends is missing.

    With TRACETAPE_REQUIRE_BACKENDS=1 it fails instead: in CI a missing backend is a defect, not a choice.
    """
    missing = [reason for reason in map(available, names) if reason]
    if not missing:
        return
    if os.environ.get("TRACETAPE_REQUIRE_BACKENDS") == "1":
        pytest.fail("; ".join(missing), pytrace=False)
    pytest.skip("; ".join(missing))
