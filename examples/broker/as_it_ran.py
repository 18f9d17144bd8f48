"""The tool on the day of the incident."""

from __future__ import annotations

from typing import Any

import tracetape

PRICES = {"ACME": 190.0}


@tracetape.boundary("place_order", kind="tool", version="2026.11.1")
def place_order(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    """The broker's API says 200 to any quantity."""
    price = PRICES[symbol]
    return {"status": "filled", "quantity": quantity, "price": price, "notional": quantity * price}
