"""`@tool`: a Python function as a tool."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, overload

from pydantic import BaseModel

from branchwise.corpora.plugins.declaring import Declaration, Plugin, decorating
from branchwise.corpora.plugins.injection import Injected
from branchwise.corpora.plugins.specs import Group
from branchwise.tools.plugins.schema import Signature, read_signature

Render = Callable[[Mapping[str, Any], str, Mapping[str, Any]], Iterable[Any]]
"""`render(call_args, content, artifact)`: what the trace app shows of a call."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ToolPlugin(Plugin):
    """A declared tool. `description`: what the model reads, without the parameters.

    `section`: what it adds to the system prompt. `render`: shows a call in the trace app.
    """

    plugin_group: ClassVar[Group] = "tools"
    fills: ClassVar[tuple[Injected, ...]] = ("corpus", "graph", "run", "settings")
    may_wait: ClassVar[bool] = True
    signature: Signature = field(repr=False)
    section: str = ""
    render: Render | None = None


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
    raises `ToolError` to tell the model what to do; the model is also told of any other exception.
    A function that is not async runs on its own thread.

    Parameters annotated `Corpus`, `Graph`, `RunContext` or with the class given as `settings` are
    filled by the harness and hidden from the model. `name`: of the tool, by default the
    function's. `section`: text for the system prompt. `seconds`: a limit for a call. `render`:
    see `ToolPlugin`.

    Raises InputError, with file and line, for a function that cannot be a tool.
    """

    def read(declaration: Declaration) -> Mapping[str, Any]:
        declaration.check(isinstance(section, str), "section is not a text")
        declaration.check(render is None or callable(render), "render is not a function")
        signature = read_signature(declaration)
        return {
            "description": signature.description,
            "signature": signature,
            "section": section,
            "render": render,
        }

    return decorating(
        function,
        lambda declared: ToolPlugin.declared(
            declared, read, name=name, seconds=seconds, settings=settings
        ),
    )
