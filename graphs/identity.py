"""Everything that a system's answers depend on: the settings, models, sources, tools and prompts
that it uses."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.prompt_files import SCORING_PROMPTS, SINCE_V2
from branchwise.agents.setting import digested
from branchwise.graphs.budget_words import PROMPTS as BUDGET_PROMPTS
from branchwise.graphs.expand_node import PROMPTS as EXPANDER_PROMPTS
from branchwise.graphs.flows import FLOWS, GraphParts
from branchwise.graphs.sources import OpenSources
from branchwise.graphs.system import System
from branchwise.tools.plugin_tools import PluggedTool
from branchwise.tools.registry import sections


def identity_of(system: System, parts: GraphParts, sources: OpenSources) -> Mapping[str, Any]:
    """JSON-serialisable, free of paths and keys."""
    flow = parts.flow
    return {
        **({"kg": sources.graph.identity()} if sources.graph else {}),
        **({"nodes": [node.identity for node in parts.plugins]} if parts.plugins else {}),
        **parts.models.identity,
        "budget": digested(system.budget),
        "prompts": parts.prompts.digest_of(_used_prompts(system, parts)),
        "tools": [_tool_identity(tool) for tool in parts.tools],
        "k": system.k,
        "retriever": dict(sources.retriever.identity) if sources.retriever else None,
        "format": flow.format.name,
        **({"flow": flow.name} if flow.graph else {}),
        **_later_settings(system, parts),
    }


def digest_of(identity: Mapping[str, Any]) -> str:
    """The SHA-256 of an identity."""
    return hashlib.sha256(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _tool_identity(tool: BaseTool) -> Mapping[str, Any]:
    schema = convert_to_openai_tool(tool)
    if isinstance(tool, PluggedTool):
        return {**schema, "plugin": dict(tool.plugin_identity)}
    return schema


def _later_settings(system: System, parts: GraphParts) -> Mapping[str, Any]:
    """Later settings that make a difference: without a search, readings are from memory."""
    idle = set() if parts.searcher else {"readings_from"}
    return {name: value for name, value in system.since.items() if name not in idle}


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
    names |= _module_prompts(parts)
    return names | _prompts_in_v1(parts) if parts.prompts.of == "v1" else names


def _module_prompts(parts: GraphParts) -> set[str]:
    names: set[str] = set()
    if parts.models.expander:
        names |= EXPANDER_PROMPTS if parts.searcher else {"expander"}
        names |= {one.readings for one in parts.flow.stages or (parts.flow,)}
    if parts.models.extractor:
        names |= {"extractor"}
        names |= {"extractor_several"} if parts.extracts_by == "search" else set()
    return names


def _prompts_in_v1(parts: GraphParts) -> set[str]:
    """What the digests of the first set's systems cover: also prompts of no use to them."""
    others = (flow.own_prompts for flow in FLOWS.values() if flow is not parts.flow)
    names = set(parts.prompts.texts) - SCORING_PROMPTS.union(SINCE_V2, *others)
    if parts.models.expander is None:
        names -= {"expander", *(flow.readings for flow in FLOWS.values())}
    return names if parts.models.extractor else names - {"extractor"}
