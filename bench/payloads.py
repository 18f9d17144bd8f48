"""The values that the measured functions take."""

from __future__ import annotations

from typing import Any

__all__ = ["CHAT", "LONG_CHAT", "SIZES", "SMALL", "chat"]

SMALL: dict[str, Any] = {
    "city": "Lisbon",
    "units": "metric",
    "days": 3,
    "lat": 38.7,
    "flags": ["hourly", "alerts"],
    "cursor": None,
}


def chat(messages: int, repeated: int) -> dict[str, Any]:
    """A model call's arguments: so many messages, each with one sentence so many times."""
    return {
        "model": "some-model-large",
        "temperature": 0.2,
        "max_tokens": 1024,
        "messages": [
            {
                "role": ("system", "user", "assistant", "tool")[number % 4],
                "content": f"{number} " + 'the order of the customer "Ada" is late, says "Bo".\n' * repeated,
            }
            for number in range(messages)
        ],
    }


CHAT = chat(8, 8)
LONG_CHAT = chat(64, 19)
SIZES = (("small", SMALL), ("4 + 4 KB", CHAT), ("64 + 64 KB", LONG_CHAT))
