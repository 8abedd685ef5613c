"""How long conditional answers take: 5 documents with 40 conditions, and a whole benchmark of them.

Documents are random trees of AND and OR in which each condition stands once; contradictory problems
are left out. The peer, for small problems (it does not end for large ones), is what one would write
with sympy: the conjunction of the expressions in disjunctive normal form, then a filter. Times of
problems are the processor's, since the machine may be shared.

    python benchmarks/conditions.py [--problems 400] [--questions 3414] [--seed 1]
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from random import Random
from types import MappingProxyType
from typing import NamedTuple

import sympy
from machine import describe_machine

from branchwise.corpora.conditions.documents import (
    QUESTION_KINDS,
    AllOf,
    Atom,
    ConditionRelation,
    ConditionsDocument,
    ConditionsProblem,
    Expression,
    QuestionKind,
    StatedCondition,
    all_of,
    any_of,
)
from branchwise.corpora.conditions.minimal_groups import (
    GroupSearch,
    TooManyGroupsError,
    simplified,
)
from branchwise.corpora.conditions.solver import relations_decide, solve
from branchwise.corpora.conditions.spreading import ContradictionError, RelationNetwork

RELATIONS = ("conflicting", "equivalent", "inclusive")


class Shape(NamedTuple):
    """Random problems: `said` is the share of conditions that the scenario mentions."""

    name: str
    documents: int
    conditions: int
    relations: int
    said: float
    kinds: Sequence[QuestionKind] = QUESTION_KINDS


LARGE = (
    Shape("20 relations, 20% mentioned", 5, 40, 20, 0.2),
    Shape("6 relations, 20% mentioned", 5, 40, 6, 0.2),
    Shape("10 relations, nothing mentioned, q3", 5, 40, 10, 0, ("q3",)),
    Shape("no relations, nothing mentioned, q2", 5, 40, 0, 0, ("q2",)),
)
SMALL = Shape("4 documents, 14 conditions, q2", 4, 14, 5, 0.2, ("q2",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=400)
    parser.add_argument("--questions", type=int, default=3414)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(describe_machine())
    for shape in LARGE:
        print(measured(shape, made(shape, options.problems, options.seed)))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")
    print(whole(made(LARGE[0], options.questions, options.seed)))
    print(beside_sympy(made(SMALL, 40, options.seed)))


def made(shape: Shape, count: int, seed: int) -> list[ConditionsProblem]:
    """So many problems that do not contradict themselves."""
    rng, found = Random(seed), []
    while len(found) < count:
        problem = drawn(shape, rng, shape.kinds[len(found) % len(shape.kinds)])
        try:
            RelationNetwork(problem).spread(problem.values)
        except ContradictionError:
            continue
        found.append(problem)
    return found


def drawn(shape: Shape, rng: Random, kind: QuestionKind) -> ConditionsProblem:
    names = [f"c{number}" for number in range(shape.conditions)]
    documents = []
    for place in range(shape.documents):
        own = names[place :: shape.documents]
        documents.append(
            ConditionsDocument(
                f"d{place}",
                "",
                "things",
                MappingProxyType(dict.fromkeys(own, "")),
                tuple(StatedCondition(f"d{place}", name, name) for name in own),
                tree([Atom(name) for name in own], rng),
            )
        )
    ids = [condition.id for one in documents for condition in one.conditions]
    relations = []
    while len(relations) < shape.relations:
        first, second = rng.sample(ids, 2)
        if first.split("-")[0] != second.split("-")[0]:
            relations.append(ConditionRelation(rng.choice(RELATIONS), first, second))
    values = {id: rng.random() < 0.8 for id in ids if rng.random() < shape.said}
    return ConditionsProblem(kind, tuple(documents), tuple(relations), values)


def tree(parts: list[Expression], rng: Random) -> Expression:
    """A random tree with these leaves."""
    while len(parts) > 1:
        count = min(len(parts), rng.randint(2, 3))
        taken = [parts.pop(rng.randrange(len(parts))) for _ in range(count)]
        parts.append(rng.choice((all_of, any_of))(*taken))
    return parts[0]


def measured(shape: Shape, problems: Sequence[ConditionsProblem]) -> str:
    seconds, groups, endless = [], [], 0
    for problem in problems:
        began = time.process_time()
        try:
            groups.append(len(solve(problem).answer.groups))
        except TooManyGroupsError:
            endless += 1
        seconds.append(time.process_time() - began)
    seconds.sort()
    return (
        f"{shape.name}: median {1e3 * statistics.median(seconds):.1f} ms, 99% "
        f"{1e3 * seconds[int(0.99 * len(seconds))]:.0f} ms, longest {1e3 * seconds[-1]:.0f} ms; "
        f"{statistics.median(groups):.0f} groups at the median, {max(groups):,} at most, too many "
        f"in {endless} of {len(problems)}"
    )


def whole(problems: Sequence[ConditionsProblem]) -> str:
    """What loading a benchmark of these questions takes: each answer with and without relations."""
    began, used = time.perf_counter(), time.process_time()
    for problem in problems:
        relations_decide(problem, solve(problem).answer)
    return (
        f"{len(problems):,} questions, each with and without relations: "
        f"{time.perf_counter() - began:.0f} s, {time.process_time() - used:.0f} s of one core"
    )


def beside_sympy(problems: Sequence[ConditionsProblem]) -> str:
    """Both over the same problems, in turn, three times; and whether they find the same."""
    times: dict[str, list[float]] = {"solver": [], "sympy": []}
    found: dict[str, list[int]] = {}
    for _ in range(3):
        for name, groups in (("solver", by_solver), ("sympy", by_sympy)):
            began = time.perf_counter()
            found[name] = [groups(problem) for problem in problems]
            times[name].append((time.perf_counter() - began) / len(problems))
    same = sum(a == b for a, b in zip(*found.values(), strict=True))
    ours, theirs = (1e3 * statistics.median(taken) for taken in times.values())
    return (
        f"{SMALL.name}: {ours:.2f} ms a problem, sympy {theirs:.0f} ms; the same number of groups "
        f"in {same} of {len(problems)}"
    )


def by_solver(problem: ConditionsProblem) -> int:
    """Minimal groups before conditions stand for each other."""
    network = RelationNetwork(problem)
    spread = network.spread(problem.values)
    formulas = []
    for document in problem.documents:
        bit = {one.name: network.bit[one.id] for one in document.conditions}
        formulas.append(simplified(document.expression, bit, spread.true, spread.false))
    with closing(GroupSearch(formulas, network.excluded)) as search:
        return len(search.groups(range(len(formulas))))


def by_sympy(problem: ConditionsProblem) -> int:
    network = RelationNetwork(problem)
    spread = network.spread(problem.values)
    symbols = {id: sympy.Symbol(id.replace("-", "_")) for id in network.ids}
    place = {symbol: number for number, symbol in enumerate(symbols.values())}
    parts = []
    for document in problem.documents:
        names = {one.name: symbols[one.id] for one in document.conditions}
        parts.append(as_sympy(document.expression, lambda name, names=names: names[name]))
    values = {
        symbol: bool(spread.true & network.bit[id])
        for id, symbol in symbols.items()
        if (spread.true | spread.false) & network.bit[id]
    }
    form = sympy.to_dnf(sympy.And(*parts).subs(values))
    if form in (sympy.true, sympy.false):
        return int(form == sympy.true)
    terms = form.args if isinstance(form, sympy.Or) else (form,)
    sets = {frozenset(place[symbol] for symbol in term.atoms(sympy.Symbol)) for term in terms}
    possible = [
        one for one in sets if not any(network.excluded[a] >> b & 1 for a in one for b in one)
    ]
    return sum(not any(other < one for other in possible) for one in possible)


def as_sympy(expression: Expression, symbol: Callable[[str], sympy.Symbol]) -> sympy.Basic:
    if isinstance(expression, Atom):
        return symbol(expression.name)
    parts = [as_sympy(part, symbol) for part in expression.parts]
    return sympy.And(*parts) if isinstance(expression, AllOf) else sympy.Or(*parts)


if __name__ == "__main__":
    main()
