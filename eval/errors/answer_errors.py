"""What can go wrong with an item, named after what happened, in the classes of DeepAmbigQA.

The classes are those of its error analysis (Ji et al. 2025, arXiv:2511.01323, Figure 3). An item
may be of several types, and so of several classes. Where ours hold more, or less, than the paper's
sentence about a class says, the class by that sentence is counted beside it.
"""

from collections.abc import Callable

from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, Label, LostAt


def _labelled(label: Label, key: str, words: str, title: str = "") -> ErrorType[ItemErrors]:
    """The type of an item with a label; its title is the label's words where none is given."""
    return ErrorType(key, title or label.words, words, lambda errors: label in errors.labels)


def _lost_at(place: LostAt, key: str, words: str, title: str) -> ErrorType[ItemErrors]:
    return ErrorType(
        key, title, words, lambda errors: any(a.lost_at == place for a in errors.missing)
    )


def _is_wrong_in_evidence(errors: ItemErrors) -> bool:
    """Without a trace it is unknown what the evidence mentions."""
    return errors.traced and any(answer.label is None for answer in errors.wrong)


def _published(key: str, words: str, count: Callable[[ItemErrors], int]) -> ErrorType[ItemErrors]:
    """A class by the paper's sentence, of which nothing can be known without a trace."""
    return ErrorType(
        f"{key}_paper",
        "by the paper",
        words,
        lambda errors: count(errors) > 0 if errors.traced else None,
    )


ANSWER_ERRORS: ErrorClasses[ItemErrors] = ErrorClasses(
    (
        ErrorClass(
            "extraction",
            "incomplete extraction",
            (
                _labelled(
                    Label.INCOMPLETE_EXTRACTION, "not_retrieved", "an answer was never retrieved"
                ),
                _labelled(Label.NOT_IN_CORPUS, "not_in_corpus", "an answer is not in the corpus"),
                _labelled(
                    Label.MISSING_BRANCH,
                    "branch_not_retrieved",
                    "nothing of a branch was retrieved",
                ),
                _lost_at(
                    "extraction",
                    "lost_in_extraction",
                    "an answer was lost in extraction",
                    "lost in extraction",
                ),
            ),
            _published(
                "extraction",
                "an answer is nowhere in what was retrieved",
                lambda errors: errors.unmentioned,
            ),
        ),
        ErrorClass(
            "reasoning",
            "incorrect reasoning",
            (
                _lost_at(
                    "agent",
                    "left_out",
                    "an answer was retrieved, but left out by the agent",
                    "left out",
                ),
                _labelled(
                    Label.WRONG_BRANCH, "wrong_branch", "a right answer under the wrong branch"
                ),
                _labelled(
                    Label.AMBIGUOUS_ANSWER,
                    "ambiguous",
                    "a name of several answers that does not say which",
                ),
                ErrorType(
                    "wrong_in_evidence",
                    "wrong, in evidence",
                    "a wrong answer that the evidence mentions",
                    _is_wrong_in_evidence,
                ),
                _labelled(
                    Label.UNSUPPORTED_ANSWER,
                    "unsupported",
                    "a wrong answer that no evidence mentions",
                    "wrong, unsupported",
                ),
            ),
            _published(
                "reasoning",
                "an answer is in what was retrieved, and not in the answer",
                lambda errors: errors.unanswered,
            ),
        ),
        ErrorClass(
            "tool_call",
            Label.WRONG_TOOL_CALL.words,
            (
                _labelled(
                    Label.WRONG_TOOL_CALL,
                    "wrong_tool_call",
                    "a tool call brought nothing",
                    "brought nothing",
                ),
            ),
        ),
        ErrorClass(
            "other",
            "other",
            (
                _labelled(
                    Label.PERHAPS_STATED,
                    "perhaps_stated",
                    "an answer was mentioned, perhaps not stated",
                    "perhaps stated",
                ),
                _lost_at(
                    "node", "taken_out", "an answer was taken out by a node", "taken out by a node"
                ),
                _lost_at(
                    "repair",
                    "unreadable",
                    "an answer was in a text that could not be read",
                    "unreadable",
                ),
                _labelled(Label.FORMAT_ERROR, "format_error", "the answer could not be read"),
                _labelled(Label.CUT_REPLY, "cut_reply", "a reply was cut at the token limit"),
                _labelled(Label.BUDGET_SPENT, "budget_spent", "the budget was spent"),
                ErrorType(
                    "failed", "failed", "the item failed", lambda errors: errors.error is not None
                ),
            ),
        ),
    ),
    (
        "Incomplete extraction: the agent was not given an answer; incorrect reasoning: it left "
        "out one that it had, or gave a wrong one; wrong tool call: a call brought nothing; other: "
        "none of these.",
        "By the paper, as DeepAmbigQA's sentences say (arXiv:2511.01323, Figure 3): extraction: an "
        "answer is nowhere in what was retrieved; reasoning: it is, and under no key of the "
        "answer.",
    ),
)
"""The paper's classes in the order of an answer's way, then what none of them covers."""
