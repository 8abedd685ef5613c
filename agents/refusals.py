"""What a server refuses, recognised from the words of its refusal: optional fields of requests, and
the protocol that they are sent by.

Servers say it with any status, in bodies of many shapes (docs/compatibility.md). A field is left
out of later requests only where a refusal names it: what is wrongly left out changes answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import openai

    from branchwise.agents.spec import ModelSpec

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
LOGPROBS, TOP_LOGPROBS = "logprobs", "top_logprobs"
BACK = "reasoning_back"
"""Not a field of the body, but of the messages in it: the reasoning that goes back."""
CHAT, RESPONSES = "chat_completions", "responses_api"
"""Not fields, but the protocols where requests go by the other one instead."""
Api = Literal["chat", "responses"]
ApiChoice = Literal["auto", "chat", "responses"]
OTHER_LIMIT: Mapping[str, str] = {
    MAX_TOKENS: MAX_COMPLETION_TOKENS,
    MAX_COMPLETION_TOKENS: MAX_TOKENS,
}
"""The limit of tokens has two names: where a server refuses one, the other takes its place."""

_INCLUDE = r"|['\"`]include\b"
_ABOUT_LOGPROBS = r"\b(top_)?log_?probs?\b|\blog[- ]probabilities\b" + _INCLUDE
_NAMES: Mapping[str, re.Pattern[str]] = {
    name: re.compile(words, re.IGNORECASE)
    for name, words in {
        "stream_options": r"\bstream_options\b",
        "parallel_tool_calls": r"\bparallel_tool_calls\b",
        "tool_choice": r"\btool_choice\b",
        "stream": r"\bstream(ing)?\b",
        "store": r"\bstore\b",
        "response_format": r"\bresponse_?[ -]?(json_?)?(format|schema|mime_?type)"
        r"|\bjson[_ -]?schema|\btext\.format\b|\boutput_(config\.)?format\b"
        r"|\bstructured[_ ]outputs?|\bguided|\bgrammar|\bjson mode",
        MAX_TOKENS: r"\bmax_tokens\b",
        MAX_COMPLETION_TOKENS: r"\bmax_completion_tokens\b",
        LOGPROBS: _ABOUT_LOGPROBS,
        TOP_LOGPROBS: _ABOUT_LOGPROBS,
        "seed": r"\bseed\b",
        "top_p": r"\btop_p\b",
        "temperature": r"\btemperature\b",
        BACK: r"\breasoning_(content|details)\b|\bmessages\b\S*\breasoning\b"
        r"|\bencrypted[ _](content|reasoning)\b" + _INCLUDE,
        "reasoning_effort": r"\breasoning[_.]effort\b|\bnot support (thinking|reasoning)\b"
        r"|\bthinking[ _]?level\b|\beffort parameter\b|\boutput_config\.effort\b",
        "tools": r"\btools\b|\btool[ _](use|calling)\b|\btool choice\b|\bfunction[ _]calling\b",
    }.items()
}
OPTIONAL_FIELDS = tuple(_NAMES)
"""In the order in which they are given up where one refusal names several: least missed first."""
_SAMPLED = "grades are means of several replies"
INSTEAD: Mapping[str, str] = {
    "stream_options": "streams count no tokens",
    "parallel_tool_calls": "the server decides how many tools are called at once",
    "tool_choice": "the server decides whether tools are called",
    "stream": "replies come whole",
    "store": "the server may keep requests and replies",
    "response_format": "answers follow the prompt alone, as with --structured off",
    MAX_TOKENS: f"{MAX_COMPLETION_TOKENS} takes its place",
    MAX_COMPLETION_TOKENS: f"{MAX_TOKENS} takes its place",
    LOGPROBS: _SAMPLED,
    TOP_LOGPROBS: _SAMPLED,
    "seed": "sampling cannot be repeated",
    "top_p": "the server chooses it",
    "temperature": "the server chooses it",
    BACK: "turns that called tools go back without their reasoning",
    "reasoning_effort": "the server decides how much the model reasons",
    "tools": "they are described in the text, as with --tool-protocol text",
    CHAT: "by the Responses API instead",
    RESPONSES: "by chat completions instead",
}
"""What a request without the field means."""
_OURS = frozenset(
    {"stream_options", "parallel_tool_calls", "tool_choice", "response_format"}
    | {LOGPROBS, TOP_LOGPROBS}
)
"""Fields whose value no user chose: to complain of one is to refuse it. A temperature or a limit
may also be out of range, and a tool's own schema wrong, which leaving it out would hide."""
_NOT_TAKEN = re.compile(
    r"n[o']t (yet |currently )?(support|permit|allow|accept|available|enabled|implement)"
    r"|unsupported|unavailable|unrecogni[sz]ed|deprecated|extra_forbidden|cannot find field"
    r"|no endpoints found that support"
    r"|un(known|expected) (name|param|arg|field|key|request|variant|property)"
    r"|requires (the )?-"
    r"|only (allowed|supported)",
    re.IGNORECASE,
)
_OTHER_WORDS = re.compile(r"unsupported[ _]value|supported values|invalid[ _]value", re.IGNORECASE)
"""Of an effort: the server has the field, but not the word."""
_SCHEMA_NOT_TAKEN = re.compile(
    r"(must|should) be|\bexpected|failed to (parse|compile|convert|initiali[sz]e)|missing field"
    r"|\b(unknown|invalid)( value for)? ['\"]?(response_format|json_schema)",
    re.IGNORECASE,
)
# A refused key, a quota, too many requests: regardless of what else the body says.
_OTHER_MATTERS = frozenset({401, 402, 403, 407, 408, 409, 413, 425, 429})
# A server that is down or too busy: only what it names outright is about the request.
_PASSING = frozenset({502, 503, 504, 529})
_REPEATED = frozenset({"input", "ctx", "request", "request_body", "messages", "url", "headers"})
"""Keys of a body under which servers repeat the request."""
_NO_FIELDS = frozenset({"", "None", "null", "validation_error"})
"""What servers write as `param` where they name none."""
_ECHO = re.compile(r"""\bmessages['"\\]*\s*[:=]\s*\[""")
_SENTENCE_END = re.compile(r"[.;!?]\s+")
_MAX_TEXT, _MAX_ENTRIES, _MAX_DEPTH = 20_000, 50, 8

