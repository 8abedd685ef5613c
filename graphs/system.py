"""A system: everything that can vary in how questions are answered.

A field's type, bounds and default, and its `Setting`, are all that is said of a setting: options,
help, keys of study files, refusals and digests are made of them.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache, partial
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from branchwise.agents import headers as model_headers
from branchwise.agents.decoding import PANEL, Decoding
from branchwise.base.errors import InputError
from branchwise.base.keys import HELP, METAVAR, OPTION
from branchwise.base.plugins.declare import as_written
from branchwise.base.prompt_sets import DEFAULT_SET, PromptSet
from branchwise.base.setting import Declared, NamedSettings, Setting, declared
from branchwise.corpora.kinds import NAMES
from branchwise.corpora.retrieval import MAX_K
from branchwise.graphs.budget import PANEL as BUDGET
from branchwise.graphs.budget import Budget
from branchwise.graphs.own_settings import (
    RoleDecoding,
    asking_settings,
    checked_asking,
    checked_roles,
    decoding_with,
)

MAX_TRIES = 20
Merge = Literal["union", "majority", "list"]
PluginSettings = Mapping[str, Mapping[str, JsonValue]]
"""Settings of plug-ins by their names."""
_model, _tools = partial(Setting, panel="Model"), partial(Setting, panel="Tools and retrieval")
_module, _budget = partial(Setting, panel="Modules"), partial(Setting, panel=BUDGET)


class Roles(BaseModel, metaclass=NamedSettings):
    """Models for roles other than the agent's, as model specs; None is the agent's model.

    `matcher` and `judge` only score: no answer depends on them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    expander: Annotated[
        str | None,
        _module("Model that expands. Default: the agent's.", holds="model", module="expand"),
    ] = None
    extractor: Annotated[
        str | None,
        _module("Model that extracts. Default: the agent's.", holds="model", module="extract"),
    ] = None
    checker: Annotated[
        str | None,
        _module("Model that checks. Default: the agent's.", holds="model", module="check"),
    ] = None
    matcher: Annotated[str | None, Setting(flag=None, holds="model", changes="scores")] = None
    judge: Annotated[str | None, Setting(flag=None, holds="model", changes="scores")] = None


