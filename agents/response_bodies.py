"""Response bodies of the chat-completions protocol, read without trust.

https://platform.openai.com/docs/api-reference/chat: the body and `usage`. `reasoning_content`
(DeepSeek, Kimi) and `reasoning` (OpenRouter, vLLM) carry the thinking, or tags in the text do.
Keys that a server repeats are struck out here, before a reply is used or recorded.

Sources of the ends of replies: the references of the protocol by OpenAI, Azure, DeepSeek, Mistral,
Z.ai, OpenRouter and Gemini; the servers vLLM, SGLang, TGI and TensorRT-LLM; and Anthropic's,
Cohere's and Bedrock's reasons, which gateways pass on.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal

import orjson

from branchwise.agents.reasoning import TEXT_FIELDS, USUAL_FIELD, read_details
from branchwise.agents.reply import Completion, Finish, ModelError, ReplyToken
from branchwise.agents.reply_stream import (
    MAX_TOKENS,
    StreamFold,
    calls_in,
    mapping_in,
    mappings_in,
    number_of,
    read_usage,
    text_in,
    thinking_in,
)
from branchwise.base.secrets import without_keys
from branchwise.base.text import one_line, printable, storable

MAX_TEXT = 1_000_000
"""Characters of a reply that are kept; a longer one is cut and counts as `length`."""
MAX_CALLS, MAX_ALTERNATIVES = 64, 20
"""Tool calls of one reply that are kept; of a token, the likeliest at its place."""
_MAX_REASON = 60
_THINK = re.compile(r"[<\[◁](/?)(?:think(?:ing)?|thought)[>\]▷]", re.IGNORECASE)
"""`<think>`, `<thinking>`, `<thought>`, `[THINK]` (Magistral) and `◁think▷` (Kimi)."""
_Meaning = Finish | Literal["interrupted"]
_ENDINGS: Mapping[_Meaning, str] = {
    # OpenAI; Anthropic through gateways (end_turn, stop_sequence, pause_turn); Cohere (complete);
    # TGI and others (eos, eos_token); vLLM and SGLang (matched stops come as stop).
    "stop": "stop stopped end_turn stop_sequence stop_sequence_matched complete completed eos"
    " eos_token end_of_text done finished natural pause_turn success",
    # OpenAI, and its deprecated name; Anthropic; Gemini's `STOP` with calls is `stop`.
    "tool_calls": "tool_calls tool_call function_call function_calls tool_use",
    # OpenAI; Anthropic, Gemini (MAX_TOKENS), Cohere; Mistral (model_length); Responses
    # (max_output_tokens, incomplete); TGI; context windows that the reply has filled.
    "length": "length max_tokens max_output_tokens max_completion_tokens max_new_tokens"
    " max_length model_length incomplete truncated length_capped token_limit max_token"
    " output_limit context_length model_context_window_exceeded context_window_exceeded"
    " max_context_length error_limit too_long",
    # OpenAI, Azure; Z.ai (sensitive); Gemini's reasons of safety; Bedrock; Cohere (error_toxic).
    "content_filter": "content_filter content_filtered content_filtering filtered sensitive safety"
    " recitation prohibited_content blocklist spii language image_safety image_recitation"
    " image_prohibited_content model_armor guardrail_intervened guardrail guardrails moderation"
    " error_toxic policy_violation content_policy content_policy_violation blocked harmful"
    " risk_control",
    "refusal": "refusal refused",
    # OpenRouter (error); vLLM, SGLang (abort, error); Z.ai (network_error); DeepSeek
    # (insufficient_system_resource); Gemini (malformed_function_call and the like, other); Cohere
    # (error, timeout, user_cancel); Responses (failed, cancelled); TensorRT-LLM (cancelled).
    "interrupted": "error errored abort aborted network_error cancelled canceled cancel failed"
    " failure timeout timed_out time_limit interrupted disconnected connection_error server_error"
    " internal_error internal_server_error upstream_error provider_error engine_error"
    " insufficient_system_resource resource_exhausted overloaded engine_overloaded rate_limit"
    " rate_limit_exceeded malformed_function_call malformed_tool_call malformed_response"
    " malformed_model_output malformed_tool_use unexpected_tool_call too_many_tool_calls"
    " invalid_tool_call tool_call_error missing_thought_signature user_cancel user_cancelled"
    " shutdown preempted no_image",
}
"""What servers call the end of a reply, by what it means."""
_BY_REASON: Mapping[str, _Meaning] = {
    word: ending for ending, words in _ENDINGS.items() for word in words.split()
}


def reported_error(body: Any) -> Any:
    """The error that a body, or a chunk of a stream, holds in place of a reply or beside its
    beginning; None where it holds none."""
    if not isinstance(body, Mapping):
        return None
    base = mapping_in(body, "base_resp")  # MiniMax
    if base.get("status_code"):
        return {"code": base["status_code"], "message": base.get("status_msg")}
    # A response of the other protocol says so by its status, too, and is read by that.
    if body.get("error") and body.get("status") != "failed":
        return body["error"]
    if body.get("object") == "error" or ("choices" not in body and body.get("errors")):
        return body
    return _only_choice(body).get("error") or None


def read_body(body: Any) -> Completion:
    """The completion in a whole body, or in what `StreamFold` made of a stream.

    Raises ModelError: `invalid_response` if no choice has a message; `interrupted` if the server
    says that it broke the reply off.
    """
    body = body if isinstance(body, Mapping) else {}
    choice = _only_choice(body)
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise ModelError("invalid_response", "the response has no message in it", retryable=True)
    ending, reason = _ending_of(choice)
    if ending == "interrupted":
        how = one_line(printable(storable(str(choice.get("finish_reason"))[:_MAX_REASON])))
        what = f"the reply was broken off (finish reason {how!r})"
        raise ModelError("interrupted", what, retryable=True)
    answer, thoughts = split_thinking(text_in(message.get("content")))
    texts = {name: text_in(message.get(name)) for name in TEXT_FIELDS}
    texts[USUAL_FIELD] = texts[USUAL_FIELD] or thinking_in(message.get("content"))
    field = next((name for name, text in texts.items() if text), USUAL_FIELD)
    refusal = text_in(message.get("refusal"))
    valid, invalid = _read_calls(calls_in(message))
    if valid and (ending == "stop" or (ending == "unknown" and not reason)):
        ending, reason = "tool_calls", ""
    elif invalid and ending == "stop":
        ending = "tool_calls"
    if refusal:
        ending = "refusal"
    text = answer or refusal
    return Completion(
        text=text[:MAX_TEXT],
        finish="length" if len(text) > MAX_TEXT else ending,
        reasoning="\n".join(part for part in (texts[field], thoughts) if part)[:MAX_TEXT],
        # Only what calls tools is followed by another request of its turn.
        reasoning_field=field if valid or invalid else USUAL_FIELD,
        reasoning_details=read_details(message) if valid or invalid else (),
        tool_calls=tuple(valid),
        invalid_tool_calls=tuple(invalid),
        usage=read_usage(body.get("usage")),
        tokens=_read_tokens(mapping_in(choice, "logprobs").get("content"), message.get("content")),
        reason=reason,
    )


def _only_choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first reply of those in a body: what has the number 0, or no number.

    Parts of it that some gateways send as choices of their own, under one number, are joined.
    """
    choices = mappings_in(body.get("choices"))
    if not choices:
        return {}
    first = min(map(number_of, choices))
    parts = [part for part in choices if number_of(part) == first and "index" in part]
    if len(parts) < 2:
        return (parts or choices)[0]
    joined = StreamFold()
    for part in parts:
        joined.add({"choices": [part]})
    return {**parts[-1], "message": joined.message()}


