"""What protocols that are not OpenAI's call the fields of a request, and which of them they lack.

https://docs.claude.com/en/api/messages, https://ai.google.dev/api/generate-content,
https://docs.mistral.ai/api. LangChain's models are given no sampling, since by the model's name
they would change or drop some of it: what was asked for is written over the body that they make.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from branchwise.agents.decoding import Decoding
from branchwise.agents.refusals import MAX_TOKENS
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError

_GOOGLE = "generationConfig"
_NAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "anthropic": {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        MAX_TOKENS: ("max_tokens",),
        "reasoning_effort": ("output_config", "effort"),
        "response_format": ("output_config", "format"),
    },
    "google": {
        "temperature": (_GOOGLE, "temperature"),
        "top_p": (_GOOGLE, "topP"),
        MAX_TOKENS: (_GOOGLE, "maxOutputTokens"),
        "seed": (_GOOGLE, "seed"),
        "reasoning_effort": (_GOOGLE, "thinkingConfig", "thinkingLevel"),
        "response_format": (_GOOGLE, "responseJsonSchema"),
    },
    "mistral": {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        MAX_TOKENS: ("max_tokens",),
        "seed": ("random_seed",),
        "reasoning_effort": ("reasoning_effort",),
        "response_format": ("response_format",),
    },
}
_DEMANDED = frozenset({("anthropic", MAX_TOKENS)})
"""Fields that a request must have: without a setting, LangChain's value is the model's maximum."""


def check_fields(spec: ModelSpec, decoding: Decoding) -> None:
    """Raise InputError for a setting that the provider's protocol has no place for."""
    names = _NAMES.get(spec.provider)
    if names is None:
        return
    leave = "leave it out, for one role by --role ROLE."
    if decoding.seed is not None and "seed" not in names:
        what = f"{spec.provider} has no seed, which is set for {spec}"
        raise InputError(what, remedy=f"{leave}seed=null")
    if decoding.api == "responses":
        what = f"{spec.provider} has its own protocol, and api is set for {spec}"
        raise InputError(what, remedy=f"{leave}api=auto")
    if decoding.stream:
        raise InputError(f"{spec} is asked for whole replies alone", remedy="leave out --stream")


def amend(
    spec: ModelSpec, body: dict[str, Any], fields: Mapping[str, Any], own: Mapping[str, Any]
) -> None:
    """Write what is asked for, by the names of chat completions, and a user's `own` fields, joined
    with ours, into the body of a request; what LangChain chose in its place goes."""
    for name, path in _NAMES[spec.provider].items():
        if name in fields or (spec.provider, name) not in _DEMANDED:
            inner: Any = body
            for part in path[:-1]:
                inner = inner.get(part, {})
            inner.pop(path[-1], None)
    for path, value in _written(spec.provider, fields):
        for part in reversed(path):
            value = {part: value}
        _join(body, value)
    _join(body, own)


def _written(provider: str, fields: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, path in _NAMES[provider].items():
        value = fields.get(name)
        if name == "response_format" and value is not None and provider != "mistral":
            value = value["json_schema"]["schema"]
            if provider == "google":
                yield (_GOOGLE, "responseMimeType"), "application/json"
            else:
                value = {"type": "json_schema", "schema": value}
        if value is not None:
            yield path, value


def _join(body: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add the fields of `more`, mappings field by field."""
    for name, value in more.items():
        if isinstance(value, Mapping) and isinstance(body.get(name), dict):
            _join(body[name], value)
        else:
            body[name] = value