class System(BaseModel, metaclass=NamedSettings):
    """Model, tools, modules, retriever settings, decoding, budget and prompts.

    `branchwise run --help` says what each is. `corpus`, `prompts` and `reranker` are folders; `kg`
    is a built graph's or the address of a SPARQL endpoint. `retriever`: None is the corpus's only
    index, else `flat`; `http:URL` and `flashrag:CONFIG.yaml` need no corpus. `k` fixes the number
    of passages per search and removes it from the tool's schema. `tools`: None is `local_retriever`
    if there is a retriever, `open_passages` if there is a corpus (not with the paper's prompts),
    and `wikidata_search` and `wikisparql` if there is a graph; without tools the model answers
    directly. A tool or node is named, or is `file.py:NAME` or `package.module:NAME`
    (base/plugins/specs.py); `settings` are theirs, by their names. `nodes` are the plug-in steps,
    in order. `extract_by`: search, which asks about the passages of a turn's searches together and
    about a passage once, unless a search asks for something else; or passage, which asks about each
    passage of each result. `fan_out` turns `expand` on. `tries`: conversations about a question
    whose answers are merged as `merge` says (`graphs/tries.py`). `per_name`: of the passages whose
    titles differ only by a disambiguator in brackets, this many come before others; None keeps the
    ranking.
    `repeat_passages`: a passage that the agent has before it, or that was extracted for what a
    search asks, is shown whole again, instead of by its title. `asking`: the settings of tasks that
    are not their defaults (`graphs/own_settings.py`); they may also be given among the others, as
    records have them: `System(protocol="guided")`. `keys`: by HOST or HOST:PORT the environment
    variable whose key goes there (`base/keys.py`); no answer depends on them, nor on `headers`.
    `role_decoding`: by role the decoding settings that are not the agent's.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: Annotated[
        str,
        _model(
            "offline, openai:NAME, anthropic:, google: or mistral:NAME, "
            "openai:NAME@http://host:port/v1 (vLLM, Ollama, …), or "
            "replay:RUN, what a run recorded.",
            holds="model",
            changes="sources",
        ),
    ] = "offline"
    keys: Annotated[
        Mapping[str, str], _model(HELP, word=None, flag=OPTION, metavar=METAVAR, changes="requests")
    ] = {}
    headers: Annotated[
        Mapping[str, str],
        BeforeValidator(model_headers.checked_headers),
        _model(
            model_headers.HELP,
            word=None,
            flag=model_headers.OPTION,
            metavar="[HOST/]NAME=VALUE",
            changes="requests",
        ),
    ] = {}
    prompts: Annotated[
        str | None,
        _model(
            "Folder with prompt files that replace the built-in ones.",
            holds="folder",
            none="built-in",
            changes="sources",
        ),
    ] = None
    asking: Annotated[Mapping[str, Any], AfterValidator(checked_asking)] = {}
    prompt_set: Annotated[
        PromptSet,
        _model("Prompts and tool descriptions: with advice, or as plain as DeepAmbigQA's paper."),
    ] = DEFAULT_SET
    corpus: Annotated[
        str | None,
        _tools(
            "Corpus folder to search. Without it: answer directly.",
            holds="folder",
            none="none",
            changes="sources",
        ),
    ] = None
    retriever: Annotated[
        str | None,
        _tools(
            f"Index to search with: {NAMES} or a name; or http:URL, flashrag:FILE, or "
            "one of your own: file.py:NAME, package.module:NAME.",
            holds="retriever",
            changes="sources",
        ),
    ] = None
    k: Annotated[
        int | None,
        Field(ge=1, le=MAX_K),
        _tools("Passages a search; without it the model chooses."),
    ] = None
    reranker: Annotated[
        str | None,
        _tools(
            "Folder of a cross-encoder that ranks what the retriever finds anew.",
            holds="folder",
            none="none",
            changes="sources",
        ),
    ] = None
    kg: Annotated[
        str | None,
        _tools(
            "Knowledge graph: folder of a built one, a world, or a SPARQL endpoint.",
            holds="kg",
            none="none",
            changes="sources",
        ),
    ] = None
    tools: Annotated[
        tuple[str, ...] | None,
        _tools(
            "Tool, repeatable: a name, file.py:NAME, package.module:NAME or mcp:COMMAND. "
            "Default: all that --corpus and --kg allow; none alone: no tool.",
            flag="--tool",
            none="all",
            changes="sources",
        ),
    ] = None
    per_name: Annotated[
        int | None,
        Field(ge=1, le=MAX_K),
        _tools("Passages of one name that come before others: of `Heat`, `Heat (song)`, …."),
    ] = None
    repeat_passages: Annotated[
        bool,
        _tools(
            "Show a passage whole each time that a search finds it.",
            flag="--repeat-passages",
        ),
    ] = False
    expand: Annotated[
        bool,
        _module(
            "First write out the question's readings, then answer each.",
            word="expansion",
            flag="--expand",
        ),
    ] = False
    readings_from: Annotated[
        Literal["memory", "search"],
        _module(
            "What expansion goes by: memory alone, or what is found for the names first.",
            module="expand",
        ),
    ] = "search"
    fan_out: Annotated[
        bool,
        _module(
            "Answer each reading in a conversation of its own, all at once; expands questions.",
            flag="--fan-out",
            module="fan_out",
        ),
    ] = False
    extract: Annotated[
        bool,
        _module(
            "Show the agent what helps of each passage, word for word.",
            word="extraction",
            flag="--extract",
        ),
    ] = False
    extract_by: Annotated[
        Literal["search", "passage"],
        _module(
            "With one request for all passages of a turn's searches, or one for each passage.",
            word="extraction_by",
            flag="--extract-by",
            module="extract",
        ),
    ] = "search"
    compact: Annotated[
        int | None,
        Field(ge=1000, le=10**9),
        _module(
            "Prompt tokens beyond which older results become titles and sentences.",
            metavar="TOKENS",
            none="off",
            module="compact",
        ),
    ] = None
    check: Annotated[
        int,
        Field(ge=0, le=10),
        _module("Times that a reviewer may send the agent back.", module="check"),
    ] = 0
    tries: Annotated[
        int | None,
        Field(ge=2, le=MAX_TRIES),
        _module(
            "Conversations about a question, at the same time, whose answers are merged.",
            none="one",
            module="tries",
        ),
    ] = None
    merge: Annotated[
        Merge | None,
        _module(
            "How: every answer of any try, those of more than half of them, or the list that the "
            "model makes of them.",
            none="none",
            module="tries",
        ),
    ] = None
    nodes: Annotated[
        tuple[str, ...],
        _module(
            "Step of your own, repeatable: file.py:NAME, package.module:NAME.",
            word=None,
            flag="--node",
            changes="sources",
        ),
    ] = ()
    settings: Annotated[
        PluginSettings,
        _module(
            "Setting of a plug-in, repeatable: NAME.KEY=VALUE.",
            word=None,
            flag="--set",
            metavar="NAME.KEY=VALUE",
            changes="sources",
        ),
    ] = {}
    roles: Roles = Roles()
    decoding: Decoding = Decoding()
    budget_shown: Annotated[
        Literal["on", "off"],
        _budget("Tell the agent what is left with each result."),
    ] = "on"
    role_decoding: Annotated[
        RoleDecoding,
        BeforeValidator(checked_roles),
        Setting(
            "Decoding of a role's own, repeatable: extractor.temperature=0. Roles: expander, "
            "extractor, checker, matcher, judge.",
            PANEL,
            word="roles",
            flag="--role",
            metavar="ROLE.KEY=VALUE",
            none="the agent's",
            changes="sources",
        ),
    ] = {}
    budget: Budget = Budget()

    def with_(self, **changes: Any) -> Self:
        """Another system, with these settings changed. Raises InputError as `System` does."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**{**given, **changes})

    def __setattr__(self, name: str, value: Any) -> None:
        remedy = f"make another: system.with_({name}=...)"
        raise InputError("a system does not change", where="System", remedy=remedy)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What is not the default."""
        for name, info in type(self).model_fields.items():
            value = getattr(self, name)
            if value != info.get_default(call_default_factory=True):
                yield name, value

    def __hash__(self) -> int:
        # Mappings have no hash; equal systems are also equal in the rest.
        return hash(self.model_dump_json(exclude={"settings", "keys", "headers"}))

    @model_validator(mode="before")
    @classmethod
    def _gather_asking(cls, given: Any) -> Any:
        """Put the settings of tasks that stand among the others where they belong."""
        if isinstance(given, Mapping):
            given = {name: as_written(value) for name, value in given.items()}
        others = given.keys() - cls.model_fields.keys() if isinstance(given, Mapping) else ()
        names = [name for name in others if name in asking_settings()] if others else ()
        if not names:
            return given
        asking = {**given.get("asking", {}), **{name: given[name] for name in names}}
        return {**{key: given[key] for key in given if key not in names}, "asking": asking}

    @model_validator(mode="after")
    def _expand_to_fan_out(self) -> Self:
        if self.fan_out:
            # Not as a setting that was given: without `fan_out` it is off again.
            vars(self)["expand"] = True
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Pydantic's, to which settings of tasks are given among the others, too."""
        changes, names = dict(update or {}), asking_settings() if update else {}
        if asked := {name: changes.pop(name) for name in [*changes] if name in names}:
            changes["asking"] = checked_asking({**self.asking, **asked})
        if changes.get("fan_out"):
            changes["expand"] = True
        return super().model_copy(update=changes, deep=deep)

    @model_serializer(mode="wrap")
    def _spread_asking(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Records have every setting of tasks among the others."""
        record: dict[str, Any] = {}
        for name, value in dump(self).items():
            asked = {setting: self.asked(setting) for setting in asking_settings()}
            record |= asked if name == "asking" else {name: value}
        return record

    @classmethod
    def declared_elsewhere(cls) -> Collection[str]:
        return asking_settings()

    def asked(self, name: str) -> Any:
        """The value of a task's setting, its default where it is not set. Raises KeyError."""
        declared = asking_settings()[name]
        return self.asking.get(name, declared.info.default)

    def decoding_of(self, role: str) -> Decoding:
        """How a role's model is called: the agent's decoding with the role's own settings in it."""
        return decoding_with(self.decoding, self.role_decoding.get(role, {}))

    @classmethod
    def of(cls, values: Mapping[tuple[str, ...], Any]) -> Self:
        """A system of values by the paths of its `SETTINGS`. Raises pydantic's ValidationError."""
        nested: dict[str, Any] = {}
        for path, value in values.items():
            part = nested
            for name in path[:-1]:
                part = part.setdefault(name, {})
            part[path[-1]] = value
        return cls.model_validate(nested)


DEFAULT_SYSTEM = System()
SETTINGS = tuple(declared(System))
"""Every setting of its own."""
MODULES: Mapping[str, str] = {
    s.name: s.setting.module for s in SETTINGS if s.setting.module and s.path[0] == "roles"
}
"""By the role whose model is asked, the setting of the module that asks it."""


@cache
def all_settings() -> tuple[Declared, ...]:
    """Every setting that users write, in the order in which help lists them: those of tasks stand
    where `asking` does."""
    fields = list(System.model_fields)
    first = [
        setting for setting in SETTINGS if fields.index(setting.path[0]) < fields.index("asking")
    ]
    return (*first, *asking_settings().values(), *SETTINGS[len(first) :])
