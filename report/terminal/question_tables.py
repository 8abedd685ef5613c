"""What questions are like, for a terminal."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from branchwise.base.numbers import rounded
from branchwise.base.text import printable
from branchwise.corpora.questions import Question
from branchwise.report.terminal.cells import counts_table
from branchwise.report.terminal.console import console, print_line, printable_json
from branchwise.worlds.questions.sources import GenerationTally
from branchwise.worlds.questions.statistics import (
    AMBIGUOUS,
    OTHER,
    PUBLISHED,
    SOURCE,
    Means,
    Statistics,
)

if TYPE_CHECKING:
    from rich.table import Table

_WIDEST_BAR, _MOST_KEYS = 40, 20


def print_statistics(statistics: Statistics) -> None:
    """Print means, of questions with plans beside the published ones, and histograms as bars."""
    console().print(_means(statistics))
    if statistics.have_plans:
        print_line(console(), f"published: {SOURCE}")
    if (statistics.means[OTHER].most_branches or 0) > 1:
        print_line(console(), "one reading: of one annotator at least; others may list several")
    console().print()
    for line in _histograms(statistics):
        print_line(console(), line)
    if statistics.have_plans:
        print_line(console(), f"plan shapes: {statistics.shapes}")
    if statistics.meta:
        known = Counter(statistics.meta).most_common(_MOST_KEYS)
        keys = ", ".join(f"{printable(key)[:60]} ({count:,})" for key, count in known)
        print_line(console(), f"for `report --by meta.KEY`: {keys}")


def as_json(statistics: Statistics) -> str:
    halves = {"one reading": OTHER, "ambiguous": AMBIGUOUS}
    return printable_json(
        {
            "means": {name: asdict(statistics.means[kind]) for name, kind in halves.items()},
            "published": {name: asdict(PUBLISHED[kind]) for name, kind in halves.items()},
            "histograms": {
                heading: {
                    value: dict(zip(halves, (count.other, count.ambiguous), strict=True))
                    for value, count in counts.items()
                }
                for heading, counts in statistics.histograms.items()
            },
            "shapes": statistics.shapes,
            "meta": dict(statistics.meta),
        }
    )


def summary(tally: GenerationTally, strayed: Mapping[str, int]) -> Iterator[str]:
    """What became of all tries, a line each. `strayed`: why a writer's text was not taken."""
    yield f"{accepted(tally)}; rejected:"
    yield from _counted(tally.rejected)
    if tally.choices:
        yield f"chosen by the model what plans are about: {tally.choices['model']:,}"
        yield f"drawn, for it chose none of the candidates: {tally.choices['draw']:,}"
    if strayed:
        yield f"worded by the grammar, for the writer strayed: {sum(strayed.values()):,}"
        yield from _counted(strayed)


def accepted(tally: GenerationTally) -> str:
    share = tally.accepted / max(1, tally.tries)
    return f"{tally.accepted:,} of {tally.tries:,} tries accepted ({rounded(100 * share, 1)}%)"


def _counted(reasons: Mapping[str, int]) -> Iterator[str]:
    for reason, count in sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0])):
        yield f"  {count:>7,}  {reason}"


def _means(statistics: Statistics) -> "Table":
    columns: list[tuple[str, Means]] = []
    for heading, half in (("one reading", OTHER), ("ambiguous", AMBIGUOUS)):
        columns.append((heading, statistics.means[half]))
        columns += [("published", PUBLISHED[half])] if statistics.have_plans else []
    table = counts_table("means", [heading for heading, _ in columns])
    for name, cells in _rows([means for _, means in columns]):
        if set(cells) != {"-"}:
            table.add_row(name, *cells)
    return table


def _rows(columns: list[Means]) -> Iterator[tuple[str, list[str]]]:
    yield "questions", [f"{column.questions:,}" for column in columns]
    for name, key in (
        ("words", "words"),
        ("answers, all branches", "answers"),
        ("answers of a branch", "branch_answers"),
        ("steps", "steps"),
        ("different entities", "entities"),
        ("branches", "branches"),
    ):
        means = [getattr(column, key) for column in columns]
        yield name, ["-" if mean is None else f"{mean:,.1f}" for mean in means]
    most = [column.most_branches for column in columns]
    yield "most branches", ["-" if number is None else f"{number:,}" for number in most]
    several = [column.with_alternatives for column in columns]
    if any(several):
        yield "with alternatives", [f"{number:,}" if number else "-" for number in several]


def _histograms(statistics: Statistics) -> Iterator[str]:
    for heading, counts in statistics.histograms.items():
        totals = {name: sum(count) for name, count in counts.items()}
        if totals:
            yield f"{heading}:"
            width, largest = max(map(len, counts)), max(1, *totals.values())
            for name, count in totals.items():
                bar = "█" * round(_WIDEST_BAR * count / largest)
                yield f"  {printable(name):<{width}}  {count:>6,}  {bar}".rstrip()
            yield ""


def question_lines(question: Question) -> Iterator[str]:
    yield f"{question.id}  {question.question}"
    yield from (f"  {step}" for step in question.meta.get("plan", ()))
    for branch in question.branches:
        sizes = question.meta.get("sizes", {}).get(branch.name, ())
        of_sizes = f" (sets of {', '.join(map(str, sizes))})" if sizes else ""
        yield f"{branch.name}{of_sizes}"
        yield f"  {'; '.join(answer.text for answer in branch.answers)}"
    for number, branches in enumerate(question.alternatives, start=1):
        yield f"alternative {number}:"
        for branch in branches:
            yield f"  {branch.name}"
            yield f"    {'; '.join(answer.text for answer in branch.answers)}"
