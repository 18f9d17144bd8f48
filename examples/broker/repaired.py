"""The tool after the incident: an order above the cap is refused."""

from __future__ import annotations

from typing import Any

import tracetape

PRICES = {"ACME": 190.0}
NOTIONAL_CAP = 10_000.0


@tracetape.boundary("place_order", kind="tool", version="2026.11.2")
def place_order(symbol: str, quantity: int, side: str) -> dict[str, Any]:
    """Refuses what is worth more than the cap."""
    price = PRICES[symbol]
    notional = quantity * price
    if notional > NOTIONAL_CAP:
        return {
            "blocked": True,
            "reason": f"{quantity:,} {symbol} at ${price:,.2f} is ${notional:,.2f}, over ${NOTIONAL_CAP:,.0f}",
        }
    return {"status": "filled", "quantity": quantity, "price": price, "notional": notional}
