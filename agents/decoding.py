"""How a model is called: sampling, protocol, timeouts."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from branchwise.agents.setting import Setting, digested

_PANEL = "Decoding"


class Decoding(BaseModel):
    """Settings of one model's calls; None leaves the choice to the server.

    `tool_protocol`: `native` sends tool schemas, `text` describes the tools in the system message
    and reads fenced calls from the reply. `structured`: `auto` asks for the answer's JSON schema
    where the server takes one. `timeout`: seconds a request; `attempts`: requests a call, at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: Annotated[
        float | None, Field(ge=0, le=2), Setting("Sampling temperature.", _PANEL)
    ] = None
    max_tokens: Annotated[int | None, Field(ge=1), Setting("Output tokens a call.", _PANEL)] = None
    seed: Annotated[int | None, Setting("Sampling seed, where the server has one.", _PANEL)] = None
    tool_protocol: Annotated[
        Literal["native", "text"],
        Setting("native, or text for servers without tool calls.", _PANEL),
    ] = "native"
    structured: Annotated[
        Literal["auto", "off"],
        Setting("auto or off: the provider's structured output for answers.", _PANEL),
    ] = "auto"
    stream: Annotated[
        bool,
        Setting("Use streamed responses.", _PANEL, flag="--stream/--no-stream", changes="requests"),
    ] = False
    timeout: Annotated[
        float, Field(gt=0), Setting("Seconds a request may take.", _PANEL, changes="requests")
    ] = 120.0
    attempts: int = Field(default=6, ge=1, le=100)

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that an answer depends on."""
        return digested(self)
