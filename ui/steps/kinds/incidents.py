"""What happens beside the conversation, each in one line; in full by its fields."""

from collections.abc import Iterator

from branchwise.agents.refusals import INSTEAD
from branchwise.report.terminal.step_text import begun, short
from branchwise.trace.events import (
    BudgetSpent,
    ContextTrimmed,
    Error,
    LeftOut,
    Remark,
    Repair,
    RepairFailed,
    Retry,
)
from branchwise.ui.steps.words import EventWords, says


@says(BudgetSpent)
class _Budget(EventWords[BudgetSpent]):
    def lines(self, body: BudgetSpent, most: int) -> Iterator[str]:
        yield begun("budget", f"spent: {body.reason}; told to answer")


@says(ContextTrimmed)
class _Trimmed(EventWords[ContextTrimmed]):
    def lines(self, body: ContextTrimmed, most: int) -> Iterator[str]:
        omitted = f"{body.newly} oldest tool results left out"
        yield begun("context", f"too long for the model: {omitted}")


@says(Retry)
class _Retry(EventWords[Retry]):
    def lines(self, body: Retry, most: int) -> Iterator[str]:
        wait = "" if body.wait is None else f", trying again in {body.wait:.1f} s"
        yield begun("retry", f"{body.kind}: {short(body.message)}{wait}")


@says(LeftOut)
class _LeftOut(EventWords[LeftOut]):
    def lines(self, body: LeftOut, most: int) -> Iterator[str]:
        instead = f" ({INSTEAD[body.field]})" if body.field in INSTEAD else ""
        role = f"{body.role}: " if body.role != "agent" else ""
        said = f"{role}asked without {body.field}{instead}: {short(body.message)}"
        yield begun("model", said)


@says(Remark)
class _Remark(EventWords[Remark]):
    def lines(self, body: Remark, most: int) -> Iterator[str]:
        yield begun("model", f"{body.role}: a reply {short(body.message)}")


@says(Repair)
class _Repair(EventWords[Repair]):
    def lines(self, body: Repair, most: int) -> Iterator[str]:
        yield begun("repair", f"the answer could not be read: {short(body.problem)}")


@says(RepairFailed)
class _RepairFailed(EventWords[RepairFailed]):
    def lines(self, body: RepairFailed, most: int) -> Iterator[str]:
        yield begun("repair", f"failed: {body.error}: {short(body.message)}")


@says(Error)
class _Error(EventWords[Error]):
    def lines(self, body: Error, most: int) -> Iterator[str]:
        yield begun("error", f"{body.kind}: {short(body.message)}")
