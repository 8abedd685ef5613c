"""From a spec on the command line or in a study to the tool that an agent gets."""

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.injection import InjectionContext, fill
from branchwise.corpora.plugins.kinds import made
from branchwise.corpora.plugins.loading import LoadedPlugin, find_plugin
from branchwise.corpora.plugins.settings import check_settings
from branchwise.corpora.plugins.specs import is_plugin
from branchwise.tools.plugins.declared import ToolPlugin
from branchwise.tools.plugins.foreign import ForeignTool
from branchwise.tools.plugins.plugged import FunctionTool, PluggedTool


def open_tool(spec: str, context: InjectionContext) -> PluggedTool:
    """The tool that a spec names, with its settings and injected parameters.

    Raises InputError if there is none, its settings do not fit, or it needs a missing corpus or
    graph.
    """
    found = find_tool(spec)
    if isinstance(found.object, ToolPlugin):
        return _function_tool(found.object, found, context)
    tool = ForeignTool.of(found.object, found.source)
    check_settings(tool.name, None, context.settings.get(tool.name))
    _check_schema(tool, spec)
    return tool


def find_tool(spec: str) -> LoadedPlugin:
    """What a spec names: a `ToolPlugin` or a LangChain tool. Raises InputError."""
    found = find_plugin(spec, "tools")
    place = spec if is_plugin(spec) else f"{spec} ({found.source.place})"
    return LoadedPlugin(made(found.object, "tools", place), found.source)


def _function_tool(
    plugin: ToolPlugin, found: LoadedPlugin, context: InjectionContext
) -> FunctionTool:
    return FunctionTool(
        name=plugin.name,
        description=plugin.description,
        args_schema=dict(plugin.signature.schema),
        response_format="content_and_artifact",
        source=found.source,
        section=plugin.section,
        seconds=plugin.seconds,
        render=plugin.render,
        plugin=plugin,
        filled=fill(plugin, context),
    )


def _check_schema(tool: ForeignTool, spec: str) -> None:
    """Refuse, before any work, a LangChain tool that cannot be described to a model."""
    from langchain_core.utils.function_calling import convert_to_openai_tool

    try:
        convert_to_openai_tool(tool)
    except Exception as error:  # noqa: BLE001 - anyone's class
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the tool {tool.name} cannot be described to a model: {first}",
            where=spec,
            remedy="give it an args_schema that JSON has",
        ) from None
