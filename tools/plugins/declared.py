"""`@tool`: a Python function as a tool."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.specs import Group
from branchwise.tools.plugins.schema import Signature, place_of, read_signature

Render = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Iterable[Any]]
"""`render(call_args, content, artifact)`: what the trace app shows of a call."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class ToolPlugin:
    """A declared tool; calling it calls the function, as if it had never been declared.

    `section`: what it adds to the system prompt. `seconds`: what a call may take, at most what is
    left of the item. `settings`: the pydantic model of its settings. `render`: shows a call in the
    trace app.
    """

    plugin_group: ClassVar[Group] = "tools"
    name: str
    function: Callable[..., Any]
    signature: Signature = field(repr=False)
    section: str = ""
    seconds: float | None = None
    settings: type[BaseModel] | None = None
    render: Render | None = None

    def __post_init__(self) -> None:
        # So that inspect, help() and doctest see the function.
        names = ("__name__", "__qualname__", "__doc__", "__module__")
        self.__dict__.update({n: getattr(self.function, n, None) for n in names})
        self.__dict__["__wrapped__"] = self.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def description(self) -> str:
        """What the model reads of the tool: the docstring without its parameters."""
        return self.signature.description

    @property
    def place(self) -> str:
        """`file:line` of the function."""
        return place_of(self.function)


@overload
def tool(function: Callable[..., Any], /) -> ToolPlugin: ...
@overload
def tool(
    *,
    name: str | None = None,
    section: str = "",
    seconds: float | None = None,
    settings: type[BaseModel] | None = None,
    render: Render | None = None,
) -> Callable[[Callable[..., Any]], ToolPlugin]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    section: str = "",
    seconds: float | None = None,
    settings: type[BaseModel] | None = None,
    render: Render | None = None,
) -> ToolPlugin | Callable[[Callable[..., Any]], ToolPlugin]:
    """Declare a function, async or not, as a tool that an agent may call.

    Its docstring and its annotations become what the model sees: `` `title`: words `` in the
    docstring describes a parameter. It returns text, what JSON can hold, or a `ToolResult`; it
    raises `ToolError` to tell the model what to do, and whatever else it raises is told, too. A
    function that is not async runs on a thread of its own.

    Parameters annotated `Corpus`, `Graph`, `RunContext` or with the class given as `settings` are
    filled by the harness and hidden from the model. `name`: of the tool, by default the
    function's. `section`: text for the system prompt. `seconds`: a limit for a call. `render`:
    see `ToolPlugin`.

    Raises InputError, with file and line, for a function that cannot be a tool.
    """

    def declare(declared: Callable[..., Any]) -> ToolPlugin:
        return _declared(declared, name, section, seconds, settings, render)

    return declare if function is None else declare(function)


def _declared(
    function: Callable[..., Any],
    name: str | None,
    section: str,
    seconds: float | None,
    settings: type[BaseModel] | None,
    render: Render | None,
) -> ToolPlugin:
    if not callable(function) or isinstance(function, type | ToolPlugin):
        raise InputError(
            f"@tool declares a function, not {type(function).__name__!r}",
            where=place_of(function) if callable(function) else None,
            remedy="put it above a `def`",
        )
    where, chosen = place_of(function), name or getattr(function, "__name__", "")
    if not isinstance(chosen, str) or not _NAME.fullmatch(chosen):
        raise InputError(
            f"{chosen!r} cannot be the name of a tool",
            where=where,
            remedy="use at most 64 letters, digits, _ and -",
        )
    _check_options(where, section, seconds, settings, render)
    signature = read_signature(function, settings)
    plugin = ToolPlugin(chosen, function, signature, section, seconds, settings, render)
    _check_once(plugin, getattr(function, "__globals__", {}))
    return plugin


def _check_options(where: str, section: Any, seconds: Any, settings: Any, render: Any) -> None:
    wrong = None
    if not isinstance(section, str):
        wrong = "section is no text"
    elif seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
        wrong = f"seconds is {seconds!r}, which is no positive number"
    elif settings is not None and not (
        isinstance(settings, type) and issubclass(settings, BaseModel)
    ):
        wrong = "settings is no pydantic model class"
    elif render is not None and not callable(render):
        wrong = "render is no function"
    if wrong:
        raise InputError(f"@tool: {wrong}", where=where, remedy="see docs/plugins.md")


def _check_once(plugin: ToolPlugin, names: Mapping[str, Any]) -> None:
    """Refuse a second tool of one name in a file. In a notebook a cell may run again."""
    if names.get("__name__") == "__main__":
        return
    for other in names.values():
        if isinstance(other, ToolPlugin) and other.name == plugin.name and _differ(other, plugin):
            raise InputError(
                f"the tool {plugin.name} is defined twice",
                where=f"{other.place} and {plugin.place}",
                remedy="give one of them another name",
            )


def _differ(one: ToolPlugin, other: ToolPlugin) -> bool:
    return one.place != other.place
