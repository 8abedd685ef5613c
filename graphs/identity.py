"""Everything that a system's answers depend on: the settings, models, sources, tools and prompts
that it uses."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.base.setting import digested
from branchwise.graphs.budget_words import PROMPTS as BUDGET_PROMPTS
from branchwise.graphs.expand_node import PROMPTS as EXPANDER_PROMPTS
from branchwise.graphs.flows import GraphParts
from branchwise.graphs.sources import OpenSources
from branchwise.graphs.system import System, all_settings
from branchwise.tools.plugin_tools import PluggedTool
from branchwise.tools.registry import sections


def identity_of(system: System, parts: GraphParts, sources: OpenSources) -> Mapping[str, Any]:
    """JSON-serialisable, free of paths and keys."""
    flow = parts.flow
    return {
        **({"kg": sources.kg.identity()} if sources.kg else {}),
        **({"nodes": [node.identity for node in parts.plugins]} if parts.plugins else {}),
        **parts.models.identity,
        "budget": digested(system.budget),
        "prompts": parts.prompts.digest_of(_used_prompts(system, parts)),
        "tools": [_tool_identity(tool) for tool in parts.tools],
        "retriever": dict(sources.retriever.identity) if sources.retriever else None,
        "format": flow.format.name,
        **({"flow": flow.name} if flow.graph else {}),
        **_own_settings(system),
    }


def digest_of(identity: Mapping[str, Any]) -> str:
    """The SHA-256 of an identity."""
    return hashlib.sha256(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _tool_identity(tool: BaseTool) -> Mapping[str, Any]:
    schema = convert_to_openai_tool(tool)
    if isinstance(tool, PluggedTool):
        return {**schema, "plugin": dict(tool.plugin_identity)}
    return schema


def _own_settings(system: System) -> Mapping[str, Any]:
    """The system's own settings whose values answers depend on, where their module is on."""
    return {
        one.name: system.asked(one.name) if one.setting.of_task else getattr(system, one.name)
        for one in all_settings()
        if len(one.path) == 1
        and one.setting.changes == "answers"
        and (one.setting.module is None or getattr(system, one.setting.module))
    }


def _used_prompts(system: System, parts: GraphParts) -> set[str]:
    """Prompts that answers may depend on."""
    flow = parts.flow
    settings = {"search"} if parts.tools else {"given", "direct"}
    stages = flow.stages or (flow,)
    names = {name for one in stages for kind, name in one.prompts.items() if kind in settings}
    names |= {*(one.format.repair for one in stages), *flow.own_prompts}
    names |= {name for section in flow.sections(system) for name in section.names}
    if parts.tools:
        tools = [tool.name for tool in parts.tools]
        names |= {"text_protocol", "budget_spent", *sections(tools, system.prompt_set)}
        names |= BUDGET_PROMPTS if parts.shows_budget else set()
    return names | _module_prompts(parts)


def _module_prompts(parts: GraphParts) -> set[str]:
    names: set[str] = set()
    if parts.models.expander:
        names |= EXPANDER_PROMPTS if parts.searcher else {"expander"}
        names |= {one.readings for one in parts.flow.stages or (parts.flow,)}
    if parts.models.extractor:
        names |= {"extractor"}
        names |= {"extractor_several"} if parts.extracts_by == "search" else set()
    return names
