"""How a model is asked: sampling, protocol, patience."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Decoding(BaseModel):
    """Settings of one model's calls; None leaves the choice to the server.

    `tool_protocol`: `native` sends tool schemas, `text` describes the tools in the system message
    and reads fenced calls from the reply. `structured`: `auto` asks for the answer's JSON schema
    where the server takes one. `timeout`: seconds a request; `attempts`: requests a call, at most.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    tool_protocol: Literal["native", "text"] = "native"
    structured: Literal["auto", "off"] = "auto"
    stream: bool = False
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=6, ge=1, le=100)

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that an answer depends on: streaming and patience do not change it."""
        return self.model_dump(exclude={"stream", "timeout", "attempts"})
