"""What can go wrong with an item, named after what happened, in the classes of DeepAmbigQA.

The classes are those of its error analysis (Ji et al. 2025, arXiv:2511.01323, Figure 3). An item
may be of several types, and so of several classes. Where ours hold more, or less, than the paper's
sentence about a class says, the class by that sentence is counted beside it.
"""

from collections.abc import Callable

from branchwise.eval.errors.item_errors import ItemErrors
from branchwise.eval.errors.labels import ErrorClass, ErrorClasses, ErrorType, Label, LostAt


def _labelled(label: Label) -> Callable[[ItemErrors], bool]:
    return lambda errors: label in errors.labels


def _lost_at(place: LostAt) -> Callable[[ItemErrors], bool]:
    return lambda errors: any(answer.lost_at == place for answer in errors.missing)


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
                ErrorType(
                    "not_retrieved",
                    Label.INCOMPLETE_EXTRACTION.words,
                    "an answer was never retrieved",
                    _labelled(Label.INCOMPLETE_EXTRACTION),
                ),
                ErrorType(
                    "not_in_corpus",
                    Label.NOT_IN_CORPUS.words,
                    "an answer is not in the corpus",
                    _labelled(Label.NOT_IN_CORPUS),
                ),
                ErrorType(
                    "branch_not_retrieved",
                    Label.MISSING_BRANCH.words,
                    "nothing of a branch was retrieved",
                    _labelled(Label.MISSING_BRANCH),
                ),
                ErrorType(
                    "lost_in_extraction",
                    "lost in extraction",
                    "an answer was lost in extraction",
                    _lost_at("extraction"),
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
                ErrorType(
                    "left_out",
                    "left out",
                    "an answer was retrieved, but left out by the agent",
                    _lost_at("agent"),
                ),
                ErrorType(
                    "wrong_branch",
                    Label.WRONG_BRANCH.words,
                    "a right answer under the wrong branch",
                    _labelled(Label.WRONG_BRANCH),
                ),
                ErrorType(
                    "ambiguous",
                    Label.AMBIGUOUS_ANSWER.words,
                    "a name of several answers that does not say which",
                    _labelled(Label.AMBIGUOUS_ANSWER),
                ),
                ErrorType(
                    "wrong_in_evidence",
                    "wrong, in evidence",
                    "a wrong answer that the evidence mentions",
                    _is_wrong_in_evidence,
                ),
                ErrorType(
                    "unsupported",
                    "wrong, unsupported",
                    "a wrong answer that no evidence mentions",
                    _labelled(Label.UNSUPPORTED_ANSWER),
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
                ErrorType(
                    "wrong_tool_call",
                    "brought nothing",
                    "a tool call brought nothing",
                    _labelled(Label.WRONG_TOOL_CALL),
                ),
            ),
        ),
        ErrorClass(
            "other",
            "other",
            (
                ErrorType(
                    "perhaps_stated",
                    "perhaps stated",
                    "an answer was mentioned, perhaps not stated",
                    _labelled(Label.PERHAPS_STATED),
                ),
                ErrorType(
                    "taken_out",
                    "taken out by a node",
                    "an answer was taken out by a node",
                    _lost_at("node"),
                ),
                ErrorType(
                    "unreadable",
                    "unreadable",
                    "an answer was in a text that could not be read",
                    _lost_at("repair"),
                ),
                ErrorType(
                    "format_error",
                    Label.FORMAT_ERROR.words,
                    "the answer could not be read",
                    _labelled(Label.FORMAT_ERROR),
                ),
                ErrorType(
                    "cut_reply",
                    Label.CUT_REPLY.words,
                    "a reply was cut at the token limit",
                    _labelled(Label.CUT_REPLY),
                ),
                ErrorType(
                    "budget_spent",
                    Label.BUDGET_SPENT.words,
                    "the budget was spent",
                    _labelled(Label.BUDGET_SPENT),
                ),
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
