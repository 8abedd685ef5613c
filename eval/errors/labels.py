"""What errors are called: labels of single answers, and types in classes of a task.

Incomplete extraction, incorrect reasoning and wrong tool calls are the kinds that DeepAmbigQA names
in its error analysis (Ji et al. 2025, arXiv:2511.01323). Here they are computed from the trace, for
each answer, by `attribution.py`. The others are our own. Several labels may hold for one question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from branchwise.base.text import one_line

if TYPE_CHECKING:
    from branchwise.eval.errors.item_errors import ItemErrors

LostAt = Literal["agent", "extraction", "node", "repair", "dropped", "merge"]
"""Who lost an answer that was retrieved: the agent that did not give it, the evidence extraction
that kept no span with it, a plug-in's node that took it out of what the agent saw or wrote, or the
repair of an answer that could not be read. Dropped: an answer of the agent had it, which was sent
back, and its last answer has not. Merge: one of several tries had it."""

CallFailure = Literal["arguments", "unknown_tool", "failed", "not_run"]
"""What is wrong with a tool call: its arguments do not fit, there is no such tool, the tool failed
(or refused, or took too long), or the budget was spent and it was not run."""


class Label(StrEnum):
    """A kind of error: its value for programs, its `words` for people, and a `definition`."""

    words: str
    definition: str

    def __new__(cls, value: str, words: str = "", definition: str = "") -> "Label":
        member = str.__new__(cls, value)
        member._value_, member.words = value, words
        member.definition = member.__doc__ = one_line(definition)
        return member

    INCOMPLETE_EXTRACTION = (
        "incomplete_extraction",
        "never retrieved",
        """A gold answer is in no retrieved passage and in no tool row, so the agent could not
        read it. Where gold says which passages support it, only these count: it may be mentioned
        elsewhere. DeepAmbigQA (arXiv:2511.01323), error analysis.""",
    )
    PERHAPS_STATED = (
        "perhaps_stated",
        "mentioned, perhaps not stated",
        """A gold answer is named in a retrieved passage, gold does not say which passages support
        it, and what the question asks about does not stand beside it. With the answers that were
        retrieved but lost, an upper bound of these. Beyond DeepAmbigQA's error analysis.""",
    )
    NOT_IN_CORPUS = (
        "not_in_corpus",
        "not in the corpus",
        """Incomplete extraction of a gold answer that no search could have brought: no passage of
        the corpus supports it or, where gold does not say which do, mentions it, and no other tool
        is known to have it. A part of incomplete extraction in DeepAmbigQA (arXiv:2511.01323),
        error analysis; told apart here.""",
    )
    MISSING_BRANCH = (
        "missing_branch",
        "branch never retrieved",
        """Incomplete extraction of a whole branch: none of its gold answers was retrieved or
        predicted. Its answers keep their own label. A part of incomplete extraction in
        DeepAmbigQA (arXiv:2511.01323), error analysis; told apart here.""",
    )
    INCORRECT_REASONING = (
        "incorrect_reasoning",
        "retrieved but lost",
        """A gold answer was retrieved (or the agent wrote it in a text that could not be read)
        but is not in the answer; `lost_at` says who lost it: the agent, the evidence
        extraction, a plug-in's node, the repair, the agent when it was sent back and answered once
        more, or the merge of several tries. DeepAmbigQA (arXiv:2511.01323), error analysis.""",
    )
    WRONG_TOOL_CALL = (
        "wrong_tool_call",
        "wrong tool call",
        """A tool call brought nothing: its arguments did not fit, there is no such tool, it
        failed, or it was not run because the budget was spent. DeepAmbigQA (arXiv:2511.01323),
        error analysis.""",
    )
    WRONG_BRANCH = (
        "wrong_branch",
        "wrong branch",
        """A gold answer is predicted under a key that does not stand for its branch: the right
        entity, the wrong reading. Beyond DeepAmbigQA's error analysis.""",
    )
    AMBIGUOUS_ANSWER = (
        "ambiguous_answer",
        "ambiguous answer",
        """A predicted answer is the name of several gold entities of the question and does not say
        which of them it is. Beyond DeepAmbigQA's error analysis.""",
    )
    UNSUPPORTED_ANSWER = (
        "unsupported_answer",
        "unsupported answer",
        """A predicted answer is wrong and is mentioned nowhere in the evidence. Beyond
        DeepAmbigQA's error analysis.""",
    )
    FORMAT_ERROR = (
        "format_error",
        "format error",
        """The agent answered, but no answer could be read from its text, also after the repair.
        Beyond DeepAmbigQA's error analysis.""",
    )
    CUT_REPLY = (
        "cut_reply",
        "cut reply",
        """A reply of the agent was cut at the limit of tokens; what could be read of it counts.
        Beyond DeepAmbigQA's error analysis.""",
    )
    INTERRUPTED = (
        "interrupted",
        "broken off",
        """The question failed since its server broke the reply off, also when it was asked again.
        Beyond DeepAmbigQA's error analysis.""",
    )
    BUDGET_SPENT = (
        "budget_spent",
        "budget spent",
        """The agent was told to answer because its turns, calls, tokens or seconds were spent.
        Beyond DeepAmbigQA's error analysis.""",
    )


