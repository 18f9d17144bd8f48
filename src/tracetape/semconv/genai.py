"""What a known SDK's response says of itself: usage, model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["response_model_of", "usage_of"]

# Names that the SDKs give, and the GenAI convention's word (registry gen-ai, gen_ai.usage.*).
_TOKENS = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "completion_tokens": "output_tokens",
}


def usage_of(result: Any) -> dict[str, int]:
    """Token counts of an OpenAI or Anthropic response (object or dict), else {}."""
    usage = _field(result, "usage")
    counts: dict[str, int] = {}
    for name, word in _TOKENS.items():
        value = _field(usage, name)
        if type(value) is int and word not in counts:
            counts[word] = value
    return counts


def response_model_of(result: Any) -> str | None:
    """The model that answered, where a response with usage names it."""
    model = _field(result, "model")
    return model if type(model) is str and usage_of(result) else None


def _field(holder: Any, name: str) -> Any:
    """A field as stored: no property of a user's class runs because we looked."""
    if holder is None:
        return None
    if isinstance(holder, Mapping):
        return holder.get(name) if type(holder) is dict else None
    stored = getattr(type(holder), "__pydantic_fields__", None)
    if stored is None or not isinstance(stored, Mapping):
        return None
    return vars(holder).get(name)