_PARAMETERS: Mapping[str, str | None] = {
    "text": "response_format",
    "reasoning": "reasoning_effort",
    "include": None,
}
"""What `param` calls fields of the Responses API; None: the words say what was to be included."""
_OTHER_API: Mapping[Api, re.Pattern[str]] = {
    "chat": re.compile(r"\bv1/responses\b|\bresponses api\b", re.IGNORECASE),
    "responses": re.compile(r"\bv1/chat/completions\b|\bchat completions api\b", re.IGNORECASE),
}
_TO_RESPONSES = re.compile(r"\buse\W+v1/responses\b", re.IGNORECASE)
"""A gateway's that asks by chat completions for what it takes by the Responses API."""
_NOT_HERE = frozenset({404, 405, 501})
_OF_SOMETHING = re.compile(r"\b(model|deployment|item|response with id)\b", re.IGNORECASE)
"""What is not found where the path is."""

_KNOWN: dict[tuple[str, Api], dict[str, str]] = {}
_DEMANDING: set[str] = set()


def refusals_of(spec: ModelSpec, api: Api) -> dict[str, str]:
    """What the model's server has refused in this process, and in what words; to be added to. One
    mapping for all that ask the same model at the same address by the same protocol."""
    lacks = {"seed": "the Responses API has no seed"} if api == "responses" else {}
    if spec.service and spec.service.package:
        words = f"{spec.provider} is not asked for log-probabilities"
        lacks = dict.fromkeys((LOGPROBS, TOP_LOGPROBS), words)
    return _KNOWN.setdefault((str(spec), api), lacks)


def limit_name(url: str) -> str:
    """The limit of tokens as the server calls it: older servers know only `max_tokens`."""
    host = urlsplit(url).hostname or ""
    return MAX_COMPLETION_TOKENS if host.endswith((".openai.com", ".azure.com")) else MAX_TOKENS


def demands_reasoning_back(spec: ModelSpec) -> bool:
    """Whether the model's server has refused, in this process, turns without their reasoning."""
    return str(spec) in _DEMANDING


def note_demand(spec: ModelSpec) -> None:
    """Remember that it has."""
    _DEMANDING.add(str(spec))


def forget_refusals() -> None:
    """Forget all refusals and demands, so that every server is sent what it is at first."""
    _KNOWN.clear()
    _DEMANDING.clear()


