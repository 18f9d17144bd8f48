"""What a provider can say in its own form comes back from it; nothing that it may send makes the reading raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetape.model import forms
from tracetape.model import messages as normal
from tracetape.model.forms import anthropic, gemini, genai, openai_chat, openai_responses

FORMS: dict[str, Any] = {
    "chat": openai_chat,
    "responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "genai": genai,
}
NAMES = st.sampled_from(["place_order", "get_quote", "ü", "a b"])
IDS = st.sampled_from(["call_1", "call_2", "toolu_3"])
TEXTS = st.text(min_size=1, max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=6)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=6), JSON, max_size=3)
ADDRESSES = st.sampled_from(["https://example.com/a", "gs://bucket/b"])
DIGESTS = st.integers(0, 2**256 - 1).map(lambda number: f"sha256:{number:064x}")

TEXT = TEXTS.map(normal.text)
REASONING = TEXTS.map(normal.reasoning)
REFUSAL = TEXTS.map(normal.refusal)
OTHER = st.builds(lambda held: {**held, "type": "thing_of_tomorrow"}, OBJECTS).map(normal.other)
UNKNOWN = (st.integers() | st.builds(lambda held: {"new": held}, JSON)).map(normal.other)


def call(ids: st.SearchStrategy[str | None], arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[normal.Part]:
    return st.builds(normal.tool_call, ids, NAMES, arguments)


@st.composite
def medium(draw: st.DrawFn, kinds: list[tuple[str | None, str | None, str]]) -> normal.Part:
    """kinds: modality, MIME type, and where the bytes are."""
    modality, mime_type, where = draw(st.sampled_from(kinds))
    about = {"data": DIGESTS, "uri": ADDRESSES, "file_id": IDS}
    return normal.media(modality, mime_type, **({where: draw(about[where])} if where else {}))


PICTURE = ("image", "image/png", "data")
PICTURE_AT = ("image", None, "uri")
SOUND = ("audio", "audio/wav", "data")
PAPER = ("document", "application/pdf", "data")
PAPER_ID = ("document", None, "file_id")
PAPER_AT = ("document", None, "uri")
FILM = ("video", "video/mp4", "data")
CALL = call(IDS | st.none(), OBJECTS | TEXTS)


def in_any_order(*kinds: st.SearchStrategy[normal.Part]) -> st.SearchStrategy[list[normal.Part]]:
    return st.lists(st.one_of(*kinds), max_size=4)


@st.composite
def as_chat_orders_them(draw: st.DrawFn, *content: st.SearchStrategy[normal.Part]) -> list[normal.Part]:
    reasoning = draw(st.lists(REASONING, max_size=1))
    return [*reasoning, *draw(in_any_order(*content)), *draw(st.lists(CALL, max_size=2))]


@st.composite
def as_chat_answers(draw: st.DrawFn) -> list[normal.Part]:
    """One text and one refusal at most: an answer's content is no list."""
    reasoning, text, refusal = (draw(st.lists(kind, max_size=1)) for kind in (REASONING, TEXT, REFUSAL))
    return [*reasoning, *text, *refusal, *draw(st.lists(CALL, max_size=2))]


CHAT_MEDIA = medium([PICTURE, PICTURE_AT, SOUND, ("audio", None, "data"), PAPER, PAPER_ID, PAPER_AT, FILM])
RESPONSES_MEDIA = medium(
    [PICTURE, PICTURE_AT, ("image", None, "file_id"), SOUND, PAPER, PAPER_ID, PAPER_AT, FILM, ("image", None, "")]
)
ANTHROPIC_MEDIA = medium(
    [PICTURE, PICTURE_AT, ("image", None, "file_id"), SOUND, PAPER, PAPER_AT, PAPER_ID, FILM, ("image", None, "")]
)
GEMINI_MEDIA = medium(
    [PICTURE, SOUND, PAPER, FILM, ("image", "image/png", "uri"), (None, None, "uri"), (None, None, "data")]
)
ANY_MEDIA = st.one_of(CHAT_MEDIA, RESPONSES_MEDIA, GEMINI_MEDIA, medium([("video", "video/mp4", "file_id")]))
MEDIA_OF_OTHERS = {
    "chat": CHAT_MEDIA,
    "responses": RESPONSES_MEDIA,
    "anthropic": ANTHROPIC_MEDIA,
    "gemini": GEMINI_MEDIA,
    "genai": ANY_MEDIA,
}

