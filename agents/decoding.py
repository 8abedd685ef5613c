"""How a model is called: sampling, protocol, timeouts, fields of a user's own."""

import json
import math
import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from branchwise.agents.refusals import MAX_TOKENS, TOP_LOGPROBS, ApiChoice
from branchwise.base.numbers import MOST_SECONDS
from branchwise.base.secrets import looks_secret
from branchwise.base.setting import NamedSettings, Setting, declared, digested, refused

PANEL = "Decoding"
_MAX_BYTES = 4096
_MAX_DEPTH = 20
_BY_KEY = "keys are for --key HOST=VARIABLE; a run keeps these fields as they are"
_OF_SETTINGS: Mapping[str, str] = {
    "model": "model",
    "tools": "tools",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "response_format": "structured",
}
"""Fields that requests have from settings that are not sent as they are, and which."""
_OURS = frozenset(
    {"messages", "stream_options", "tool_choice", "functions", "function_call", "n"}
    | {"input", "conversation", "previous_response_id"}
    | {"contents", "system", "systemInstruction", "system_instruction"}
)
_CREDENTIAL = re.compile(
    r"authori[sz]ation|bearer|cookie|credential|passw|secret|(api|access|private)[-_]?key"
    r"|^(api[-_]?)?keys?$|(^|(auth|access|refresh|session|api|id|hf)[-_]?)token$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,31}")


def _word(value: str | None) -> str | None:
    # Servers differ in which words they have, and get more: which of them is right they say.
    if value is not None and not _WORD.fullmatch(value):
        raise refused("is not a short word", "write low, medium, high, or what the server takes")
    return value


class RoleSettings(BaseModel, metaclass=NamedSettings):
    """What a role may have of its own: how its model's replies are sampled, where None leaves the
    choice to the server, and by which protocol it is asked.

    `reasoning_effort`: a word that the server knows. `extra_body`: further fields of every
    request, JSON-serialisable, their keys sorted. `api`: the protocol of requests; `auto`: OpenAI's
    own service is asked by the Responses API, others by chat completions, and where a server
    refuses that and names the other, by the other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Annotated[
        float | None,
        Field(ge=0, le=2),
        Setting("Sampling temperature.", PANEL, sent_as="temperature"),
    ] = None
    top_p: Annotated[
        float | None,
        Field(gt=0, le=1),
        Setting(
            "Nucleus sampling: the share of probability to sample from.", PANEL, sent_as="top_p"
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Field(ge=1, le=10**9),
        Setting("Output tokens a call.", PANEL, sent_as=MAX_TOKENS),
    ] = None
    seed: Annotated[
        int | None,
        Field(ge=-(2**63), lt=2**63),
        Setting("Sampling seed, where the server has one.", PANEL, sent_as="seed"),
    ] = None
    reasoning_effort: Annotated[
        str | None,
        AfterValidator(_word),
        Setting(
            "How much to reason, in the server's words: none, minimal, low, medium, high, …",
            PANEL,
            sent_as="reasoning_effort",
        ),
    ] = None
    extra_body: Annotated[
        Mapping[str, JsonValue],
        BeforeValidator(lambda given: checked_body(given, _fields_of_settings())),
        Setting(
            'Further fields of every request, as JSON: {"top_k": 20}.',
            PANEL,
            none="none",
            metavar="JSON",
        ),
    ] = {}
    api: Annotated[
        ApiChoice,
        Setting(
            "The protocol: chat completions or the Responses API; auto: the latter for OpenAI's "
            "own service, and where a server refuses one and names the other, the other.",
            PANEL,
        ),
    ] = "auto"

    def __hash__(self) -> int:
        # Mappings have no hash; their keys are sorted.
        return hash(self.model_dump_json())


class Decoding(RoleSettings):
    """Settings of one model's calls.

    `tool_protocol`: `native` sends tool schemas, `text` describes the tools in the system message
    and reads fenced calls from the reply. `structured`: `auto` asks for the answer's JSON schema
    where the server takes one. `reasoning_back`: whether the reasoning of turns that called tools
    goes into the question's later requests; `auto`: by chat completions once the server refuses
    one without it, by the Responses API always.
    `top_logprobs`: how many alternatives to each token come with their log-probabilities; None
    asks for none. `timeout`: seconds a request; `attempts`: requests a call, at most.
    """

    tool_protocol: Annotated[
        Literal["native", "text"],
        Setting("How tools are called; text for servers without tool calls.", PANEL),
    ] = "native"
    structured: Annotated[
        Literal["auto", "off"],
        Setting("The provider's structured output for answers.", PANEL),
    ] = "auto"
    reasoning_back: Annotated[
        Literal["auto", "on", "off"],
        Setting(
            "Send the reasoning of turns that call tools back to the server; auto: where it "
            "refuses to go on without it.",
            PANEL,
        ),
    ] = "auto"
    top_logprobs: Annotated[
        int | None, Field(ge=1, le=20), Setting(word=None, flag=None, sent_as=TOP_LOGPROBS)
    ] = None
    stream: Annotated[
        bool,
        Setting(
            "Use streamed responses.",
            PANEL,
            flag="--stream/--no-stream",
            changes="requests",
            sent_as="stream",
        ),
    ] = False
    timeout: Annotated[
        float,
        Field(gt=0, le=MOST_SECONDS),
        Setting("Seconds a request may take.", PANEL, changes="requests"),
    ] = 120.0
    attempts: int = Field(default=6, ge=1, le=100)

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that an answer depends on."""
        return digested(self)

    @property
    def fields(self) -> dict[str, Any]:
        """What every request sends of it, by the names of fields; None where a setting is not set.

        The limit of tokens is `max_tokens`, which some servers call otherwise.
        """
        settings = declared(type(self))
        sent = {each.setting.sent_as: each.name for each in settings if each.setting.sent_as}
        return {field: getattr(self, name) for field, name in sent.items()}


