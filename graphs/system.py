"""A system: everything that can be varied about how questions are answered."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from branchwise.agents.decoding import Decoding

PluginSettings = Mapping[str, Mapping[str, JsonValue]]
"""Settings of plug-ins by their names."""


class Budget(BaseModel):
    """What one item may spend. When any part is spent the agent is told to answer.

    `turns`: model turns, the answering one included. `calls`: tool calls. `tokens`: input and
    output of all model calls. `seconds`: time spent asking; replayed calls take none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: int = Field(default=12, ge=1, le=1000)
    calls: int = Field(default=24, ge=0, le=10_000)
    tokens: int = Field(default=400_000, ge=1)
    seconds: float = Field(default=600.0, gt=0)


class Roles(BaseModel):
    """Models of other roles than the agent's, as model specs; None is the agent's model.

    `matcher` and `judge` only score: no answer depends on them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    expander: str | None = None
    extractor: str | None = None
    matcher: str | None = None
    judge: str | None = None


class System(BaseModel):
    """Model, tools, modules, retriever settings, decoding, budget and prompts.

    `corpus` and `prompts` are folders; `retriever` names an index of the corpus (None: the only
    one there is, else `flat`), or is `http:URL` or `flashrag:CONFIG.yaml`, which need no corpus;
    `k` fixes the number of passages a search returns and takes it out of the tool's schema. `kg`
    is the folder of a built graph or the address of a SPARQL endpoint. `tools`: None is
    `local_retriever` where there is a retriever, and `wikidata_search` and `wikisparql` where
    there is a graph; without tools the model answers directly. A tool or node is named, or is
    `file.py:NAME` or `package.module:NAME` (corpora/plugins/specs.py); `settings` are theirs, by
    their names. `nodes` are the plug-in steps, in their order. `expand`: the
    question's readings are written out first, for the agent to answer each. `extract`: of each
    retrieved passage the agent sees what a model copied out of it. `keys`: by HOST or HOST:PORT
    the environment variable whose key goes there (`corpora/keys.py`); no answer depends on them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = "offline"
    tools: tuple[str, ...] | None = None
    corpus: str | None = None
    retriever: str | None = None
    k: int | None = Field(default=None, ge=1, le=50)
    kg: str | None = None
    expand: bool = False
    extract: bool = False
    roles: Roles = Roles()
    decoding: Decoding = Decoding()
    budget: Budget = Budget()
    prompts: str | None = None
    nodes: tuple[str, ...] = ()
    settings: PluginSettings = {}
    keys: Mapping[str, str] = {}

    def __hash__(self) -> int:
        # Mappings have no hash; equal systems are equal in the rest, too.
        return hash(self.model_dump_json(exclude={"settings", "keys"}))
