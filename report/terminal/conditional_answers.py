"""Conditional answers for a terminal, and for programs."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from branchwise.base.text import cut, one_line
from branchwise.corpora.conditions.documents import (
    ConditionsAnswer,
    ConditionsProblem,
    QuestionKind,
    Scenario,
)
from branchwise.corpora.conditions.explanation import (
    Cause,
    GroupExplanation,
    GroupOrigin,
    explained,
    obstacles,
    requirements,
)
from branchwise.corpora.conditions.question import PUBLISHED_MDCR, MdcrStatistics
from branchwise.corpora.conditions.solver import Solution
from branchwise.report.terminal.cells import counts_table
from branchwise.worlds.conditions.balance import PUBLISHED_BALANCE, AnswerBalance

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
Differences = dict[QuestionKind, dict[str, int]]
"""By kind of question: `questions`, and those whose `short answers` and `groups` differ."""


def scenario_lines(
    scenario: Scenario, problem: ConditionsProblem, *, explain: bool
) -> Iterator[str]:
    """What a scenario's answers stand below; with `explain` what its documents ask for."""
    yield f"{scenario.id} ({', '.join(scenario.documents)}): {scenario.text}"
    if explain:
        for requirement in requirements(problem):
            yield f"  {requirement.document} needs {requirement.expression}"
            for cause in requirement.decided:
                value = f"{cause.condition} is {str(cause.value).lower()}"
                why = "the scenario says so"
                if cause.relations:
                    source = f"{cause.source} is {str(cause.source_value).lower()}"
                    why = f"by the scenario {source}, and {_way(cause)}"
                yield f"    {value}: {why}"


def answer_lines(
    problem: ConditionsProblem, answer: ConditionsAnswer, solution: Solution | None = None
) -> Iterator[str]:
    """One answer; with its `solution` also what led to it."""
    yield f"  {problem.kind}, {_ASKS[problem.kind]}: {answer.short}"
    if solution:
        yield from (f"    {line}" for line in _explained_lines(problem, solution))
        return
    groups = [" and ".join(group) for group in answer.groups]
    for number, group in enumerate(groups[:_MOST_GROUPS]):
        yield f"    or {group}" if number else f"    {group}"
    if more := len(groups[_MOST_GROUPS:]):
        yield f"    or one of {more:,} further groups (--json has all of them)"


def answer_record(
    scenario: Scenario,
    problem: ConditionsProblem,
    answer: ConditionsAnswer,
    solution: Solution | None = None,
) -> dict[str, Any]:
    """The same for a program."""
    record: dict[str, Any] = {
        "scenario": scenario.id,
        "kind": problem.kind,
        "documents": list(scenario.documents),
        "answer": answer.short,
        "groups": [list(group) for group in answer.groups],
    }
    if solution:
        record["requirements"] = [asdict(one) for one in requirements(problem)]
        record["explanations"] = [asdict(one) for one in explained(problem, solution)]
        record["obstacles"] = [asdict(obstacle) for obstacle in obstacles(problem, solution)]
    return record


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
    for obstacle in obstacles(problem, solution):
        wanted = [f"{id} needs {expression}" for id, expression in obstacle.documents]
        values = [f"{id} is {str(value).lower()}" for id, value in obstacle.values.items()]
        against = _listed([*values, *map(str, obstacle.relations)])
        yield f"not possible: {', '.join(wanted)}; but {against}"


def _origins_lines(problem: ConditionsProblem, found: GroupExplanation) -> Iterator[str]:
    for index, origin in enumerate(found.origins):
        start = "or " if index else ""
        yield f"{start}{_origin_words(problem, origin)}"
        for cause in origin.left_out:
            stands = f"{cause.condition} is left out, for {cause.source} stands for it"
            yield f"  {stands}: {_way(cause)}"
    if found.count > len(found.origins):
        yield f"or in {found.count - len(found.origins):,} other ways"


def _origin_words(problem: ConditionsProblem, origin: GroupOrigin) -> str:
    """Which documents are had by what."""
    parts, enough = [], []
    for document, needed in origin.needed.items():
        if not needed:
            enough.append(document)
            continue
        stated = []
        for id in needed:
            # With its sentences where they are not called the same.
            sentences = problem.conditions[id].sentence_ids
            stated.append(id if sentences == (id,) else f"{id} (stated by {_listed(sentences)})")
        parts.append(f"{document} by {_listed(stated)}")
    if enough:
        parts.append(f"{_listed(enough)} by the scenario alone")
    return f"gives {'; '.join(parts)}"


