"""The corpus: runs of real instrumentations with the truth beside them, and whether a recording tells it.

    python -m tests.corpus

prints a table: family × how many crossings are exact, rebuilt, unusable, unusable as they must be, wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

import tracetape
from tracetape.cli.checking import crossing_as_json
from tracetape.errors import SourceError
from tracetape.model.crossing import Crossing
from tracetape.model.forms import request_of
from tracetape.model.recording import Recording

__all__ = ["CASES", "NAMES", "Case", "differences", "loaded"]

FOLDER = Path(__file__).parent / "recordings" / "corpus"

NAMES = {
    "openai.chat.completions.create": "chat",
    "openai.responses.create": "chat",
    "anthropic.messages.create": "chat",
    "google_genai.models.generate_content": "chat",
    "google_genai.models.generate_content_stream": "chat",
    "openai.embeddings.create": "embeddings",
}
"""The boundary of a client's call: the operation, as OpenTelemetry names it. A tool has its own name."""

GRADES = {
    "span:raw-response": "exact",
    "span:messages": "rebuilt",
    "span:partial-output": "rebuilt",
    "span:truncated-json": "unusable",
    "span-without-content": "unusable",
    "span-without-output": "unusable",
    "log-event": "rebuilt",
    "upload-ref": "rebuilt",
    "tool-span-without-content": "unusable",
    "next-model-input": "rebuilt",
    "next-model-input (through upload-ref)": "rebuilt",
}

# What no span of these runs tells; nobody may make it up.
STREAM_UNTOLD = {
    "openai-agents-openinference/sell-stream",
    "openai-agents-traceloop/sell-stream",
    "openai-official-v2/sell-chat-stream",
}
INPUT_UNTOLD = {"google-genai-official/auto-function-calling"}  # the id of the tool call between two turns
INPUT_HIDDEN = {"openai-openinference/hide-inputs"}


@dataclass(frozen=True)
class Case:
    name: str

    @property
    def spans(self) -> Path:
        return FOLDER / f"{self.name}.otlp.jsonl"

    @property
    def truth(self) -> dict[str, Any]:
        found: dict[str, Any] = orjson.loads((FOLDER / f"{self.name}.expected.json").read_bytes())
        return found

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


CASES = [
    Case(f"{path.parent.name}/{path.name.removesuffix('.expected.json')}")
    for path in sorted(FOLDER.glob("*/*.expected.json"))
]


def loaded(case: Case) -> Recording | None:
    """The run, its traces as one; None where the file has no span."""
    try:
        return tracetape.load(case.spans, traces="all")
    except SourceError as error:
        if error.code == "NO_SPANS":
            return None
        raise


def differences(case: Case, crossings: list[Crossing]) -> Iterator[str]:
    """Where the calls of models, embeddings and tools are not those of the truth. crossings: of these kinds."""
    truth = case.truth
    calls = [one for one in truth["stubs"] if one["in_spans"] != "absent"]
    if len(calls) != len(crossings):
        yield f"{len(crossings)} crossings, not {len(calls)}: {[one.name for one in crossings]}"
        return
    left = list(crossings)
    for call in calls:
        candidates = left if truth["order_of_concurrent_calls_is_free"] else left[:1]
        found = [(list(_wrong(case, call, one)), one) for one in candidates]
        wrong, crossing = min(found, key=lambda one: len(one[0]))
        left.remove(crossing)
        yield from (f"{crossing.name}: {text}" for text in wrong)
    seen: Counter[str] = Counter()
    for crossing in crossings:
        seen[crossing.boundary] += 1
        if crossing.occurrence != seen[crossing.boundary]:
            yield f"{crossing.name} is the {seen[crossing.boundary]}. of its name"


def _wrong(case: Case, call: dict[str, Any], crossing: Crossing) -> Iterator[str]:
    told = crossing_as_json(crossing)
    kind = "tool" if call["kind"] == "mcp_tool" else call["kind"]
    if (crossing.kind, crossing.boundary) != (kind, NAMES.get(call["boundary"], call["boundary"])):
        yield f"is {crossing.kind}, not {kind} {call['boundary']}"
        return
    if crossing.grade not in _grades(case, call):
        yield f"is {crossing.grade}, not {_grades(case, call)}: {call['in_spans']}"
    if not all(crossing.gaps) or (crossing.grade != "exact" and not crossing.gaps):
        yield "does not say why it is not exact"
    yield from _wrong_error(call, told)
    if crossing.grade == "unusable":
        return
    if kind == "llm" and case.name not in STREAM_UNTOLD and bool(told["stream"]) != call["stream"]:
        yield f"is {'a' if told['stream'] else 'no'} stream"
    if call["outcome"] == "ok":
        yield from _wrong_output(call, told)
    if told["inputs"] is None:
        if not {gap["code"] for gap in told["gaps"]} & {"CONTENT_OFF", "PAYLOAD_TRUNCATED"}:
            yield "does not say why it does not know what it was asked"
        return
    if kind == "tool" and told["inputs"] != call["input"]:
        yield f"was asked {told['inputs']}, not {call['input']}"
    if kind == "llm" and case.name not in INPUT_UNTOLD | INPUT_HIDDEN:
        asked = request_of(call["input"])
        assert asked is not None
        if _comparable(told["inputs"]["messages"]) != _comparable(asked["messages"]):
            yield f"was asked {told['inputs']['messages']}, not {asked['messages']}"


