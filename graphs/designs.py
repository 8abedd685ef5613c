"""Which graph a system's questions go through: that of their flow, or a design around it.

Light, as flows are: a design imports LangGraph when its graph is built.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from branchwise.base.errors import FLAGS, SettingError, SettingNames
from branchwise.graphs.flows import Flow, GraphParts
from branchwise.graphs.list_replies import MAX_READINGS
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from branchwise.graphs.flows import AgentGraph

MERGE_PROMPT = "merge_tries"


def designed(flow: Flow, system: System, words: SettingNames = FLAGS) -> Flow:
    """The flow by which the system asks a flow's questions. `words`: what a refusal calls settings.
    Raises SettingError for several tries without a merge, two designs, and a design around what is
    not one conversation whose answers are texts by branch, or by reading."""
    if system.tries and system.merge is None:
        raise SettingError(
            "tries",
            f"has no effect without {words.name('merge')}",
            where=words.name("tries"),
            remedy=f"{words.add('merge', 'union')}, or leave out {words.name('tries')}",
        )
    setting = next((name for name in DESIGNS if getattr(system, name)), None)
    if setting is None:
        return flow
    if system.fan_out and system.tries:
        raise SettingError(
            "fan_out",
            f"does not go with {words.name('tries')}: a question has one design",
            where=words.name("fan_out"),
            remedy=f"leave out one of {words.name('fan_out')} and {words.name('tries')}",
        )
    is_whole = not flow.graph and not flow.stages and flow.format.by_branch
    if not is_whole or (setting == "fan_out" and not flow.reading):
        by = "reading" if setting == "fan_out" else "branch"
        raise SettingError(
            setting,
            f"{flow.name} is not answered in one conversation, by {by}",
            where=words.name(setting),
            remedy="leave it out, or ask questions of another task or protocol",
        )
    return DESIGNS[setting](flow, system)


@dataclass(frozen=True)
class SeveralTries:
    """Several conversations about a question and their merge, as a graph's builder."""

    flow: Flow
    system: System

    @property
    def tries(self) -> int:
        return self.system.tries or 1

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
            conversations=self.tries + bool(lists),
        )

    def _build(self, parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
        from branchwise.graphs.tries import build_tries

        return build_tries(self, parts)


def _fan_out(flow: Flow, system: System) -> Flow:
    """A conversation for each reading; a question without several is asked in one, as it stands."""

    def build(parts: GraphParts, start_at: str | None = None) -> "AgentGraph":
        from branchwise.graphs.fan_out import build_fan_out

        return build_fan_out(flow, parts, start_at)

    # What presents the readings together is never shown.
    own = flow.own_prompts | {flow.reading}
    return replace(
        flow, graph=build, leads=True, readings="", own_prompts=own, conversations=MAX_READINGS
    )


DESIGNS: Mapping[str, Callable[[Flow, System], Flow]] = MappingProxyType(
    {"fan_out": _fan_out, "tries": lambda flow, system: SeveralTries(flow, system).wrapped()}
)
"""By the setting that asks for it, the flow around a flow."""