def _ending_of(choice: Mapping[str, Any]) -> tuple[_Meaning, str]:
    """What the finish reason of a choice means; and what it was called, where that is not known.

    Any case of letters, hyphens and spaces for underscores, an enumeration's prefix, and the
    reason as an object's `type` are read. No reason at all is not known either.
    """
    for name in ("finish_reason", "native_finish_reason"):
        written = choice.get(name)
        written = written.get("type") if isinstance(written, Mapping) else written
        reason = one_line(printable(storable("" if written is None else str(written)[:500])))
        word = re.sub(r"[\s-]+", "_", reason).lower().rpartition(".")[2]
        word = word.removeprefix("finish_reason_")
        if word in _BY_REASON:
            return _BY_REASON[word], ""
        if word not in ("", "null", "none"):
            return "unknown", reason[:_MAX_REASON]
    return "unknown", ""


def split_thinking(text: str) -> tuple[str, str]:
    """Split `text` into (answer, thinking), both stripped if there is any thinking.

    A block that never closes is thinking to its end. A closing tag without an opening one (some
    templates put it into the prompt) makes everything before it thinking. Linear in the length of
    `text`.
    """
    tags = list(_THINK.finditer(text))
    if not tags:
        return text, ""
    answer: list[str] = []
    thoughts: list[str] = []
    at, is_open = 0, bool(tags[0][1])
    for tag in tags:
        if is_open and not tag[1]:
            continue
        (thoughts if is_open else answer).append(text[at : tag.start()])
        at, is_open = tag.end(), not tag[1]
    (thoughts if is_open else answer).append(text[at:])
    return "".join(answer).strip(), "\n".join(filter(None, map(str.strip, thoughts)))


