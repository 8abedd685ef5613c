"""Random problems, both as the product has them and as plain ones."""

from collections.abc import Iterator, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from branchwise.corpora.conditions.documents import (
    ConditionRelation,
    ConditionsDocument,
    ConditionsProblem,
    StatedCondition,
    parse_expression,
)
from support.conditions.plain_answers import Plain


def random_plain(
    rng: Random, *, documents: int = 4, conditions: int = 14
) -> tuple[Plain, list[int]]:
    """A problem, and to which document each of its conditions belongs."""
    count = rng.randint(1, documents)
    owner = sorted(
        [*range(count), *(rng.randrange(count) for _ in range(rng.randint(0, conditions - count)))]
    )
    sentences = []
    for place, document in enumerate(owner):
        same = place and owner[place - 1] == document and rng.random() < 0.3
        sentences.append(sentences[-1] if same else place)
    own = [[i for i, one in enumerate(owner) if one == document] for document in range(count)]
    relations = []
    if len(owner) > 1:
        for _ in range(rng.randint(0, 8)):
            kind = rng.choice(["conflicting", "equivalent", "inclusive"])
            relations.append((kind, *rng.sample(range(len(owner)), 2)))
    values = {i: rng.random() < 0.6 for i in range(len(owner)) if rng.random() < 0.25}
    expressions = [random_expression(rng, one, 3) for one in own]
    kind = rng.choice(["q1", "q2", "q3"])
    return Plain(kind, expressions, sentences, relations, values), owner


def as_problem(plain: Plain, owner: Sequence[int]) -> ConditionsProblem:
    """The same as the product has it. Condition i is `Dd-xi`, its sentence `cS`."""
    documents = tuple(_document(plain, owner, number) for number in range(len(plain.documents)))
    ids = [f"D{document}-x{i}" for i, document in enumerate(owner)]
    return ConditionsProblem(
        plain.kind,  # type: ignore[arg-type]
        documents,
        tuple(
            ConditionRelation(kind, ids[first], ids[second])  # type: ignore[arg-type]
            for kind, first, second in plain.relations
        ),
        {ids[i]: value for i, value in plain.values.items()},
    )


def _document(plain: Plain, owner: Sequence[int], number: int) -> ConditionsDocument:
    own = [i for i, document in enumerate(owner) if document == number]
    return ConditionsDocument(
        f"D{number}",
        f"Document {number}",
        "things",
        MappingProxyType({f"c{plain.sentences[i]}": f"<p>{i}</p>" for i in own}),
        tuple(StatedCondition(f"D{number}", f"x{i}", f"c{plain.sentences[i]}") for i in own),
        parse_expression(written(plain.documents[number])),
    )


def written(expression: Any) -> str:
    """An expression as a text, with brackets wherever there may be some."""
    if isinstance(expression, int):
        return f"x{expression}"
    operator, *parts = expression
    return f" {operator.upper()} ".join(f"({written(part)})" for part in parts)


def random_expression(rng: Random, own: Sequence[int], depth: int) -> Any:
    if depth == 0 or rng.random() < 0.25:
        return rng.choice(own)
    parts = [random_expression(rng, own, depth - 1) for _ in range(rng.randint(2, 3))]
    return (rng.choice(["and", "or"]), *parts)


def problems(seed: int) -> Iterator[tuple[Plain, ConditionsProblem]]:
    """Random problems without end."""
    rng = Random(seed)
    while True:
        plain, owner = random_plain(rng)
        yield plain, as_problem(plain, owner)
