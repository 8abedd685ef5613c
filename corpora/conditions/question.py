"""A question with conditions as a `Question`: what of it stands where, and how it is read back.

Its passages are the documents, by the documents' ids; a passage's text has a sentence a line,
behind its number. What a passage does not say is the question's `meta`, which nothing else reads.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsAnswer,
    ConditionsDocument,
    ConditionsProblem,
    ConditionsSet,
    ExpressionError,
    QuestionKind,
    RelationKind,
    Scenario,
    StatedCondition,
    UnknownPart,
    parse_expression,
)
from branchwise.corpora.passages import Passage
from branchwise.corpora.questions import Question

BENCHMARK = "mdcr"
"""What `meta["benchmark"]` says."""
_MIXED = "offers"
_ASKED: Mapping[QuestionKind, str] = {
    "q1": "Can I get at least one of these {}?",
    "q2": "Can I get all of these {} together?",
    "q3": "What is the maximum number of these {} that I can get together?",
}


@dataclass(frozen=True)
class ConditionsQuestion:
    """What a question of this kind says.

    `scenario_text` and `asked` are its words. `lacks`: what its file does not say of it, which is
    then empty in `problem`, so that the answer does not follow from it. `relations_decide`: whether
    the gold answer would be another one if the documents' conditions were unrelated; None where
    that is not known.
    """

    id: str
    scenario: str
    scenario_text: str
    asked: str
    problem: ConditionsProblem
    gold: ConditionsAnswer
    relations_decide: bool | None
    lacks: tuple[UnknownPart, ...] = ()

    @property
    def domain(self) -> str:
        """What all of its documents offer, or "mixed"."""
        domains = {document.domain for document in self.problem.documents}
        return domains.pop() if len(domains) == 1 else "mixed"

    @classmethod
    def of(cls, question: Question) -> "ConditionsQuestion":
        """Raises InputError for a question of another kind, or one that was changed since."""
        try:
            meta = _Meta.model_validate(question.meta)
            return _read(question, meta)
        except ValidationError as error:
            problem = first_problem(error)
        except (ExpressionError, KeyError, ValueError) as error:
            problem = str(error)
        raise _other_kind(question, problem)


def gold_answer(question: Question) -> ConditionsAnswer:
    """The gold answer alone, also of a question that was read without its passages.

    Raises InputError for a question of another kind.
    """
    try:
        gold = _GoldMeta.model_validate(question.meta.get("gold"))
    except ValidationError as error:
        raise _other_kind(question, first_problem(error)) from None
    return ConditionsAnswer(gold.short, tuple(map(tuple, gold.groups)))


def unknown_parts(question: Question) -> tuple[UnknownPart, ...]:
    """What its file does not say of it (`ConditionsQuestion.lacks`), without reading the rest.

    Raises InputError for a question of another kind.
    """
    try:
        return _OutlineMeta.model_validate(question.meta).lacks
    except ValidationError as error:
        raise _other_kind(question, first_problem(error)) from None


def _other_kind(question: Question, problem: str) -> InputError:
    what = f"question {question.id!r} is not about documents with conditions ({problem})"
    return InputError(what, remedy="load it from mdcr:PATH")


class _OutlineMeta(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    kind: QuestionKind
    lacks: tuple[UnknownPart, ...] = ()


class _Meta(_OutlineMeta):
    scenario: str
    scenario_text: str
    asked: str
    documents: list["_DocumentMeta"]
    relations: list[tuple[RelationKind, str, str]]
    values: dict[str, bool]
    gold: "_GoldMeta"
    relations_decide: bool | None


class _DocumentMeta(BaseModel):
    domain: str
    conditions: dict[str, str]
    expression: str


class _GoldMeta(BaseModel):
    short: str | int
    groups: list[list[str]]


def asked(problem: ConditionsProblem) -> str:
    """The question itself, which the scenario stands before."""
    domains = {document.domain for document in problem.documents}
    offered = domains.pop() if len(domains) == 1 else _MIXED
    return _ASKED[problem.kind].format(offered)


def as_question(
    scenario: Scenario,
    problem: ConditionsProblem,
    gold: ConditionsAnswer,
    *,
    relations_decide: bool | None,
    lacks: Sequence[UnknownPart] = (),
    generated: bool = False,
) -> Question:
    """The question whose `ConditionsQuestion` says the same."""
    line = asked(problem)
    return Question(
        id=f"{scenario.id}-{problem.kind}",
        question=f"{scenario.text} {line}".strip(),
        passages=tuple(map(document_passage, problem.documents)),
        meta={
            "benchmark": BENCHMARK,
            **({"generated": True} if generated else {}),
            "kind": problem.kind,
            "scenario": scenario.id,
            "scenario_text": scenario.text,
            "asked": line,
            "documents": [
                {
                    "domain": document.domain,
                    "conditions": {one.name: one.sentence for one in document.conditions},
                    "expression": str(document.expression),
                }
                for document in problem.documents
            ],
            "relations": [[one.kind, one.first, one.second] for one in problem.relations],
            "values": dict(problem.values),
            "gold": {"short": gold.short, "groups": [list(group) for group in gold.groups]},
            "relations_decide": relations_decide,
            **({"lacks": list(lacks)} if lacks else {}),
        },
    )


def document_passage(document: ConditionsDocument) -> Passage:
    """The document as a passage: each sentence on a line, `c0: <p>...</p>`."""
    lines = (f"{number}: {text}" for number, text in document.sentences.items())
    return Passage(id=document.id, title=document.title, text="\n".join(lines))


def _read(question: Question, meta: _Meta) -> ConditionsQuestion:
    documents = tuple(_documents(question.passages, meta.documents))
    relations = tuple(ConditionRelation(*relation) for relation in meta.relations)
    problem = ConditionsProblem(meta.kind, documents, relations, MappingProxyType(meta.values))
    gold = ConditionsAnswer(meta.gold.short, tuple(map(tuple, meta.gold.groups)))
    return ConditionsQuestion(
        question.id,
        meta.scenario,
        meta.scenario_text,
        meta.asked,
        problem,
        gold,
        meta.relations_decide,
        meta.lacks,
    )


def _documents(
    passages: Sequence[Passage], records: Sequence[_DocumentMeta]
) -> Iterator[ConditionsDocument]:
    for passage, record in zip(passages, records, strict=True):
        yield ConditionsDocument(
            passage.id,
            passage.title,
            record.domain,
            MappingProxyType(dict(map(_sentence, passage.text.split("\n")))),
            tuple(StatedCondition(passage.id, name, c) for name, c in record.conditions.items()),
            parse_expression(record.expression),
        )


def _sentence(line: str) -> tuple[str, str]:
    number, _, text = line.partition(": ")
    return number, text


@dataclass(frozen=True)
class MdcrStatistics:
    """Counts. `groups`: sets of documents that scenarios are about, by their number of documents;
    `all_true`: scenarios that give every condition the value true; `with_relations`: questions
    whose gold answer relations decide; `with_groups`: those where something more must be true."""

    documents: int
    groups: Mapping[int, int]
    scenarios: int
    all_true: int
    questions: int
    with_relations: int
    with_groups: int


PUBLISHED_MDCR = MdcrStatistics(
    documents=40,
    groups={2: 55, 3: 68, 4: 31, 5: 10},
    scenarios=1138,
    all_true=518,
    questions=3414,
    with_relations=round(0.281 * 3414),
    with_groups=round(0.660 * 3414),
)
"""Of MDCR; the last two are published as 28.1% and 66.0%."""


def describe_conditions(found: ConditionsSet, questions: Sequence[Question]) -> MdcrStatistics:
    """`questions`: the set's own, as they are loaded."""
    read = [ConditionsQuestion.of(question) for question in questions]
    groups = {frozenset(scenario.documents) for scenario in found.scenarios}
    return MdcrStatistics(
        len(found.documents),
        dict(sorted(Counter(map(len, groups)).items())),
        len(found.scenarios),
        sum(one.has_values and all(one.values.values()) for one in found.scenarios),
        len(read),
        sum(question.relations_decide is True for question in read),
        sum(bool(question.gold.groups) for question in read),
    )