def refused_field(error: openai.APIError, sent: Collection[str]) -> str | None:
    """The field among `sent` (the keys of the request's body) that the error refuses, or None.

    The error's own `param` decides where it names something; else a sentence that names the field
    and says that it is not taken. With a status below 500 a field that no user set need only be
    named. Where a server repeats the request, that is not read; nor what a gateway says that finds
    no server.
    """
    status = getattr(error, "status_code", None)
    body = _unwrapped(error.body) or error.message
    named, listed = _parameter(body), list(sentences(body))
    if status in _OTHER_MATTERS or (named is None and status in _PASSING):
        return None
    is_clear = status is not None and status < 500
    for field in (name for name in OPTIONAL_FIELDS if name in sent):
        if field == "reasoning_effort" and any(map(_OTHER_WORDS.search, listed)):
            continue
        is_open = named is None or (field == BACK and named == "messages")
        about = [s for s in listed if (_names(field, s) if is_open else named == field)]
        is_of_schema = field == "response_format" and any(map(_SCHEMA_NOT_TAKEN.search, about))
        is_refused = is_of_schema or any(map(_NOT_TAKEN.search, about))
        if about and ((field in _OURS and is_clear) or is_refused):
            return field
    return None


def refuses_api(error: openai.APIError, api: Api) -> bool:
    """Whether a server refuses a request because of the protocol that it was sent by: it names the
    other one, or has nothing under the path of the Responses API."""
    status = getattr(error, "status_code", None)
    if status in _OTHER_MATTERS or (status is not None and status >= 500 and status != 501):
        return False
    listed = list(sentences(_unwrapped(error.body) or error.message))
    names_other = any(map(_OTHER_API[api].search, listed))
    if api == "chat":
        return names_other
    if names_other and not any(map(_TO_RESPONSES.search, listed)):
        return True
    is_known = "model" in str(error.code) or any(map(_OF_SOMETHING.search, listed))
    return status in _NOT_HERE and not is_known


def mentions_schema(text: str) -> bool:
    """Whether an error speaks of structured output, refusing it or not."""
    return bool(_NAMES["response_format"].search(text))


def _names(field: str, sentence: str) -> bool:
    # "stream_options is only allowed when 'stream' is on" is about the options.
    if field == "stream" and "stream_options" in sentence:
        return False
    return bool(_NAMES[field].search(sentence))


def _unwrapped(body: Any) -> Any:
    """What is inside of `error` and of a list of one, which some servers put around it."""
    for _ in range(_MAX_DEPTH):
        if isinstance(body, list) and len(body) == 1:
            body = body[0]
        elif isinstance(body, Mapping) and body.get("error"):
            body = body["error"]
        else:
            break
    return body


def _parameter(body: Any) -> str | None:
    """The field that OpenAI's `param` is about, without a path into it; None where it says none."""
    param = body.get("param") if isinstance(body, Mapping) else None
    if not isinstance(param, str) or param in _NO_FIELDS:
        return None
    name = re.split(r"[.\[]", param.removeprefix("body."), maxsplit=1)[0]
    return _PARAMETERS.get(name, name)


def sentences(body: Any, depth: int = 0) -> Iterator[str]:
    """What a body says, a validation error (FastAPI, pydantic) as one sentence."""
    if isinstance(body, str):
        text = body[:_MAX_TEXT]
        if echo := _ECHO.search(text):
            # Up to the request that it repeats, as JSON or as an object's representation.
            opened = re.search(r"[{(]", text[: echo.start()])
            text = text[: opened.start() if opened else echo.start()]
        yield from filter(None, _SENTENCE_END.split(text))
    elif depth > _MAX_DEPTH:
        return
    elif isinstance(body, list):
        for entry in body[:_MAX_ENTRIES]:
            yield from sentences(entry, depth + 1)
    elif isinstance(body, Mapping) and isinstance(body.get("loc"), list | tuple):
        field = ".".join(str(part) for part in body["loc"][:_MAX_DEPTH])
        yield f"{field}: {body.get('msg')} ({body.get('type')})"[:_MAX_TEXT]
    elif isinstance(body, Mapping):
        for key, value in list(body.items())[:_MAX_ENTRIES]:
            if key not in _REPEATED:
                yield from sentences(value, depth + 1)


def codes_of(body: Any) -> Iterator[Any]:
    """The codes that a body gives, inside of what stands around it."""
    inner = _unwrapped(body)
    if isinstance(inner, Mapping):
        yield from (inner[name] for name in ("code", "type", "error_code") if inner.get(name))
