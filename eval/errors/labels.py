"""What errors are called: labels of single answers, and types in classes of a task.

Incomplete extraction, incorrect reasoning and wrong tool calls are the kinds that DeepAmbigQA names
in its error analysis (Ji et al. 2025, arXiv:2511.01323). Here they are computed from the trace, for
each answer. The others are our own. Several labels may hold for one question.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Literal, TypeVar

from branchwise.base.text import one_line

LostAt = Literal["agent", "extraction", "node", "repair"]
"""Who lost an answer that was retrieved: the agent that did not give it, the evidence extraction
that kept no span with it, a plug-in's node that took it out of what the agent saw or wrote, or the
repair of an answer that could not be read."""

CallFailure = Literal["arguments", "unknown_tool", "failed", "not_run"]
"""What is wrong with a tool call: its arguments do not fit, there is no such tool, the tool failed
(or refused, or took too long), or the budget was spent and it was not run."""


class Label(StrEnum):
    """A kind of error: its value for programs, its `words` wherever people read it.

    `definition` is also the member's docstring.
    """

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
        extraction, a plug-in's node or the repair. DeepAmbigQA (arXiv:2511.01323), error
        analysis.""",
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
    """What happened: its key in files, its heading in its class, what it says in a few words.

    `holds`: whether it happened to an item; None where that cannot be known.
    """

    key: str
    title: str
    words: str
    holds: Callable[[T_contra], bool | None]


@dataclass(frozen=True)
class ErrorClass(Generic[T_contra]):
    """Error types that belong together; an item of any of them is of the class.

    `published`: the class as the paper that it is of words it, where that is not the same; it is
    counted beside the class, and is none of its types.
    """

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
    """All classes of a task's errors, in the order in which they are read; `says`: what they mean,
    a line each."""

    classes: tuple[ErrorClass[T_contra], ...]
    says: tuple[str, ...]

    @property
    def types(self) -> tuple[ErrorType[T_contra], ...]:
        """Those of all classes."""
        return tuple(error for group in self.classes for error in group.types)

    @property
    def counted(self) -> tuple[ErrorType[T_contra], ...]:
        """The same, and the classes as papers word them."""
        return tuple(error for group in self.classes for error in group.counted)


@dataclass(frozen=True)
class FoundErrors:
    """An item (a question in one epoch): the keys of the error types that it has, those of papers
    among them, and of those of which it cannot be known."""

    id: str
    epoch: int
    ambiguous: bool
    found: frozenset[str]
    unknown: frozenset[str] = frozenset()


def found_errors(
    id: str, epoch: int, ambiguous: bool, classes: ErrorClasses[T_contra], known: T_contra
) -> FoundErrors:
    """The errors of an item by what is `known` of it."""
    holds = {error.key: error.holds(known) for error in classes.counted}
    found, unknown = (
        frozenset(key for key, value in holds.items() if value is wanted) for wanted in (True, None)
    )
    return FoundErrors(id, epoch, ambiguous, found, unknown)
