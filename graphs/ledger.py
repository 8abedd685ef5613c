"""What an item's model calls cost, by role: kept even if the item fails."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from branchwise.agents.reply import BY_RESPONSES, Reply
from branchwise.trace.parts import Usage

AGENT, EXPANDER, EXTRACTOR, CHECKER = "agent", "expander", "extractor", "checker"


@dataclass(frozen=True)
class RoleUsage:
    """Model calls of one role: their number, tokens as servers count them, and seconds. `seconds`
    is the sum over the calls' own requests; concurrent calls count separately."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    seconds: float = 0.0
    written: int = 0

    def plus(self, usage: Usage, seconds: float) -> "RoleUsage":
        return RoleUsage(
            self.calls + 1,
            self.input + usage.input,
            self.output + usage.output,
            self.cached + usage.cached,
            self.reasoning + usage.reasoning,
            self.seconds + seconds,
            self.written + usage.written,
        )

    def record(self) -> dict[str, Any]:
        """JSON-serialisable; `written` only where something was."""
        record = {**vars(self), "seconds": round(self.seconds, 4)}
        if not self.written:
            del record["written"]
        return record


class Ledger:
    """Model calls of one item by role (`agent`, its repairs included, and those of modules).
    Replayed calls count like others: they were paid for once. The fields that requests lacked,
    because the server refuses them, are kept beside the cost."""

    def __init__(self) -> None:
        self._roles: dict[str, RoleUsage] = {}
        self._left_out: dict[str, dict[str, None]] = {}
        self._remarks: dict[str, Counter[str]] = {}

    def charge(self, role: str, reply: Reply) -> None:
        self.count(role, reply.usage, reply.seconds)
        if reply.api == "responses":
            self.remark(role, BY_RESPONSES)
        if reply.left_out:
            self._left_out.setdefault(role, {}).update(dict.fromkeys(reply.left_out))

    def remark(self, role: str, words: str) -> None:
        """Count a reply of which this is to be told."""
        self._remarks.setdefault(role, Counter())[words] += 1

    def count(self, role: str, usage: Usage, seconds: float) -> None:
        self._roles[role] = self._roles.get(role, RoleUsage()).plus(usage, seconds)

    @property
    def roles(self) -> Mapping[str, RoleUsage]:
        return dict(self._roles)

    def record(self) -> dict[str, dict[str, Any]]:
        """As an item's outcome keeps it under `usage`: JSON-serialisable, by role. `left_out` is
        present if the role's requests lacked a field, `remarks` with the number of replies for each
        if there is something to tell of them."""
        return {
            role: {
                **usage.record(),
                **({"left_out": list(self._left_out[role])} if role in self._left_out else {}),
                **({"remarks": dict(self._remarks[role])} if role in self._remarks else {}),
            }
            for role, usage in self._roles.items()
        }