@cache
def _fields_of_settings() -> Mapping[str, str]:
    """The fields of requests that users write as settings, and as which."""
    settings = declared(Decoding)
    return {
        each.setting.sent_as: each.word for each in settings if each.setting.sent_as and each.word
    }


def checked_body(given: Any, sent: Mapping[str, str]) -> dict[str, Any]:
    """The fields with sorted keys, at every level; None is none of them. `sent`: by fields that
    requests have from settings, which.

    Raises PydanticCustomError for anything but a JSON object of at most 4,096 bytes, for fields
    that requests have anyway, and for what may be a credential.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused("is not a JSON object", 'write {"top_k": 20}')
    checked: dict[str, Any] = _checked(given, ())
    settings = {**_OF_SETTINGS, **sent}
    for name in checked:
        if name in settings:
            raise refused("is not for extra_body", f"it is the setting {settings[name]}", name)
        if name in _OURS:
            raise refused("is not for extra_body", "leave it out: requests have their own", name)
    if (size := len(json.dumps(checked).encode())) > _MAX_BYTES:
        raise refused(f"has {size:,} bytes", f"at most {_MAX_BYTES:,} are sent along")
    return checked


def named_in(message: str, extra: Collection[str]) -> list[str]:
    """The fields that an error speaks of."""
    return [name for name in extra if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message)]


def _checked(value: Any, path: tuple[str, ...]) -> Any:
    if len(path) > _MAX_DEPTH:
        raise refused("is nested too deeply", "write it flatter", path[0])
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or not key:
                raise refused("has a key that is not a name", "write names as keys", *path)
            _check_text(key, path)
            if _CREDENTIAL.search(key):
                raise refused("looks like a credential", _BY_KEY, *path, key[:60])
        return {key: _checked(value[key], (*path, key)) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_checked(part, (*path, str(n))) for n, part in enumerate(value)]
    if isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise refused("is too large a number", "write it as a text", *path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise refused("is not a finite number", "JSON has none", *path)
    elif value is not None and not isinstance(value, int | float):
        raise refused(f"is a {type(value).__name__}", "write what JSON has", *path)
    return value


def _check_text(text: str, path: tuple[str, ...]) -> None:
    # Never repeated: it may be the secret.
    if looks_secret(text):
        raise refused("looks like a credential", _BY_KEY, *path)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise refused("contains half a character", "write whole ones", *path) from None
