"""The final record of an item, as the store keeps it."""

from typing import Any

from branchwise.corpora.text import one_line, whole_characters
from branchwise.graphs.agent import Outcome
from branchwise.graphs.ledger import Ledger

MAX_ERROR_CHARS = 1000


def outcome_record(outcome: Outcome, ledger: Ledger) -> dict[str, Any]:
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
    """An item that could not be answered: an empty prediction that counts 0, and why.

    What its calls had cost by then is kept: it was paid for.
    """
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
    except Exception:  # noqa: BLE001 - the exceptions of plug-ins and models are anyone's code
        return "(an error without words)"
