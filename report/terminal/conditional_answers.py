"""Conditional answers for a terminal, and for programs."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from branchwise.base.numbers import rounded
from branchwise.base.text import cut, listed, one_line
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
    record: dict[str, Any] = {
        "scenario": scenario.id,
        "kind": problem.kind,
        "documents": list(scenario.documents),
        "answer": answer.short,
        "groups": [list(group) for group in answer.groups],
    }
    if solution:
        record["requirements"] = [*map(asdict, requirements(problem))]
        record["explanations"] = [*map(asdict, explained(problem, solution))]
        record["obstacles"] = [*map(asdict, obstacles(problem, solution))]
    return record


def _explained_lines(problem: ConditionsProblem, solution: Solution) -> Iterator[str]:
    groups = explained(problem, solution)
    texts = {
        document.sentence_id(number): text
        for document in problem.documents
        for number, text in document.sentences.items()
    }
    for explanation in groups[:_MOST_GROUPS]:
        yield " and ".join(explanation.group) or "nothing more is needed"
        for id in explanation.group:
            yield f'  {id} says "{cut(one_line(_TAG.sub(" ", texts[id])), _SHOWN)}"'
        yield from (f"  {line}" for line in _origins_lines(problem, explanation))
    if len(groups) > _MOST_GROUPS:
        yield f"{len(groups) - _MOST_GROUPS:,} further groups (--json has all of them)"
    for obstacle in obstacles(problem, solution):
        wanted = [f"{id} needs {expression}" for id, expression in obstacle.documents]
        values = [f"{id} is {str(value).lower()}" for id, value in obstacle.values.items()]
        against = listed([*values, *map(str, obstacle.relations)])
        yield f"not possible: {', '.join(wanted)}; but {against}"


def _origins_lines(problem: ConditionsProblem, group: GroupExplanation) -> Iterator[str]:
    for index, origin in enumerate(group.origins):
        yield ("or " if index else "") + _origin_words(problem, origin)
        for cause in origin.left_out:
            stands = f"{cause.condition} is left out, for {cause.source} stands for it"
            yield f"  {stands}: {_way(cause)}"
    if group.count > len(group.origins):
        yield f"or in {group.count - len(group.origins):,} other ways"


def _origin_words(problem: ConditionsProblem, origin: GroupOrigin) -> str:
    parts, enough = [], []
    for document, needed in origin.needed.items():
        if not needed:
            enough.append(document)
            continue
        stated = []
        for id in needed:
            # With its sentences where they are not called the same.
            sentences = problem.conditions[id].sentence_ids
            stated.append(id if sentences == (id,) else f"{id} (stated by {listed(sentences)})")
        parts.append(f"{document} by {listed(stated)}")
    if enough:
        parts.append(f"{listed(enough)} by the scenario alone")
    return f"gives {'; '.join(parts)}"


def _way(cause: Cause) -> str:
    return ", ".join(map(str, cause.relations))


def statistics_table(counts: MdcrStatistics) -> "Table":
    """A set's counts beside MDCR's."""
    both = (counts, PUBLISHED_MDCR)
    table = counts_table("", ("this set", "published"))

    def add(name: str, values: Iterable[int], wholes: Iterable[int] = ()) -> None:
        """A row of counts, or of their shares of `wholes`."""
        cells = [f"{value:,}" for value in values]
        if wholes:
            pairs = zip(values, wholes, strict=True)
            cells = [f"{rounded(100 * v / whole, 1)}%" if whole else "-" for v, whole in pairs]
        table.add_row(name, *cells)

    questions = [part.questions for part in both]
    add("documents", [part.documents for part in both])
    add("groups of documents", [sum(part.groups.values()) for part in both])
    for size in sorted({size for part in both for size in part.groups}):
        add(f"  of {size}", [part.groups.get(size, 0) for part in both])
    add("scenarios", [part.scenarios for part in both])
    for domain in dict.fromkeys(domain for part in both for domain in part.domains):
        add(f"  on {domain}", [part.domains.get(domain, 0) for part in both])
    add("questions", questions)
    add("  that need relations", [part.with_relations for part in both], questions)
    add("  with groups", [part.with_groups for part in both], questions)
    return table


def balance_table(balance: AnswerBalance) -> "Table":
    """How evenly a set's questions are answered, beside MDCR's."""
    both = (balance, PUBLISHED_BALANCE)
    table = counts_table("", ("this set", "published half"))

    def add(name: str, key: str, digits: int, *, is_share: bool = False) -> None:
        values = (getattr(part, key) for part in both)
        factor, sign = (100, "%") if is_share else (1, "")
        cells = ("-" if v is None else f"{rounded(factor * v, digits)}{sign}" for v in values)
        table.add_row(name, *cells)

    add("at least one: yes", "at_least_one", 1, is_share=True)
    add("all together: yes", "all_together", 1, is_share=True)
    add("maximum: all of them", "maximum_is_all", 1, is_share=True)
    table.add_row("right without reading")
    add("  yes, yes and all of them", "yes_yes_all", 3)
    add("  best constant answers", "best_constant", 3)
    table.add_row("relations")
    for relation in PUBLISHED_BALANCE.relations:
        counts = (part.relations.get(relation, 0) for part in both)
        table.add_row(f"  {relation}", *(f"{count:,}" for count in counts))
    add("words of a document", "words", 0)
    add("conditions of a document", "conditions", 1)
    add("documents of a question", "documents", 1)
    return table


def statistics_record(counts: MdcrStatistics, balance: AnswerBalance) -> dict[str, Any]:
    sets = {"this set": (counts, balance), "published": (PUBLISHED_MDCR, PUBLISHED_BALANCE)}
    records = {}
    for name, (statistics, balanced) in sets.items():
        groups = {str(size): n for size, n in statistics.groups.items()}
        records[name] = asdict(statistics) | {"groups": groups, "balance": asdict(balanced)}
    return records


def differences_table(differences: Differences) -> "Table":
    """How many questions the authors' program answers otherwise."""
    table = counts_table("answered otherwise by the authors' program", ("short answer", "groups"))
    for kind, count in differences.items():
        row = f"{_ASKS[kind]} ({kind}), of {count['questions']:,}"
        table.add_row(row, f"{count['short answers']:,}", f"{count['groups']:,}")
    counts = differences.values()
    of_all = [sum(count[key] for count in counts) for key in ("short answers", "groups")]
    table.add_row("all", *(f"{count:,}" for count in of_all))
    return table
