"""Which graph a system's questions go through: that of their flow, or a design around it.

Light, as flows are: a design imports LangGraph when its graph is built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from branchwise.base.errors import FLAGS, SettingError, SettingNames
from branchwise.graphs.flows import Flow, GraphParts
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph

MERGE_PROMPT = "merge_tries"


def designed(flow: Flow, system: System, words: SettingNames = FLAGS) -> Flow:
    """The flow by which the system asks a flow's questions. `words`: what a refusal calls settings.
    Raises SettingError for several tries without a merge, a merge of one, and a design around what
    is not one conversation whose answers are texts by branch."""
    if (system.tries > 1) != (system.merge is not None):
        idle, needed, value = ("tries", "merge", "union") if system.tries > 1 else _OF_ONE_TRY
        raise SettingError(
            idle,
            f"has no effect without {words.name(needed)}",
            where=words.name(idle),
            remedy=f"{words.add(needed, value)}, or leave out {words.name(idle)}",
        )
    for setting, design in DESIGNS.items():
        if not getattr(system, setting):
            continue
        if flow.graph or flow.stages or not flow.format.by_branch:
            raise SettingError(
                setting,
                f"{flow.name} is not answered in one conversation, by branch",
                where=words.name(setting),
                remedy="leave it out, or ask questions of another task or protocol",
            )
        return design(flow, system)
    return flow


_OF_ONE_TRY = ("merge", "tries", "3")


@dataclass(frozen=True)
class Tries:
    """Several conversations about a question and their merge, as a graph's builder."""

    flow: Flow
    system: System

    @property
    def lists(self) -> Flow | None:
        """The flow of the conversation that lists the answers of all tries, where there is one: the
        task's own, as it is answered without tools."""
        if self.system.merge != "list":
            return None
        own = self.flow.prompts
        prompts = {**own, "direct": own.get("direct") or own.get("given") or own["search"]}
        return replace(self.flow, prompts=prompts, readings="")

    def wrapped(self) -> Flow:
        lists = self.lists
        extra = {MERGE_PROMPT, lists.prompts["direct"]} if lists else set()
        return replace(
            self.flow,
            graph=self._build,
            stages=(self.flow,),
            own_prompts=self.flow.own_prompts | extra,
            conversations=self.system.tries + bool(lists),
        )

    def _build(self, parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
        from branchwise.graphs.tries import build_tries

        return build_tries(self, parts)


DESIGNS: Mapping[str, Callable[[Flow, System], Flow]] = MappingProxyType(
    {"merge": lambda flow, system: Tries(flow, system).wrapped()}
)
"""By the setting that asks for it, the flow around a flow."""