TURNS: dict[str, st.SearchStrategy[list[normal.Part]]] = {
    "chat": as_chat_orders_them(TEXT, REFUSAL, OTHER, UNKNOWN),
    "responses": in_any_order(TEXT, REFUSAL, REASONING, CALL, OTHER, UNKNOWN, RESPONSES_MEDIA),
    "anthropic": in_any_order(TEXT, REASONING, CALL, OTHER, UNKNOWN, ANTHROPIC_MEDIA),
    # A part of Gemini's has no type: one of another is told by its keys, which must not be Gemini's.
    "gemini": in_any_order(TEXT, REASONING, CALL, UNKNOWN, GEMINI_MEDIA),
    "genai": in_any_order(TEXT, REFUSAL, REASONING, CALL, OTHER, UNKNOWN, ANY_MEDIA),
}
SAID: dict[str, st.SearchStrategy[list[normal.Part]]] = {
    name: in_any_order(TEXT, UNKNOWN, media) if name == "gemini" else in_any_order(TEXT, OTHER, UNKNOWN, media)
    for name, media in MEDIA_OF_OTHERS.items()
}
RESPONSES = (JSON | st.just('{"no": JSON') | st.just("{}")).map(normal.response_of)


@st.composite
def result(draw: st.DrawFn, name: str) -> normal.Part:
    said = draw(OBJECTS.map(normal.response_of) if name == "gemini" else RESPONSES)
    names = NAMES if name in ("chat", "gemini", "genai") else st.none()
    errors = st.booleans() if name in ("anthropic", "genai") else st.none()
    return normal.tool_response(draw(IDS | st.none()), said, name=draw(names | st.none()), is_error=draw(errors))


@st.composite
def requests(draw: st.DrawFn, name: str) -> normal.Request:
    named = NAMES if name in ("chat", "genai") else st.none()
    listed: list[normal.Message] = []
    for _ in range(draw(st.integers(0, 4))):
        role = draw(st.sampled_from(["system", "developer", "user", "assistant", "tool"]))
        if role == "assistant" and name == "responses" and listed and listed[-1]["role"] == "assistant":
            role = "user"
        parts = {"tool": st.tuples(result(name)), "assistant": TURNS[name]}.get(role, SAID[name])
        listed.append(normal.message(role, draw(parts), name=draw(named | st.none()) if role != "tool" else None))
    tools = st.builds(normal.tool, NAMES, st.none() | st.text(max_size=5), st.none() | OBJECTS)
    parameters = {
        "max_tokens": st.integers(1, 9),
        "temperature": st.floats(0, 2),
        "stop_sequences": st.lists(st.text(max_size=3)),
        "choice_count": st.integers(1, 3),
        "tool_choice": JSON,
    }
    return normal.request(
        draw(st.none() | NAMES),
        # What is dropped as empty may bring two turns of the model together.
        listed if name != "responses" else apart(normal.messages_of(listed)),
        draw(st.lists(tools, max_size=2)),
        **draw(st.fixed_dictionaries({}, optional=parameters)),
    )


def apart(listed: list[normal.Message]) -> list[normal.Message]:
    return [
        one
        for at, one in enumerate(listed)
        if one["role"] != "assistant" or at == 0 or listed[at - 1]["role"] != "assistant"
    ]


OWN_REASONS = st.sampled_from(["stop", "length", "tool_call", "content_filter", "error", "a_word_of_tomorrow"])


