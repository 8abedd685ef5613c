"""How a model is called: sampling, protocol, timeouts."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from branchwise.agents.extra_body import checked_body
from branchwise.agents.refusals import MAX_TOKENS, TOP_LOGPROBS, ApiChoice
from branchwise.base.numbers import MOST_SECONDS
from branchwise.base.setting import NamedSettings, Setting, declared, digested, refused

PANEL = "Decoding"
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
        sent = {one.setting.sent_as: one.name for one in settings if one.setting.sent_as}
        return {field: getattr(self, name) for field, name in sent.items()}


@cache
def _fields_of_settings() -> Mapping[str, str]:
    """The fields of requests that users write as settings, and as which."""
    settings = declared(Decoding)
    return {one.setting.sent_as: one.word for one in settings if one.setting.sent_as and one.word}