def _grades(case: Case, call: dict[str, Any]) -> set[str]:
    where = call["in_spans"]
    if where == "span":  # an error by class and message, or embeddings with their vectors
        return {"rebuilt"} if call["outcome"] == "error" else {"exact"}
    if where == "tool-span":  # what the tool gave, or what a framework has made of it
        return {"rebuilt"} if call["outcome"] == "error" else {"exact", "rebuilt"}
    if case.name in STREAM_UNTOLD and call.get("stream"):
        return {GRADES[where], "exact"}
    if where == "span:raw-response" and (call.get("stream") or case.name in INPUT_HIDDEN):
        return {"rebuilt"}
    return {GRADES[where]}


def _wrong_error(call: dict[str, Any], told: dict[str, Any]) -> Iterator[str]:
    failed = call["outcome"] == "error"
    if failed != (told["error"] is not None):
        yield f"{'raised' if failed else 'returned'}, and it says {told['error']}"
    if failed and told["error"] is not None:
        if call["kind"] == "llm" and told["error"]["status"] != call["output"]["error"]["status"]:
            yield f"failed with {call['output']['error']['status']}, not {told['error']['status']}"
        # Where a framework put a text in its place, the note says that the exception is nowhere.
        message = (call.get("error") or "").partition(": ")[2]
        if message and not call.get("note") and message not in told["error"]["message"]:
            yield f"said {message!r}, not {told['error']['message']!r}"


def _wrong_output(call: dict[str, Any], told: dict[str, Any]) -> Iterator[str]:
    output = call["output"]
    if call["kind"] == "embedding":
        vectors = told["result"]["data"] if isinstance(told["result"], dict) else told["result"]
        if len(vectors) != output["embeddings"]:
            yield f"gave {len(vectors)} vectors, not {output['embeddings']}"
    elif call["kind"] != "llm":
        if told["result"] != output:
            yield f"gave {told['result']}, not {output}"
    else:
        text = output.get("text")
        said = told["text"]
        is_right = text.startswith(said) if call["in_spans"] == "span:partial-output" else (said or None) == text
        if not is_right:
            yield f"said {said!r}, not {text!r}"
        wanted = [(one["name"], orjson.loads(one["arguments"])) for one in output.get("tool_calls", [])]
        asked = [(one["name"], one["arguments"]) for one in told["tool_calls"] or []]
        if wanted != asked:
            yield f"asked for {asked}, not {wanted}"


def _comparable(messages: list[dict[str, Any]]) -> Any:
    """Without what some providers say and others do not."""
    return [
        (one["role"], [{key: value for key, value in part.items() if key != "is_error"} for part in one["parts"]])
        for one in messages
    ]


def calls_of(recording: Recording | None) -> list[Crossing]:
    """Those that the truth speaks of: retrievals are not among them."""
    found = () if recording is None else recording.crossings
    return [one for one in found if one.kind in ("llm", "embedding", "tool")]


def main() -> int:
    table: dict[str, Counter[str]] = {}
    for case in CASES:
        row = table.setdefault(case.family, Counter())
        crossings = calls_of(loaded(case))
        wrong = list(differences(case, crossings))
        row["wrong"] += len(wrong)
        for text in wrong:
            print(f"{case.name}: {text}", file=sys.stderr)
        row.update(one.grade for one in crossings)
        wheres = [one["in_spans"] for one in case.truth["stubs"]]
        row["expected"] += sum(GRADES.get(where) == "unusable" for where in wheres)
    columns = ("exact", "rebuilt", "unusable", "expected", "wrong")
    print(
        f"{'family':<28}"
        + "".join(f"{name:>10}" for name in ("exact", "rebuilt", "unusable", "expected", "wrong"))
    )
    for family, row in sorted(table.items()):
        print(f"{family:<28}" + "".join(f"{row[name]:>10}" for name in columns))
    total = sum(table.values(), Counter())
    print(f"{'':<28}" + "".join(f"{total[name]:>10}" for name in columns))
    return int(total["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
