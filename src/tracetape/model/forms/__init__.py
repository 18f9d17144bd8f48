"""Providers' own requests or answers ⇄ the normal form: one module for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tracetape.model import messages as normal
from tracetape.model.forms import anthropic, gemini, genai, openai_chat, openai_responses

__all__ = ["answer_of", "request_of"]


class _Requests(Protocol):
    def is_request(self, raw: Any) -> bool: ...

    def request(self, raw: Mapping[str, Any]) -> normal.Request: ...


class _Answers(Protocol):
    def is_answer(self, raw: Any) -> bool: ...

    def answer(self, raw: Any) -> normal.Answer: ...


_REQUESTS: tuple[_Requests, ...] = (genai, gemini, anthropic, openai_chat, openai_responses)
_ANSWERS: tuple[_Answers, ...] = (openai_chat, anthropic, gemini, openai_responses, genai)


def request_of(raw: Any) -> normal.Request | None:
    """The request in the normal form, whichever provider's it is; None for what is none.

    raw: the arguments of an SDK's call by name, or the body that it sends.
    """
    if not isinstance(raw, Mapping):
        return None
    for form in _REQUESTS:
        if form.is_request(raw):
            return form.request(raw)
    return None


def answer_of(raw: Any) -> normal.Answer | None:
    """The answer in the normal form; None for what is none. raw: a response body, or an answer in that form."""
    for form in _ANSWERS:
        if form.is_answer(raw):
            return form.answer(raw)
    return None
