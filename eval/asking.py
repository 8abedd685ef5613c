"""Asking one question outside a run."""

from branchwise.agents.journal import Journal, MemoryJournal
from branchwise.agents.restraints import Restraints
from branchwise.corpora.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.eval.store.recordings import open_recordings
from branchwise.eval.tasks import DEFAULT
from branchwise.eval.tasks.protocols import flow_of
from branchwise.graphs.agent import Agent, Outcome
from branchwise.graphs.system import System


def agent_to_ask(system: System, restraints: Restraints) -> Agent:
    """The agent of a system, which answers one question or several. Raises InputError."""
    flow = flow_of(DEFAULT, system)
    agent = Agent(system, flow, restraints=restraints, recordings=open_recordings)
    agent.check_settings()
    return agent


def check_question(question: str) -> None:
    """Raise InputError for a question without a text."""
    if not question.strip():
        raise InputError("the question is empty", remedy="put it in quotes after `branchwise ask`")


async def ask_agent(agent: Agent, question: str, journal: Journal | None = None) -> Outcome:
    """Ask and close the agent. Raises ModelError where the model cannot be had."""
    # A shell may pass bytes that are not text; no model server accepts them.
    text = question.encode(errors="surrogateescape").decode(errors="replace")
    asked = Question(id="ask", question=text)
    brief = DEFAULT.brief(asked, has_tools=bool(agent.tools))
    try:
        return await agent.answer(brief, journal or MemoryJournal())
    finally:
        await agent.aclose()