def _read_tokens(content: Any, text: Any) -> tuple[ReplyToken, ...]:
    """The last tokens; what is not understood is left out.

    None where they, or the reply's `text`, spell a key out: its parts could not be struck out.
    """
    tokens = mappings_in(content)
    spelt = "".join(token["token"] for token in tokens if isinstance(token.get("token"), str))
    if any(isinstance(part, str) and without_keys(part) != part for part in (spelt, text)):
        return ()
    read = []
    for token in tokens[-MAX_TOKENS:]:
        likeliest = token.get("top_logprobs")
        likeliest = likeliest[:MAX_ALTERNATIVES] if isinstance(likeliest, list) else []
        alternatives: list[tuple[str, float]] = []
        for other in mappings_in(likeliest):
            logprob: Any = other.get("logprob")
            if type(logprob) in (int, float) and -math.inf < logprob <= 0:
                alternatives.append((text_in(other.get("token")), float(logprob)))
        read.append(ReplyToken(text_in(token.get("token")), tuple(alternatives)))
    return tuple(read)


def _read_calls(calls: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    valid: list[dict[str, Any]] = []
    invalid: list[dict[str, Any]] = []
    ids: set[str] = set()
    for number, call in enumerate(calls[:MAX_CALLS] if isinstance(calls, list) else []):
        function = mapping_in(call, "function")
        id = text_in(call.get("id") if isinstance(call, Mapping) else "") or f"call_{number}"
        id = f"{id}_{number}" if id in ids else id
        ids.add(id)
        # No tool's name has a dot: some models put a name space before it.
        name = text_in(function.get("name")).strip().removeprefix("functions.")
        read = make_call(name, function.get("arguments"), id)
        (invalid if "error" in read else valid).append(read)
    return valid, invalid


def make_call(name: str, arguments: Any, id: str) -> dict[str, Any]:
    """A tool call in LangChain's shape, with an `error` in it if it is malformed.

    `arguments`: a JSON object, or the text of one (nothing at all counts as no arguments).
    """
    # Always through text: what has been an object in a body may hold what no record can.
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    text = storable(text)
    error, args = None if name else "the call names no tool", None
    try:
        args = orjson.loads(text) if text.strip() else {}
        orjson.dumps(args)  # reads deeper nesting than it writes, and a record must be written
    except (ValueError, TypeError) as reason:
        error = error or f"the arguments are no valid JSON: {reason}"
    if error is None and not isinstance(args, dict):
        error = "the arguments are no JSON object"
    if error is None:
        return {"name": name, "args": args, "id": id, "type": "tool_call"}
    return {
        "name": name,
        "args": text[:MAX_TEXT],
        "id": id,
        "error": error,
        "type": "invalid_tool_call",
    }
