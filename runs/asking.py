"""Asking one question outside a run."""

from typing import TYPE_CHECKING

from branchwise.agents.journal import Journal, MemoryJournal
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import DEFAULT, task_that_asks_back
from branchwise.eval.tasks.registry import flow_of
from branchwise.graphs.own_settings import PROTOCOL
from branchwise.graphs.pipeline import Person
from branchwise.graphs.system import System
from branchwise.runs.store.recordings import open_recordings

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent, Outcome


def agent_to_ask(system: System, restraints: Restraints, *, clarify: bool = False) -> "Agent":
    """The agent of a system, which answers one question or several; with `clarify` one that asks
    which reading is meant. Raises InputError."""
    from branchwise.graphs.agent import Agent

    task = task_that_asks_back() if clarify else DEFAULT
    flow = flow_of(task, system)
    flow = task.live.by(system.asked(PROTOCOL)) if clarify and task.live else flow
    agent = Agent(system, flow, restraints=restraints, recordings=open_recordings)
    agent.check_settings()
    return agent


def check_question(question: str) -> None:
    """Raise InputError for a question without a text."""
    if not question.strip():
        raise InputError("the question is empty", remedy="put it in quotes after `branchwise ask`")


async def ask_agent(
    agent: "Agent", question: str, journal: Journal | None = None, person: Person | None = None
) -> "Outcome":
    """Ask and close the agent. `person`: who is asked back, in a flow that asks.

    Raises ModelError where the model cannot be had.
    """
    # A shell may pass bytes that are not text; no model server accepts them.
    text = question.encode(errors="surrogateescape").decode(errors="replace")
    asked = Question(id="ask", question=text)
    brief = DEFAULT.brief(asked, has_tools=bool(agent.tools))
    try:
        return await agent.answer(brief, journal or MemoryJournal(), person=person)
    finally:
        await agent.aclose()
