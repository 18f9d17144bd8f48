"""What a known SDK's response says of itself: usage, model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["answer_of"]

# Names that the SDKs give, and the GenAI convention's word (registry gen-ai, gen_ai.usage.*).
_TOKENS = {
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "completion_tokens": "output_tokens",
}


def answer_of(result: Any) -> tuple[dict[str, int], str | None]:
    """Token counts of an OpenAI or Anthropic response (object or dict), and the model that it names as its author;
    ({}, None) for another result."""
    usage = _field(result, "usage")
    if usage is None:
        return {}, None
    counts: dict[str, int] = {}
    for name, word in _TOKENS.items():
        value = _field(usage, name)
        if type(value) is int and word not in counts:
            counts[word] = value
    model = _field(result, "model") if counts else None
    return counts, model if type(model) is str else None


def _field(holder: Any, name: str) -> Any:
    """A field as stored: no property of a user's class runs because we looked."""
    cls = type(holder)
    if cls is dict:
        return holder.get(name)
    stored = getattr(cls, "__pydantic_fields__", None)
    if stored is None or not isinstance(stored, Mapping):
        return None
    return vars(holder).get(name)