@st.composite
def answers(draw: st.DrawFn, name: str) -> normal.Answer:
    many = name in ("chat", "gemini", "genai")
    parts = as_chat_answers() if name == "chat" else TURNS[name]
    choices = [draw(parts) for _ in range(draw(st.integers(0, 3) if many else st.just(1)))]
    reasons = []
    for one in choices:
        called = any(part["type"] == "tool_call" for part in one)
        reason = draw(OWN_REASONS)
        # There is one word for both where the calls themselves tell them apart.
        reasons.append(
            "stop" if reason == "tool_call" and name in ("gemini", "responses") and not called else reason
        )
    usage = st.fixed_dictionaries({"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9)})
    about: dict[str, Any] = {}
    if name != "genai":
        about = {"model": draw(st.none() | NAMES), "response_id": draw(st.none() | IDS)}
        about["usage"] = draw(usage if name == "anthropic" else st.none() | usage)
    return normal.answer([normal.message("assistant", one) for one in choices], reasons, **about)


def sent(raw: Any) -> Any:
    return json.loads(json.dumps(raw))


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_request_comes_back_from_the_provider_s_form(name: str, data: st.DataObject) -> None:
    request = data.draw(requests(name))
    assert FORMS[name].request(sent(FORMS[name].raw_request(request))) == request


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_an_answer_comes_back_from_the_provider_s_form(name: str, data: st.DataObject) -> None:
    answer = data.draw(answers(name))
    assert FORMS[name].answer(sent(FORMS[name].raw_answer(answer))) == answer


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_whose_request_and_answer_it_is_is_seen(name: str, data: st.DataObject) -> None:
    request, answer = data.draw(requests(name)), data.draw(answers(name))
    raw = sent(FORMS[name].raw_answer(answer))
    if answer["messages"]:
        assert forms.answer_of(raw) == answer
    raw = sent(FORMS[name].raw_request(request))
    # A request that says nothing of Anthropic's own is anybody's, and reads the same in OpenAI's form.
    if request["messages"] and not (name == "anthropic" and not anthropic.is_request(raw)):
        assert forms.request_of(raw) == request


_WORDS = """
    type role content parts text messages input output contents choices candidates message tool_calls function
    function_call functionCall functionResponse arguments args name id call_id response result summary source data
    url image_url input_audio format file file_data fileData inlineData mimeType mime_type usage tools
    usageMetadata functionDeclarations system instructions system_instructions config generationConfig stop
    finish_reason status incomplete_details reason extra_body model refusal reasoning custom value digest uri
    file_id modality thinking signature stop_reason media_type
"""
_KINDS = """
    text input_text output_text refusal image_url input_image input_audio file input_file function function_call
    function_call_output custom_tool_call reasoning message tool_use tool_result thinking image document base64 url
    tool_call tool_call_response media blob uri unknown tool user assistant system model data:, data:;base64,x {
"""
WORDS, KINDS = _WORDS.split(), _KINDS.split()
TRICKS = ["data:a,\ud800", '{"a": 1}', '[{"type": "text", "text": "[1"}]', "sha256:" + "0" * 64]
HOSTILE: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.sampled_from(KINDS + TRICKS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=6),
    max_leaves=25,
)


@settings(max_examples=400, deadline=None)
@given(raw=HOSTILE)
def test_no_json_makes_the_reading_raise(raw: Any) -> None:
    forms.request_of(raw)
    forms.answer_of(raw)
    genai.messages(raw)
    genai.parts(raw)
    for form in FORMS.values():
        form.is_request(raw)
        form.is_answer(raw)


@pytest.mark.parametrize("name", FORMS)
@settings(max_examples=150, deadline=None)
@given(raw=st.dictionaries(st.sampled_from(WORDS), HOSTILE, max_size=8))
def test_what_is_read_of_any_object_is_in_the_normal_form_and_can_be_written(
    name: str, raw: dict[str, Any]
) -> None:
    request, answer = FORMS[name].request(raw), FORMS[name].answer(raw)
    for one in [*request["messages"], *answer["messages"]]:
        check_message(one)
    assert all(one["parts"] for one in request["messages"])
    for form in FORMS.values():
        form.raw_request(request)
        form.raw_answer(answer)


def check_message(one: normal.Message) -> None:
    assert isinstance(one["role"], str)
    assert one["role"]
    results = [part for part in one["parts"] if part["type"] == "tool_call_response"]
    if one["role"] == "tool":
        assert results == one["parts"]
        assert len(results) == 1
    for part in one["parts"]:
        match part["type"]:
            case "text" | "reasoning" | "refusal":
                assert isinstance(part["content"], str)
                assert part["content"]
            case "tool_call":
                assert normal.tool_call(part["id"], part["name"], part["arguments"]) == part
            case "tool_call_response":
                assert normal.response_of(part["response"]) == part["response"]
            case "media":
                assert set(part) - {"digest", "uri", "file_id"} == {"type", "modality", "mime_type"}
            case kind:
                assert isinstance(kind, str)