def label_words(value: str) -> str:
    """The words of a label; its value where this version does not know it."""
    return Label(value).words if value in {label.value for label in Label} else value


T_contra = TypeVar("T_contra", contravariant=True)
"""What is known of an item."""


@dataclass(frozen=True)
class ErrorType(Generic[T_contra]):
    """What happened: its key in files, its heading in its class, a few words, and whether it
    `holds` of an item; None where that cannot be known."""

    key: str
    title: str
    words: str
    holds: Callable[[T_contra], bool | None]


@dataclass(frozen=True)
class ErrorClass(Generic[T_contra]):
    """Error types that belong together; an item of any of them is of the class. `published`: the
    class as its paper words it, where that is not the same, counted beside the types."""

    key: str
    title: str
    types: tuple[ErrorType[T_contra], ...]
    published: ErrorType[T_contra] | None = None

    @property
    def counted(self) -> "tuple[ErrorType[T_contra], ...]":
        """Its types, then the class as the paper words it."""
        return (*self.types, *([self.published] if self.published else []))

    @property
    def shown(self) -> "tuple[ErrorClass[T_contra] | ErrorType[T_contra], ...]":
        """The class, then as the paper words it."""
        return (self, *([self.published] if self.published else []))


@dataclass(frozen=True)
class ErrorClasses(Generic[T_contra]):
    """A task's classes in the order in which they are read; `says`: what they mean, a line each."""

    classes: tuple[ErrorClass[T_contra], ...]
    says: tuple[str, ...]

    @property
    def types(self) -> tuple[ErrorType[T_contra], ...]:
        return tuple(error for group in self.classes for error in group.types)

    @property
    def counted(self) -> tuple[ErrorType[T_contra], ...]:
        """The same, and the classes as papers word them."""
        return tuple(error for group in self.classes for error in group.counted)


@dataclass(frozen=True)
class FoundErrors:
    """The keys of the error types that an item (a question in one epoch) has, those of papers among
    them, and of those of which it cannot be known."""

    id: str
    epoch: int
    ambiguous: bool
    found: frozenset[str]
    unknown: frozenset[str] = frozenset()


def found_errors(
    id: str, epoch: int, ambiguous: bool, classes: ErrorClasses[T_contra], known: T_contra
) -> FoundErrors:
    holds = {error.key: error.holds(known) for error in classes.counted}
    present, unknown = (
        frozenset(key for key, value in holds.items() if value is wanted) for wanted in (True, None)
    )
    return FoundErrors(id, epoch, ambiguous, present, unknown)


def _type(key: str, words: str, cause: Label | LostAt, title: str = "") -> "ErrorType[ItemErrors]":
    """The type of an item with a label, by default titled by its words, or with an answer that was
    lost there."""
    if isinstance(cause, Label):
        return ErrorType(key, title or cause.words, words, lambda errors: cause in errors.labels)
    return ErrorType(
        key, title, words, lambda errors: any(a.lost_at == cause for a in errors.missing)
    )


