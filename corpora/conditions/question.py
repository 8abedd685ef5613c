"""A question with conditions as a `Question`: what of it stands where, and how it is read back.

Its passages are the documents, by the documents' ids; a passage's text has a sentence a line,
behind its number. What a passage does not say is the question's `meta`, which nothing else reads.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.files import first_problem
from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsAnswer,
    ConditionsDocument,
    ConditionsProblem,
    ConditionsSet,
    QuestionKind,
    RelationKind,
    Scenario,
    UnknownPart,
    conditions_of,
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
    """What a question of this kind says. `scenario_text` and `asked` are its words. `lacks`: what
    its file does not say of it, which is then empty in `problem`, so that the answer does not
    follow from it. `relations_decide`: whether the gold answer would be another one if the
    documents' conditions were unrelated; None where that is not known."""

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
        return _domain(self.problem.documents)

    @classmethod
    def of(cls, question: Question) -> "ConditionsQuestion":
        """Raises InputError for a question of another kind, or one that was changed since."""
        try:
            meta = _Meta.model_validate(question.meta)
            documents = []
            for passage, record in zip(question.passages, meta.documents, strict=True):
                lines = (line.partition(": ") for line in passage.text.split("\n"))
                document = ConditionsDocument(
                    passage.id,
                    passage.title,
                    record.domain,
                    {number: text for number, _, text in lines},
                    conditions_of(passage.id, record.conditions),
                    parse_expression(record.expression),
                )
                documents.append(document)
        except ValidationError as error:
            raise _other_kind(question, first_problem(error)) from None
        except (KeyError, ValueError) as error:
            raise _other_kind(question, str(error)) from None
        relations = tuple(ConditionRelation(*relation) for relation in meta.relations)
        return cls(
            question.id,
            meta.scenario,
            meta.scenario_text,
            meta.asked,
            ConditionsProblem(meta.kind, tuple(documents), relations, meta.values),
            ConditionsAnswer(meta.gold.short, tuple(map(tuple, meta.gold.groups))),
            meta.relations_decide,
            meta.lacks,
        )


def gold_answer(question: Question) -> ConditionsAnswer:
    """The gold answer alone, also of a question that was read without its passages."""
    try:
        gold = _GoldMeta.model_validate(question.meta.get("gold"))
    except ValidationError as error:
        raise _other_kind(question, first_problem(error)) from None
    return ConditionsAnswer(gold.short, tuple(map(tuple, gold.groups)))


def unknown_parts(question: Question) -> tuple[UnknownPart, ...]:
    """What its file does not say of it (`ConditionsQuestion.lacks`), without reading the rest."""
    try:
        return _OutlineMeta.model_validate(question.meta).lacks
    except ValidationError as error:
        raise _other_kind(question, first_problem(error)) from None


def _other_kind(question: Question, problem: str) -> InputError:
    fault = f"question {question.id!r} is not about documents with conditions ({problem})"
    return InputError(fault, remedy="load it from mdcr:PATH")


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
    conditions: dict[str, str | list[str]]
    expression: str


class _GoldMeta(BaseModel):
    short: str | int
    groups: list[list[str]]


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
    line = _ASKED[problem.kind].format(_domain(problem.documents, _MIXED))
    passages = []
    for document in problem.documents:
        text = "\n".join(f"{number}: {text}" for number, text in document.sentences.items())
        passages.append(Passage(id=document.id, title=document.title, text=text))
    return Question(
        id=f"{scenario.id}-{problem.kind}",
        question=f"{scenario.text} {line}".strip(),
        passages=tuple(passages),
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
                    "conditions": {c.name: c.stated_by for c in document.conditions},
                    "expression": str(document.expression),
                }
                for document in problem.documents
            ],
            "relations": [[r.kind, r.first, r.second] for r in problem.relations],
            "values": dict(problem.values),
            "gold": {"short": gold.short, "groups": [list(group) for group in gold.groups]},
            "relations_decide": relations_decide,
            **({"lacks": list(lacks)} if lacks else {}),
        },
    )


def _domain(documents: Iterable[ConditionsDocument], mixed: str = "mixed") -> str:
    domains = {document.domain for document in documents}
    return domains.pop() if len(domains) == 1 else mixed


@dataclass(frozen=True)
class MdcrStatistics:
    """Counts. `groups`: sets of documents that scenarios are about, by their number of documents;
    `domains`: scenarios by what their documents offer; `with_relations`: questions whose gold
    answer relations decide; `with_groups`: those where something more must be true."""

    documents: int
    groups: Mapping[int, int]
    scenarios: int
    domains: Mapping[str, int]
    questions: int
    with_relations: int
    with_groups: int


PUBLISHED_MDCR = MdcrStatistics(
    documents=40,
    groups={2: 55, 3: 68, 4: 31, 5: 10},
    scenarios=1138,
    domains={"scholarships": 518, "internships": 620},
    questions=3414,
    with_relations=round(0.281 * 3414),
    with_groups=round(0.660 * 3414),
)
"""Of MDCR; the last two are published as 28.1% and 66.0%."""


def describe_conditions(conditions: ConditionsSet, questions: Sequence[Question]) -> MdcrStatistics:
    """`questions`: the set's own, as they are loaded."""
    read = [ConditionsQuestion.of(question) for question in questions]
    scenarios = conditions.scenarios
    groups = {frozenset(scenario.documents) for scenario in scenarios}
    return MdcrStatistics(
        len(conditions.documents),
        dict(sorted(Counter(map(len, groups)).items())),
        len(scenarios),
        dict(Counter(_domain(conditions.documents[id] for id in s.documents) for s in scenarios)),
        len(read),
        sum(question.relations_decide is True for question in read),
        sum(bool(question.gold.groups) for question in read),
    )
