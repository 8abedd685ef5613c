"""Conditional answers for a terminal, and for programs."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from branchwise.base.text import cut, one_line
from branchwise.corpora.conditions.documents import ConditionsProblem, QuestionKind, Scenario
from branchwise.corpora.conditions.explanation import (
    Cause,
    GroupExplanation,
    GroupOrigin,
    Obstacle,
    explained,
    obstacles,
    requirements,
)
from branchwise.corpora.conditions.question import PUBLISHED_MDCR, MdcrStatistics
from branchwise.corpora.conditions.solver import Solution

if TYPE_CHECKING:
    from rich.table import Table

_ASKS: Mapping[QuestionKind, str] = {
    "q1": "at least one",
    "q2": "all together",
    "q3": "maximum number",
}
_TAG = re.compile(r"<[^<>]*>")
_SHOWN = 100
"""Characters of a sentence."""
_MOST_GROUPS = 20


def scenario_lines(
    scenario: Scenario, problem: ConditionsProblem, *, explain: bool
) -> Iterator[str]:
    """What a scenario's answers stand below; with `explain` what its documents ask for."""
    yield f"{scenario.id} ({', '.join(scenario.documents)}): {scenario.text}"
    if explain:
        for one in requirements(problem):
            yield f"  {one.document} needs {one.expression}"
            yield from (f"    {_told_value(cause)}" for cause in one.decided)


def answer_lines(problem: ConditionsProblem, solution: Solution, *, explain: bool) -> Iterator[str]:
    """One answer; with `explain` also what led to it."""
    answer = solution.answer
    yield f"  {problem.kind}, {_ASKS[problem.kind]}: {answer.short}"
    lines = _explained_lines(problem, solution) if explain else _alternatives(answer.groups)
    yield from (f"    {line}" for line in lines)


def answer_record(
    scenario: Scenario, problem: ConditionsProblem, solution: Solution, *, explain: bool
) -> dict[str, Any]:
    """The same for a program."""
    record: dict[str, Any] = {
        "scenario": scenario.id,
        "kind": problem.kind,
        "documents": list(scenario.documents),
        "answer": solution.answer.short,
        "groups": [list(group) for group in solution.answer.groups],
    }
    if explain:
        record["requirements"] = [asdict(one) for one in requirements(problem)]
        record["explanations"] = [asdict(one) for one in explained(problem, solution)]
        record["obstacles"] = [asdict(one) for one in obstacles(problem, solution)]
    return record


def _alternatives(groups: Iterable[tuple[str, ...]]) -> Iterator[str]:
    listed = [" and ".join(group) for group in groups]
    for place, group in enumerate(listed[:_MOST_GROUPS]):
        yield f"or {group}" if place else group
    if len(listed) > _MOST_GROUPS:
        yield f"or one of {len(listed) - _MOST_GROUPS:,} further groups (--json has all of them)"


def _explained_lines(problem: ConditionsProblem, solution: Solution) -> Iterator[str]:
    found = explained(problem, solution)
    texts = {
        document.sentence_id(number): text
        for document in problem.documents
        for number, text in document.sentences.items()
    }
    for one in found[:_MOST_GROUPS]:
        yield " and ".join(one.group) or "nothing more is needed"
        for id in one.group:
            yield f'  {id} says "{cut(one_line(_TAG.sub(" ", texts[id])), _SHOWN)}"'
        yield from (f"  {line}" for line in _origins_lines(problem, one))
    if len(found) > _MOST_GROUPS:
        yield f"{len(found) - _MOST_GROUPS:,} further groups (--json has all of them)"
    yield from map(_told_obstacle, obstacles(problem, solution))


def _origins_lines(problem: ConditionsProblem, found: GroupExplanation) -> Iterator[str]:
    for place, origin in enumerate(found.origins):
        start = "or " if place else ""
        yield f"{start}{_told_origin(problem, origin)}"
        for cause in origin.left_out:
            stands = f"{cause.condition} is left out, for {cause.source} stands for it"
            yield f"  {stands}: {_way(cause)}"
    if found.count > len(found.origins):
        yield f"or in {found.count - len(found.origins):,} other ways"


def _told_origin(problem: ConditionsProblem, origin: GroupOrigin) -> str:
    """Which documents are had by what."""
    parts = [
        f"{document} by {_listed(_stated(problem, id) for id in needed)}"
        for document, needed in origin.needed.items()
        if needed
    ]
    enough = [document for document, needed in origin.needed.items() if not needed]
    if enough:
        parts.append(f"{_listed(enough)} by the scenario alone")
    return f"gives {'; '.join(parts)}"


def _stated(problem: ConditionsProblem, id: str) -> str:
    """A condition, with its sentence where that is not called the same."""
    sentence = problem.conditions[id].sentence_id
    return id if id == sentence else f"{id} (stated by {sentence})"


def _told_value(cause: Cause) -> str:
    value = str(cause.value).lower()
    if not cause.relations:
        return f"{cause.condition} is {value}: the scenario says so"
    source = f"{cause.source} is {str(cause.source_value).lower()}"
    return f"{cause.condition} is {value}: by the scenario {source}, and {_way(cause)}"


def _way(cause: Cause) -> str:
    return ", ".join(map(str, cause.relations))


def _told_obstacle(obstacle: Obstacle) -> str:
    wanted = [f"{id} needs {expression}" for id, expression in obstacle.documents]
    values = [f"{id} is {str(value).lower()}" for id, value in obstacle.values.items()]
    against = [*values, *map(str, obstacle.relations)]
    return f"not possible: {', '.join(wanted)}; but {_listed(against)}"


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def statistics_table(found: MdcrStatistics) -> "Table":
    """A set's counts beside MDCR's."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column("this set", justify="right")
    table.add_column("published", justify="right")
    for name, own, published in _counted(found, PUBLISHED_MDCR):
        table.add_row(name, own, published)
    return table


def statistics_record(found: MdcrStatistics) -> dict[str, Any]:
    """The same for a program."""
    return {
        "this set": asdict(found) | {"groups": _by_size(found)},
        "published": asdict(PUBLISHED_MDCR) | {"groups": _by_size(PUBLISHED_MDCR)},
    }


def _counted(*both: MdcrStatistics) -> Iterator[tuple[str, ...]]:
    def row(name: str, said: Callable[[MdcrStatistics], str]) -> tuple[str, ...]:
        return (name, *map(said, both))

    def of_size(size: int) -> tuple[str, ...]:
        return row(f"  of {size}", lambda one: f"{one.groups.get(size, 0):,}")

    yield row("documents", lambda one: f"{one.documents:,}")
    yield row("groups of documents", lambda one: f"{sum(one.groups.values()):,}")
    for size in sorted({size for one in both for size in one.groups}):
        yield of_size(size)
    yield row("scenarios", lambda one: f"{one.scenarios:,}")
    yield row("  everything is true", lambda one: f"{one.all_true:,}")
    yield row("questions", lambda one: f"{one.questions:,}")
    yield row("  that need relations", lambda one: _share(one.with_relations, one.questions))
    yield row("  with groups", lambda one: _share(one.with_groups, one.questions))


def _share(count: int, of: int) -> str:
    return f"{count / of:.1%}" if of else "-"


def _by_size(found: MdcrStatistics) -> dict[str, int]:
    return {str(size): count for size, count in found.groups.items()}
