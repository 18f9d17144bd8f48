"""Google's generate_content, in the spelling of its API (camelCase) or of its SDK (snake_case).

What it has no word for is written in the normal form's own, which is read back: a role other than the user's or
the model's, arguments that are no object. A tool's result that is no object is written as one that has it under
`result`, and reads back as that. It does not say a message's name, whether a result is an error, the id of a file,
the modality of a medium without a MIME type, or a part that has a key of its own parts (`text`, …); a refusal is a
text. The bytes of media are not known: the address of a file is their digest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tracetape.model import messages as normal
from tracetape.model.forms.gemini_writing import raw_answer, raw_request
from tracetape.model.forms.shapes import OPTIONS, counts_of, listed, mapped, mapping, parameters_of, string

__all__ = ["answer", "is_answer", "is_request", "name", "raw_answer", "raw_request", "request", "tools"]

name = "Gemini"

_PARAMETERS = {"max_output_tokens": "max_tokens", "candidate_count": "choice_count"}
_APART = OPTIONS | {
    "model",
    "contents",
    "config",
    "tools",
    "system_instruction",
    "generation_config",
    "http_options",
    "automatic_function_calling",
}
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def is_request(raw: Any) -> bool:
    return isinstance(raw, Mapping) and "contents" in raw


def is_answer(raw: Any) -> bool:
    return isinstance(raw, Mapping) and isinstance(raw.get("candidates"), list)


def request(raw: Mapping[str, Any]) -> normal.Request:
    """Of the arguments of `models.generate_content`, or the body that it sends."""
    config = {**mapping(raw.get("config")), **mapping(_either(raw, "generationConfig", "generation_config"))}
    system = _either(raw, "systemInstruction", "system_instruction")
    system = _parts(_either(config, "systemInstruction", "system_instruction") if system is None else system)
    head = [normal.message("system", system)] if system else []
    parameters = parameters_of({_snake(key): one for key, one in {**raw, **config}.items()}, _PARAMETERS, _APART)
    return normal.request(
        raw.get("model"),
        head + _contents(raw.get("contents")),
        tools(raw.get("tools") or config.get("tools")),
        **parameters,
    )


def answer(raw: Mapping[str, Any]) -> normal.Answer:
    """Of a response body, or the SDK's dump of its response."""
    candidates = mapped(raw.get("candidates"))
    usage = mapping(_either(raw, "usageMetadata", "usage_metadata"))
    words = ("prompt_token_count", "candidates_token_count")
    return normal.answer(
        [normal.message("assistant", _parts(one.get("content"))) for one in candidates],
        [_either(one, "finishReason", "finish_reason") for one in candidates],
        model=_either(raw, "modelVersion", "model_version"),
        response_id=_either(raw, "responseId", "response_id"),
        usage=counts_of({_snake(key): one for key, one in usage.items()}, *words),
    )


def _contents(raw: Any) -> list[normal.Message]:
    """A text, a part, a content, or a list of them: the SDK takes each. Bare parts together are one message."""
    made: list[normal.Message] = []
    bare: normal.Message | None = None
    for one in raw if isinstance(raw, list) else [raw]:
        if one is None or one == {}:
            continue
        held = mapping(one)
        if "parts" in held or "role" in held or isinstance(one, list):
            made.append(normal.message(string(held.get("role")), _parts(one)))
            bare = None
            continue
        role = "model" if _either(held, "functionCall", "function_call") else "user"
        found = normal.message(role, [_part(one)])
        if bare and bare["role"] == found["role"]:
            bare["parts"] += found["parts"]
        else:
            made.append(bare := found)
    return made


def _parts(raw: Any) -> list[normal.Part]:
    if isinstance(raw, str):
        return [normal.text(raw)]
    if isinstance(raw, Mapping) and "parts" not in raw:
        return [_part(raw)] if raw else []
    parts = raw.get("parts") if isinstance(raw, Mapping) else raw
    return [_part(one) for one in listed(parts)]


def _part(one: Any) -> normal.Part:
    if isinstance(one, str):
        return normal.text(one)
    if not isinstance(one, Mapping):
        return normal.other(one)
    if isinstance(found := one.get("text"), str):
        return normal.reasoning(found) if one.get("thought") is True else normal.text(found)
    if call := mapping(_either(one, "functionCall", "function_call")):
        return normal.tool_call(call.get("id"), call.get("name"), call.get("args"))
    if given := mapping(_either(one, "functionResponse", "function_response")):
        return normal.tool_response(given.get("id"), given.get("response"), name=given.get("name"))
    if data := mapping(_either(one, "inlineData", "inline_data")):
        return normal.media(None, _either(data, "mimeType", "mime_type"), data=data.get("data"))
    if file := mapping(_either(one, "fileData", "file_data")):
        return normal.media(None, _either(file, "mimeType", "mime_type"), uri=_either(file, "fileUri", "file_uri"))
    return normal.other(one)


def tools(raw: Any) -> list[dict[str, Any]]:
    """Definitions: those of functions; of others their names."""
    made: list[dict[str, Any]] = []
    for one in mapped(raw):
        for key, held in one.items():
            if _snake(key) != "function_declarations":
                made += [normal.tool(_snake(key), None, None)] if held is not None else []
                continue
            for function in mapped(held):
                schema = function.get("parameters")
                if schema is None:
                    schema = _either(function, "parametersJsonSchema", "parameters_json_schema")
                made.append(normal.tool(function.get("name"), function.get("description"), schema))
    return made


def _snake(key: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)


def _either(holder: Mapping[str, Any], one: str, other: str) -> Any:
    found = holder.get(one)
    return holder.get(other) if found is None else found
