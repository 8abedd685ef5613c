"""A system answers one question: an item of a run, or one that is asked alone."""

import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.agents.journal import Journal, MemoryJournal
from branchwise.agents.outages import PassEndedError
from branchwise.agents.reply import ModelError
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError
from branchwise.base.text import one_line, whole_characters
from branchwise.corpora.questions import Question
from branchwise.eval.tasks import DEFAULT, Task, task_that_asks_back
from branchwise.eval.tasks.registry import flow_of
from branchwise.graphs.ledger import Ledger
from branchwise.graphs.own_settings import PROTOCOL
from branchwise.graphs.pipeline import Person
from branchwise.graphs.system import System
from branchwise.runs.store import StoreError
from branchwise.runs.store.recordings import open_recordings
from branchwise.trace.events import Error, Event

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent
    from branchwise.graphs.outcome import Outcome


MAX_ERROR_CHARS = 1000
HasAnswers = Callable[[], Awaitable[bool]]
"""Whether any item of a part has been answered in this pass."""


@dataclass(frozen=True)
class Answering:
    """One system answers items, in whichever process; `name`: the part's."""

    agent: "Agent"
    task: Task
    name: str
    has_answers: HasAnswers

    async def record_of(
        self, question: Question, journal: Journal, opening: Sequence[Event] = ()
    ) -> dict[str, Any]:
        """Answer a question, and say how it ended. Raises StoreError and PassEndedError."""
        ledger, agent = Ledger(), self.agent
        brief = self.task.brief(question, has_tools=bool(agent.tools), system=agent.system)
        try:
            return outcome_record(await agent.answer(brief, journal, ledger, opening), ledger)
        except (StoreError, PassEndedError):
            raise
        except ModelError as error:
            # All others would end so, too: a refused key, no credit left, or a model, path or
            # permission that is missing while nothing has been answered yet.
            is_refused = error.kind == "auth" and error.status == 401
            is_hopeless = error.kind == "credit" or is_refused
            if is_hopeless or (error.is_everywhere and not await self.has_answers()):
                name = f"{self.name}: " if self.name else ""
                raise PassEndedError(f"{name}{error}") from error
            journal.event(*Error(kind=error.kind, message=str(error)).written())
            return error_record(error, ledger)
        except Exception as error:  # noqa: BLE001 - one item's failure must not end the others
            where = whole_characters(traceback.format_exc(limit=-3))
            journal.event(*Error(kind=type(error).__name__, message=where[-4000:]).written())
            return error_record(error, ledger)


def status_of(record: Mapping[str, Any]) -> str:
    return "done" if record["error"] is None else "failed"


def outcome_record(outcome: "Outcome", ledger: Ledger) -> dict[str, Any]:
    """An item that was answered (perhaps with a format error, which `how` = failed says)."""
    return {
        "prediction": outcome.prediction.model_dump(mode="json"),
        "how": outcome.how,
        "problem": outcome.problem,
        "evidence": list(outcome.evidence),
        "turns": outcome.spent.turns,
        "calls": outcome.spent.calls,
        "tokens": outcome.spent.tokens,
        "usage": ledger.record(),
        "seconds": round(outcome.seconds, 3),
        "error": None,
    }


def error_record(error: BaseException, ledger: Ledger) -> dict[str, Any]:
    """An item that could not be answered: it counts 0, and what its calls cost is kept."""
    kind = getattr(error, "kind", type(error).__name__)
    message = one_line(_words(error))[:MAX_ERROR_CHARS]
    return {
        "prediction": {},
        "how": "failed",
        "problem": None,
        "evidence": [],
        "usage": ledger.record(),
        "error": f"{kind}: {message}",
    }


def _words(error: BaseException) -> str:
    try:
        return whole_characters(str(error))
    except Exception:  # noqa: BLE001 - plug-ins and models may raise any exception
        return "(an error without words)"


def agent_to_ask(system: System, restraints: Restraints, *, clarify: bool = False) -> "Agent":
    """The agent that answers a question; with `clarify` one that asks which reading is meant."""
    from branchwise.graphs.agent import Agent

    task = task_that_asks_back() if clarify else DEFAULT
    flow = flow_of(task, system)
    flow = task.live.by(system.asked(PROTOCOL)) if clarify and task.live else flow
    agent = Agent(system, flow, restraints=restraints, recordings=open_recordings)
    agent.check_settings()
    return agent


def check_question(question: str) -> None:
    if not question.strip():
        raise InputError("the question is empty", remedy="put it in quotes after `branchwise ask`")


async def ask_agent(
    agent: "Agent", question: str, journal: Journal | None = None, person: Person | None = None
) -> "Outcome":
    """Ask and close the agent. `person`: who is asked back. Raises ModelError."""
    # A shell may pass bytes that are not text; no model server accepts them.
    text = question.encode(errors="surrogateescape").decode(errors="replace")
    brief = DEFAULT.brief(Question(id="ask", question=text), has_tools=bool(agent.tools))
    try:
        return await agent.answer(brief, journal or MemoryJournal(), person=person)
    finally:
        await agent.aclose()
