"""Every attribute key that tracetape writes or reads, once.

The `gen_ai.*`, `code.*`, `error.*`, `exception.*` and `vcs.*` keys are those of the OpenTelemetry semantic
conventions (registry: gen-ai, code, error, exception, vcs). The `tracetape.*` keys are ours; recordings
outlive the code, so a key is never given another meaning.
"""

from __future__ import annotations

import re

SCOPE_NAME = "tracetape"
SCHEMA_VERSION_NOW = 1

SCHEMA_VERSION = "tracetape.schema.version"
BOUNDARY_NAME = "tracetape.boundary.name"
BOUNDARY_KIND = "tracetape.boundary.kind"
BOUNDARY_VERSION = "tracetape.boundary.version"
SEQ = "tracetape.seq"
SEQ_BEFORE = "tracetape.seq.before"
PROCESS_ID = "tracetape.process.id"
DETACHED = "tracetape.detached"
INPUT_VALUE = "tracetape.input.value"
INPUT_DIGEST = "tracetape.input.digest"
INPUT_SIZE = "tracetape.input.size"
OUTPUT_VALUE = "tracetape.output.value"
OUTPUT_DIGEST = "tracetape.output.digest"
OUTPUT_SIZE = "tracetape.output.size"
OUTCOME_TYPE = "tracetape.outcome.type"
OUTCOME_SHAPE = "tracetape.outcome.shape"
STREAM_END = "tracetape.stream.end"
STREAM_ITEM_COUNT = "tracetape.stream.item_count"
BUILD_ID = "tracetape.build.id"
CONTENT = "tracetape.content"
REPLAY_MODE = "tracetape.replay.mode"
UNPLACED = "tracetape.recording.unplaced"
LOST = "tracetape.recording.lost"
IN_FLIGHT = "tracetape.recording.in_flight"
FOREIGN_UNSEEN = "tracetape.recording.foreign_unseen"
MARK = "tracetape.mark"
MIRROR = "tracetape.mirror"
SOURCE_GAPS = "tracetape.source.gaps"
"""Of a resource: what a source lacked that was saved as a recording, each `CODE: text`."""

CODE_FUNCTION = "code.function.name"
ERROR_TYPE = "error.type"
EXCEPTION_EVENT = "exception"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
VCS_REVISION = "vcs.ref.head.revision"

GEN_AI_OPERATION = "gen_ai.operation.name"
GEN_AI_REQUEST_MODEL = "gen_ai.request.model"
GEN_AI_RESPONSE_MODEL = "gen_ai.response.model"
GEN_AI_TOOL_NAME = "gen_ai.tool.name"
GEN_AI_AGENT_NAME = "gen_ai.agent.name"
GEN_AI_USAGE = "gen_ai.usage."

GEN_AI_TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
GEN_AI_TOOL_RESULT = "gen_ai.tool.call.result"
GEN_AI_INPUT_MESSAGES = "gen_ai.input.messages"
GEN_AI_OUTPUT_MESSAGES = "gen_ai.output.messages"

# OpenInference's, for UIs that show only these. Written on a host's spans where TRACETAPE_MIRROR asks for it.
OPENINFERENCE_KIND = "openinference.span.kind"
OPENINFERENCE_INPUT = "input.value"
OPENINFERENCE_INPUT_MIME = "input.mime_type"
OPENINFERENCE_OUTPUT = "output.value"
OPENINFERENCE_OUTPUT_MIME = "output.mime_type"
OPENINFERENCE_TOOL = "tool.name"
OPENINFERENCE_MODELS = {"llm": "llm.model_name", "embedding": "embedding.model_name"}
OPENINFERENCE_TOKENS = {
    "input_tokens": "llm.token_count.prompt",
    "output_tokens": "llm.token_count.completion",
}
OPENINFERENCE_ALL_TOKENS = "llm.token_count.total"
OPENINFERENCE_KINDS = {
    "llm": "LLM",
    "tool": "TOOL",
    "retrieval": "RETRIEVER",
    "embedding": "EMBEDDING",
    "agent": "AGENT",
}
OPENINFERENCE_OTHER = "CHAIN"

# gen_ai.operation.name has a value for these kinds (semantic conventions, registry gen-ai).
OPERATIONS = {
    "llm": "chat",
    "tool": "execute_tool",
    "embedding": "embeddings",
    "agent": "invoke_agent",
    "retrieval": "retrieval",
}

# What @boundary may say; `effect` and `checkpoint` are the kinds of the functions of that name.
KINDS = ("llm", "tool", "retrieval", "memory", "embedding", "agent", "router", "custom")

# Arguments of a model call that are request parameters of the conventions under the same name.
SAMPLING = {
    name: f"gen_ai.request.{name}"
    for name in (
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "seed",
        "frequency_penalty",
        "presence_penalty",
    )
}

# What a recording has beside its file while it runs: `<file>.open.<pid>`; another number where that name was
# taken, `.next` while one is written anew.
MARKS_NAME = re.compile(r"(?P<file>.+)\.open\.(?P<pid>\d+)(?:\.\d+)?(?:\.next)?", re.DOTALL)
MARKS_NEXT = ".next"
