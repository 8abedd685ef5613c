"""The options that describe a system, shared by every command that answers questions."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from branchwise.commands.key_option import HELP, METAVAR, read_keys

if TYPE_CHECKING:
    from branchwise.graphs.system import System

MODEL, TOOLS, DECODING, BUDGET = "Model", "Tools and retrieval", "Decoding", "Budget"
MODULES = "Modules"


def _option(help: str, panel: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


@dataclass(frozen=True)
class SystemOptions:
    """One field an option; `to_system` makes the settings object that everything else uses."""

    model: Annotated[
        str,
        _option(
            "offline, openai:NAME, openai:NAME@http://host:port/v1 (vLLM, Ollama, …), or "
            "replay:RUN, what a run recorded.",
            MODEL,
        ),
    ] = "offline"
    key: Annotated[list[str] | None, _option(HELP, MODEL, metavar=METAVAR)] = None
    prompts: Annotated[
        Path | None, _option("Folder with prompt files that replace the built-in ones.", MODEL)
    ] = None
    corpus: Annotated[
        Path | None, _option("Corpus folder to search. Without it: answer directly.", TOOLS)
    ] = None
    retriever: Annotated[
        str | None,
        _option(
            "Index to search with: flat, bm25, hybrid or a name; or http:URL, flashrag:FILE, or "
            "one of your own: file.py:NAME, package.module:NAME.",
            TOOLS,
        ),
    ] = None
    k: Annotated[
        int | None,
        _option("Passages a search; without it the model chooses.", TOOLS, min=1, max=50),
    ] = None
    kg: Annotated[
        str | None,
        _option("Knowledge graph: folder of a built one, a world, or a SPARQL endpoint.", TOOLS),
    ] = None
    tool: Annotated[
        list[str] | None,
        _option(
            "Tool, repeatable: a name, file.py:NAME, package.module:NAME or mcp:COMMAND. "
            "Default: all that --corpus and --kg allow.",
            TOOLS,
        ),
    ] = None
    expand: Annotated[
        bool,
        _option("First write out the question's readings, then answer each.", MODULES, "--expand"),
    ] = False
    extract: Annotated[
        bool,
        _option("Show the agent what helps of each passage, word for word.", MODULES, "--extract"),
    ] = False
    node: Annotated[
        list[str] | None,
        _option("Step of your own, repeatable: file.py:NAME, package.module:NAME.", MODULES),
    ] = None
    settings: Annotated[
        list[str] | None,
        _option("Setting of a plug-in, repeatable: NAME.KEY=VALUE.", MODULES, "--set"),
    ] = None
    expander: Annotated[
        str | None, _option("Model that expands. Default: the agent's.", MODULES)
    ] = None
    extractor: Annotated[
        str | None, _option("Model that extracts. Default: the agent's.", MODULES)
    ] = None
    temperature: Annotated[float | None, _option("Sampling temperature.", DECODING, min=0)] = None
    max_tokens: Annotated[int | None, _option("Output tokens a call.", DECODING, min=1)] = None
    seed: Annotated[int | None, _option("Sampling seed, where the server has one.", DECODING)] = (
        None
    )
    tool_protocol: Annotated[
        str, _option("native, or text for servers without tool calls.", DECODING)
    ] = "native"
    structured: Annotated[
        str, _option("auto or off: the provider's structured output for answers.", DECODING)
    ] = "auto"
    stream: Annotated[bool, _option("Use streamed responses.", DECODING)] = False
    timeout: Annotated[float, _option("Seconds a request may take.", DECODING, min=0.1)] = 120.0
    max_turns: Annotated[int, _option("Model turns an item.", BUDGET, min=1, max=1000)] = 12
    max_calls: Annotated[int, _option("Tool calls an item.", BUDGET, min=0, max=10_000)] = 24
    max_tokens_total: Annotated[int, _option("Tokens an item.", BUDGET, min=1)] = 400_000
    max_seconds: Annotated[float, _option("Seconds an item.", BUDGET, min=0.1)] = 600.0

    def to_system(self) -> "System":
        """The validated settings; raises InputError for a value that does not fit."""
        from pydantic import ValidationError

        from branchwise.corpora.errors import InputError

        try:
            return self._system()
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = "--" + str(first["loc"][-1]).replace("_", "-")
            raise InputError(str(first["msg"]), where=where, remedy="see --help") from None

    def _system(self) -> "System":
        from branchwise.agents.decoding import Decoding
        from branchwise.corpora.plugins.settings import read_settings
        from branchwise.graphs.system import Budget, Roles, System, check_system

        system = System(
            model=self.model,
            tools=None if self.tool is None else tuple(self.tool),
            corpus=str(self.corpus) if self.corpus else None,
            retriever=self.retriever,
            k=self.k,
            kg=self.kg,
            expand=self.expand,
            extract=self.extract,
            roles=Roles(expander=self.expander, extractor=self.extractor),
            prompts=str(self.prompts) if self.prompts else None,
            nodes=tuple(self.node or ()),
            settings=read_settings(self.settings or ()),
            keys=dict(read_keys(self.key).variables),
            decoding=Decoding.model_validate(
                {
                    "temperature": self.temperature,
                    "max_tokens": self.max_tokens,
                    "seed": self.seed,
                    "tool_protocol": self.tool_protocol,
                    "structured": self.structured,
                    "stream": self.stream,
                    "timeout": self.timeout,
                }
            ),
            budget=Budget(
                turns=self.max_turns,
                calls=self.max_calls,
                tokens=self.max_tokens_total,
                seconds=self.max_seconds,
            ),
        )
        check_system(system, lambda setting: "--" + setting)
        return system


def with_system_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take `system: SystemOptions` as separate command-line options.

    Typer reads a function's signature; this one shows the fields instead of the object.
    """
    hints = get_type_hints(SystemOptions, include_extras=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(SystemOptions)
    ]
    names = {option.name for option in options}

    @wraps(command)
    def spread(**values: Any) -> None:
        chosen = {name: values.pop(name) for name in list(values) if name in names}
        command(system=SystemOptions(**chosen), **values)

    own = [p for p in inspect.signature(command).parameters.values() if p.name != "system"]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    spread.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    spread.__annotations__ = {p.name: p.annotation for p in [*own, *options]}
    return spread
