"""Query expansion: the question's readings, written by one model call, go into the prompt.

The expander chooses among what is found for the names in the question, where there are tools to
look with (`--readings-from`).
"""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.graphs.ledger import EXPANDER
from branchwise.graphs.module_call import ask_module
from branchwise.graphs.readings import Readings, read_readings
from branchwise.graphs.reduce import StateUpdate, expanded
from branchwise.graphs.state import AgentState, GraphNode, ItemContext
from branchwise.graphs.title_list import expander_message, namesakes
from branchwise.graphs.title_search import TitleSearcher
from branchwise.trace.events import Expansion

PROMPTS = frozenset({"expander", "expander_with_titles"})
"""What an expander reads: where nothing was found, the first."""


def make_expand_node(
    caller: ModelCaller,
    prompts: Prompts,
    readings_prompt: str,
    searcher: TitleSearcher | None = None,
) -> GraphNode:
    """The node `expand`: the first user message gets the readings at its end.

    `readings_prompt` names the prompt file that presents them. If there are fewer than two, or the
    call failed, the question is asked unchanged. `searcher` looks for the names in the question
    before the expander is asked.
    """

    async def expand(state: AgentState, runtime: Runtime[ItemContext]) -> StateUpdate:
        context = runtime.context
        looked = await searcher.look(context) if searcher else ()
        listed = namesakes(context.question, looked)
        system = prompts.render("expander_with_titles" if listed else "expander")
        asked = expander_message(context.question, listed) if listed else context.question
        said = await ask_module(caller, EXPANDER, system, asked, context)
        context.waited += said.waited
        found = Readings() if said.error else read_readings(said.text)
        nothing = "failed" if said.error else "none"
        expansion = Expansion(
            question=context.question,
            looked=looked,
            readings=tuple(found.kept),
            dropped=found.dropped,
            how="readings" if found.kept else nothing,
            text=said.text,
            **said.facts,
        )
        context.event(expansion)
        return expanded(expansion, state, shown_readings(prompts, readings_prompt, found.kept))

    return expand


def shown_readings(prompts: Prompts, readings_prompt: str, readings: Sequence[str]) -> str:
    """The readings as the agent sees them."""
    listed = "\n".join(f"- {reading}" for reading in readings)
    return prompts.render(readings_prompt, readings=listed)