def _published(key: str, words: str, count: str) -> "ErrorType[ItemErrors]":
    """A class by the paper's sentence, of which nothing can be known without a trace."""
    return ErrorType(
        f"{key}_paper",
        "by the paper",
        words,
        lambda errors: getattr(errors, count) > 0 if errors.traced else None,
    )


_EXTRACTION = (
    _type("not_retrieved", "an answer was never retrieved", Label.INCOMPLETE_EXTRACTION),
    _type("not_in_corpus", "an answer is not in the corpus", Label.NOT_IN_CORPUS),
    _type("branch_not_retrieved", "nothing of a branch was retrieved", Label.MISSING_BRANCH),
    _type(
        "lost_in_extraction", "an answer was lost in extraction", "extraction", "lost in extraction"
    ),
)
_REASONING = (
    _type("left_out", "an answer was retrieved, but left out by the agent", "agent", "left out"),
    _type("dropped", "an answer was given, and dropped by a later answer", "dropped", "dropped"),
    _type("wrong_branch", "a right answer under the wrong branch", Label.WRONG_BRANCH),
    _type("ambiguous", "a name of several answers that does not say which", Label.AMBIGUOUS_ANSWER),
    ErrorType[Any](
        "wrong_in_evidence",
        "wrong, in evidence",
        "a wrong answer that the evidence mentions",
        # Without a trace it is unknown what the evidence mentions.
        lambda errors: errors.traced and any(answer.label is None for answer in errors.wrong),
    ),
    _type(
        "unsupported",
        "a wrong answer that no evidence mentions",
        Label.UNSUPPORTED_ANSWER,
        "wrong, unsupported",
    ),
)
_TOOL_CALL = _type(
    "wrong_tool_call", "a tool call brought nothing", Label.WRONG_TOOL_CALL, "brought nothing"
)
_OTHER = (
    _type(
        "perhaps_stated",
        "an answer was mentioned, perhaps not stated",
        Label.PERHAPS_STATED,
        "perhaps stated",
    ),
    _type("taken_out", "an answer was taken out by a node", "node", "taken out by a node"),
    _type("merged_away", "a try's answer was left out by the merge", "merge", "lost in the merge"),
    _type("unreadable", "an answer was in a text that could not be read", "repair", "unreadable"),
    _type("format_error", "the answer could not be read", Label.FORMAT_ERROR),
    _type("cut_reply", "a reply was cut at the token limit", Label.CUT_REPLY),
    _type("budget_spent", "the budget was spent", Label.BUDGET_SPENT),
    ErrorType[Any]("failed", "failed", "the item failed", lambda errors: errors.error is not None),
)
_EXTRACTION_PAPER = _published(
    "extraction", "an answer is nowhere in what was retrieved", "unmentioned"
)
_REASONING_PAPER = _published(
    "reasoning", "an answer is in what was retrieved, and not in the answer", "unanswered"
)

ANSWER_ERRORS: "ErrorClasses[ItemErrors]" = ErrorClasses(
    (
        ErrorClass("extraction", "incomplete extraction", _EXTRACTION, _EXTRACTION_PAPER),
        ErrorClass("reasoning", "incorrect reasoning", _REASONING, _REASONING_PAPER),
        ErrorClass("tool_call", Label.WRONG_TOOL_CALL.words, (_TOOL_CALL,)),
        ErrorClass("other", "other", _OTHER),
    ),
    (
        "Incomplete extraction: the agent was not given an answer; incorrect reasoning: it left "
        "out one that it had, or gave a wrong one; wrong tool call: a call brought nothing; other: "
        "what else went wrong. An item may have errors of several classes.",
        "By the paper, as DeepAmbigQA's sentences say (arXiv:2511.01323, Figure 3): extraction: an "
        "answer is nowhere in what was retrieved; reasoning: it is, and under no key of the "
        "answer.",
    ),
)
"""The paper's classes in the order of an answer's way, then what none of them covers. Where ours
hold more, or less, than the paper's sentence about a class says, it is counted beside."""
