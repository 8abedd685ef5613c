"""Kinds of loss and error that reports count: each a name, what it says in words, and its count.

The kinds of a group add up to its total, so that a bar of them is whole.
"""

from collections.abc import Callable
from dataclasses import dataclass

from branchwise.eval.errors.item_errors import (
    SubsetTotals,
    items_with,
    missing_with,
    wrong_with,
    wrong_without_label,
)
from branchwise.eval.errors.labels import Label


@dataclass(frozen=True)
class LossKind:
    """A kind of loss or error: its key, what it says in a few words, its count in a subset.

    `row`: in words, where it stands alone in a row. `caution`: a sentence, to be told wherever
    there is any.
    """

    key: str
    words: str
    count: Callable[[SubsetTotals], int]
    row: str = ""
    caution: str = ""


def _all_traced(found: SubsetTotals) -> bool:
    return found.traced == found.items


PERHAPS = LossKind(
    "perhaps_stated",
    Label.PERHAPS_STATED.words,
    missing_with(Label.PERHAPS_STATED),
    caution="Mentioned, perhaps not stated, is an upper bound: gold names no supporting passages, "
    "and what was retrieved names the answer away from what is asked.",
)

_LOST_ON_THE_WAY = (
    LossKind("wrong_branch", "under the wrong branch", missing_with(Label.WRONG_BRANCH)),
    LossKind(
        "unreadable",
        "in an unreadable answer",
        lambda found: found.lost_at["repair"],
        "lost with an unreadable answer",
    ),
    LossKind(
        "left_out",
        "left out by the agent",
        lambda found: found.lost_at["agent"],
        "retrieved, left out by the agent",
    ),
    LossKind(
        "extraction",
        "lost in extraction",
        lambda found: found.lost_at["extraction"],
        "retrieved, lost in extraction",
    ),
    LossKind("node", "taken out by a node", lambda found: found.lost_at["node"]),
    PERHAPS,
    LossKind(
        "never_retrieved",
        Label.INCOMPLETE_EXTRACTION.words,
        missing_with(Label.INCOMPLETE_EXTRACTION),
    ),
    LossKind("not_in_corpus", Label.NOT_IN_CORPUS.words, missing_with(Label.NOT_IN_CORPUS)),
)

MISSING_KINDS = (
    *_LOST_ON_THE_WAY,
    LossKind(
        "unknown",
        "unknown",
        lambda found: found.missing - sum(kind.count(found) for kind in _LOST_ON_THE_WAY),
    ),
)
"""Where a missing gold answer was lost, from the end of its way to its beginning; each at one
place.

It is unknown of items that failed or have no trace.
"""

WRONG_KINDS = (
    LossKind("of_another_branch", "right under another branch", wrong_with(Label.WRONG_BRANCH)),
    LossKind("ambiguous", "the name of several answers", wrong_with(Label.AMBIGUOUS_ANSWER)),
    LossKind(
        "in_evidence",
        "read, but no answer",
        lambda found: wrong_without_label(found) if _all_traced(found) else 0,
        "in the evidence, but no answer",
    ),
    LossKind("unsupported", "nowhere in the evidence", wrong_with(Label.UNSUPPORTED_ANSWER)),
    LossKind(
        "unknown",
        "unknown",
        lambda found: 0 if _all_traced(found) else wrong_without_label(found),
    ),
)
"""Kinds of wrong answers; each is of one kind. Unknown if some of the items have no trace."""

ITEM_KINDS = (
    LossKind(
        "wrong_tool_call",
        "wrong tool calls",
        items_with(Label.WRONG_TOOL_CALL),
        "with wrong tool calls",
    ),
    LossKind(
        "format_error",
        Label.FORMAT_ERROR.words,
        items_with(Label.FORMAT_ERROR),
        "with a format error",
    ),
    LossKind(
        "cut_reply",
        "cut replies",
        items_with(Label.CUT_REPLY),
        "with a reply cut at the token limit",
    ),
    LossKind(
        "interrupted",
        Label.INTERRUPTED.words,
        items_with(Label.INTERRUPTED),
        "interrupted by the server",
    ),
    LossKind(
        "budget_spent",
        Label.BUDGET_SPENT.words,
        items_with(Label.BUDGET_SPENT),
        "with the budget spent",
    ),
    LossKind("failed", "failed", lambda found: found.failed),
)
"""What went wrong with an item as a whole; it may have several."""
