"""A system: everything that can be varied about how questions are answered, and what of it does not
fit together: the same rules for the command line and for study files."""

from collections.abc import Callable, Mapping

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from branchwise.agents.decoding import Decoding
from branchwise.corpora.errors import InputError
from branchwise.corpora.open import needs_corpus

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


class SettingError(InputError):
    """A setting that does not fit the others; `setting`: its field in System or Roles."""

    def __init__(self, setting: str, what: str, *, where: str, remedy: str) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.setting = setting


def searches(system: System) -> bool:
    """Whether there is something to search."""
    return system.corpus is not None or not needs_corpus(system.retriever)


def check_system(system: System, written: Callable[[str], str]) -> None:
    """Raise SettingError where settings do not fit each other.

    A model for a module that is not asked for would be paid for by nobody's wish. `written` gives
    the user's word for a setting.
    """
    for module, role in (("expand", "expander"), ("extract", "extractor")):
        if getattr(system.roles, role) and not getattr(system, module):
            raise SettingError(
                role,
                f"no {role} is asked without {written(module)}",
                where=written(role),
                remedy=f"add {written(module)}, or leave out {written(role)}",
            )
    for setting in ("retriever", "k"):
        if getattr(system, setting) is not None and not searches(system):
            raise SettingError(
                setting,
                "there is no corpus to search",
                where=written(setting),
                remedy=f"add {written('corpus')} DIR",
            )
