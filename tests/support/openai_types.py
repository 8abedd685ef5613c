"""Requests and replies by OpenAI's own types: what they do not fit, the tests' servers refuse."""

import functools
from collections.abc import Mapping
from typing import Any, Literal

from openai.types.chat import ChatCompletion, ChatCompletionChunk, completion_create_params
from openai.types.responses import Response, ResponseStreamEvent, response_create_params
from pydantic import TypeAdapter, ValidationError

Api = Literal["chat", "responses"]
_REQUESTS = {
    "chat": completion_create_params.CompletionCreateParamsBase,
    "responses": response_create_params.ResponseCreateParamsBase,
}
_SENT = {
    "completion": ChatCompletion, "chunk": ChatCompletionChunk,
    "response": Response, "event": ResponseStreamEvent,
}  # fmt: skip
_LEAST_OUTPUT = 16
"""Tokens: https://platform.openai.com/docs/api-reference/responses/create (max_output_tokens)."""


class RefusedRequestError(Exception):
    """A request that OpenAI would not take: its words, and the field that they are about."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
        self.body = {"error": error}


def check_request(body: Mapping[str, Any], api: Api) -> None:
    """Raise RefusedRequestError for a body that does not fit the types of the protocol."""
    fields = _REQUESTS[api].__annotations__
    for name in body if api == "responses" else ():
        if name not in {**fields, "stream": None}:
            raise RefusedRequestError(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    try:
        _walked(_adapter(api).validate_python(body))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise RefusedRequestError(f"Invalid type for '{place}': {first['msg']}", place) from None
    if api == "responses":
        _check_items(body["input"])
        least = body.get("max_output_tokens", _LEAST_OUTPUT)
        if least < _LEAST_OUTPUT:
            raise RefusedRequestError(
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= "
                f"{_LEAST_OUTPUT}, but got {least} instead.",
                "max_output_tokens",
                "integer_below_min_value",
            )


def check_sent(body: Any, kind: str) -> None:
    """Raise for what is no `completion`, `chunk`, `response` or `event` of OpenAI's."""
    _adapter(kind).validate_python(body)


def _check_items(items: list[Mapping[str, Any]]) -> None:
    """What refers to what: calls to results, reasoning to what it led to."""
    calls = [item["call_id"] for item in items if item["type"] == "function_call"]
    outputs = [item["call_id"] for item in items if item["type"] == "function_call_output"]
    if len({*calls}) != len(calls):
        raise RefusedRequestError(f"Duplicate call_id in {calls}", "input")
    for call in outputs:
        if call not in calls:
            raise RefusedRequestError(
                f"No tool call found for function call output with call_id {call}.", "input"
            )
    for call in calls:
        if call not in outputs:
            raise RefusedRequestError(f"No tool output found for function call {call}.", "input")
    for item, following in zip(items, [*items[1:], None], strict=True):
        if item["type"] != "reasoning":
            continue
        if not item.get("encrypted_content"):
            raise RefusedRequestError(
                f"Item with id '{item['id']}' not found. Items are not persisted when `store` is "
                "set to false. Try again with `store` set to true, or remove this item from your "
                "input.",
                "input",
            )
        if following is None or following["type"] not in ("reasoning", "function_call", "message"):
            raise RefusedRequestError(
                f"Item '{item['id']}' of type 'reasoning' was provided without its required "
                "following item.",
                "input",
            )


def _walked(value: Any) -> Any:
    """All of a value: lists are checked only as they are read."""
    if isinstance(value, dict):
        return {key: _walked(part) for key, part in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    return [_walked(part) for part in value]


@functools.cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter((_REQUESTS | _SENT)[kind])