def _way(cause: Cause) -> str:
    return ", ".join(map(str, cause.relations))


def _listed(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def statistics_table(found: MdcrStatistics) -> "Table":
    """A set's counts beside MDCR's."""
    both = (found, PUBLISHED_MDCR)

    def share(count: int, of: int) -> str:
        return f"{count / of:.1%}" if of else "-"

    def of_size(size: int) -> Callable[[MdcrStatistics], str]:
        return lambda one: f"{one.groups.get(size, 0):,}"

    def of_domain(domain: str) -> Callable[[MdcrStatistics], str]:
        return lambda one: f"{one.domains.get(domain, 0):,}"

    domains = dict.fromkeys(domain for one in both for domain in one.domains)
    rows: list[tuple[str, Callable[[MdcrStatistics], str]]] = [
        ("documents", lambda one: f"{one.documents:,}"),
        ("groups of documents", lambda one: f"{sum(one.groups.values()):,}"),
    ]
    for size in sorted({size for one in both for size in one.groups}):
        rows.append((f"  of {size}", of_size(size)))
    rows += [
        ("scenarios", lambda one: f"{one.scenarios:,}"),
        *((f"  on {domain}", of_domain(domain)) for domain in domains),
        ("questions", lambda one: f"{one.questions:,}"),
        ("  that need relations", lambda one: share(one.with_relations, one.questions)),
        ("  with groups", lambda one: share(one.with_groups, one.questions)),
    ]
    table = counts_table("", ("this set", "published"))
    for name, words in rows:
        table.add_row(name, *map(words, both))
    return table


def balance_table(balance: AnswerBalance) -> "Table":
    """How evenly a set's questions are answered, beside MDCR's."""

    def number(format: str, value: Callable[[AnswerBalance], float | None]) -> tuple[str, ...]:
        values = map(value, (balance, PUBLISHED_BALANCE))
        return tuple("-" if one is None else format.format(one) for one in values)

    table = counts_table("", ("this set", "published half"))
    table.add_row("at least one: yes", *number("{:.1%}", lambda one: one.at_least_one))
    table.add_row("all together: yes", *number("{:.1%}", lambda one: one.all_together))
    table.add_row("maximum: all of them", *number("{:.1%}", lambda one: one.maximum_is_all))
    table.add_row("right without reading")
    table.add_row("  yes, yes and all of them", *number("{:.3f}", lambda one: one.yes_yes_all))
    table.add_row("  best constant answers", *number("{:.3f}", lambda one: one.best_constant))
    table.add_row("relations")
    for kind in PUBLISHED_BALANCE.relations:
        counts = (one.relations.get(kind, 0) for one in (balance, PUBLISHED_BALANCE))
        table.add_row(f"  {kind}", *(f"{count:,}" for count in counts))
    table.add_row("words of a document", *number("{:.0f}", lambda one: one.words))
    table.add_row("conditions of a document", *number("{:.1f}", lambda one: one.conditions))
    table.add_row("documents of a question", *number("{:.1f}", lambda one: one.documents))
    return table


def statistics_record(found: MdcrStatistics, balance: AnswerBalance) -> dict[str, Any]:
    """The same for a program."""

    def record(one: MdcrStatistics) -> dict[str, Any]:
        return asdict(one) | {"groups": {str(size): n for size, n in one.groups.items()}}

    return {
        "this set": record(found) | {"balance": asdict(balance)},
        "published": record(PUBLISHED_MDCR) | {"balance": asdict(PUBLISHED_BALANCE)},
    }


def differences_table(found: Differences) -> "Table":
    """How many questions the authors' program answers otherwise."""
    table = counts_table("answered otherwise by the authors' program", ("short answer", "groups"))
    for kind, count in found.items():
        row = f"{_ASKS[kind]} ({kind}), of {count['questions']:,}"
        table.add_row(row, f"{count['short answers']:,}", f"{count['groups']:,}")
    of_all = [sum(count[key] for count in found.values()) for key in ("short answers", "groups")]
    table.add_row("all", *(f"{count:,}" for count in of_all))
    return table
