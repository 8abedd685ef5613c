"""What happens beside the conversation, each in one line; in full by its fields."""

from collections.abc import Callable, Iterator
from typing import Any

from branchwise.agents.refusals import INSTEAD
from branchwise.base.text import counted
from branchwise.report.terminal.step_text import begun, short
from branchwise.trace.events import (
    BudgetSpent,
    Compacted,
    ContextTrimmed,
    Error,
    LeftOut,
    Remark,
    Repair,
    RepairFailed,
    Retry,
)
from branchwise.ui.steps.words import B, EventWords, says


def _declare(kind: type[B], word: str, deeds: Callable[[B], str]) -> None:
    """Declare the one line of a kind of event: the word that begins it, what happened."""

    class Incident(EventWords[Any]):
        def lines(self, body: Any, most: int) -> Iterator[str]:
            yield begun(word, deeds(body))

    says(kind)(Incident)


def _retry(body: Retry) -> str:
    wait = "" if body.wait is None else f", trying again in {body.wait:.1f} s"
    return f"{body.kind}: {short(body.message)}{wait}"


def _left_out(body: LeftOut) -> str:
    instead = f" ({INSTEAD[body.field]})" if body.field in INSTEAD else ""
    role = f"{body.role}: " if body.role != "agent" else ""
    return f"{role}asked without {body.field}{instead}: {short(body.message)}"


def _trimmed(body: ContextTrimmed) -> str:
    return f"too long for the model: {body.newly} oldest tool results left out"


def _compacted(body: Compacted) -> str:
    results = counted(body.newly, "tool result")
    return f"{results} became titles and sentences: {body.tokens:,} tokens before"


_declare(BudgetSpent, "budget", lambda body: f"spent: {body.reason}; told to answer")
_declare(Compacted, "context", _compacted)
_declare(ContextTrimmed, "context", _trimmed)
_declare(Retry, "retry", _retry)
_declare(LeftOut, "model", _left_out)
_declare(Remark, "model", lambda body: f"{body.role}: a reply {short(body.message)}")
_declare(Repair, "repair", lambda body: f"the answer could not be read: {short(body.problem)}")
_declare(RepairFailed, "repair", lambda body: f"failed: {body.error}: {short(body.message)}")
_declare(Error, "error", lambda body: f"{body.kind}: {short(body.message)}")
