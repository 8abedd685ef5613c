"""A world's shape as a table for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from branchwise.base.text import printable
from branchwise.kg.world_folder import WorldDescription
from branchwise.report.terminal.console import console
from branchwise.worlds.survey import OFTEN, SAMPLE, Distribution, WorldSurvey

if TYPE_CHECKING:
    from rich.table import Table


def print_world(world: WorldDescription, survey: WorldSurvey) -> None:
    """Print how a world was made and what it looks like."""
    for line in _made(world):
        _print_whole(line)
    console().print()
    console().print(_spreads(survey))
    console().print()
    for line in (*_ambiguity(survey), *_language(survey)):
        _print_whole(line)


def _print_whole(line: str) -> None:
    """In several lines where the terminal is too narrow for it, in one in a pipe."""
    console().print(line, markup=False, soft_wrap=not console().is_terminal)


def _made(world: WorldDescription) -> Iterator[str]:
    sizes = world.sizes
    yield (
        f"{world.entities:,} entities, seed {world.seed}, ambiguity {world.ambiguity:g}, "
        f"domains {', '.join(map(printable, world.domains))}"
    )
    yield (
        f"{sizes.statements:,} statements ({sizes.triples:,} triples), "
        f"{sizes.passages:,} passages of {sizes.words:,} words"
    )
    largest = sorted(sizes.entities.items(), key=lambda entry: -entry[1])
    yield "types: " + ", ".join(f"{printable(name)} {count:,}" for name, count in largest)


def _spreads(survey: WorldSurvey) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("")
    for heading in ("mean", "median", "99%", "most"):
        table.add_column(heading, justify="right")
    rows: tuple[tuple[str, Distribution], ...] = (
        ("links of an entity", survey.links),
        ("passages of an entity", survey.passages_per_entity),
        ("words of a passage", survey.words_per_passage),
    )
    for name, spread in rows:
        whole = (f"{value:,.0f}" for value in spread[1:])
        table.add_row(name, f"{spread.mean:,.1f}", *whole)
    return table


def _ambiguity(survey: WorldSurvey) -> Iterator[str]:
    yield (
        f"ambiguity: {survey.shared_names:,} names ({survey.share_of_names_shared:.1%} of all) "
        "are shared"
    )
    if survey.bearers:
        sizes = ", ".join(f"{size}: {count:,}" for size, count in survey.bearers.items())
        yield f"names by how many share them: {sizes}"


def _language(survey: WorldSurvey) -> Iterator[str]:
    found = survey.language
    passages = f"{found.passages:,} passages"
    sample = f"a sample (the {passages} of the first {SAMPLE:,} entities)"
    measured = f"all {passages}" if survey.entities <= SAMPLE else sample
    yield (
        f"language, measured on {measured}: {found.vocabulary:,} different words of "
        f"{found.words:,} (type-token ratio {found.type_token_ratio:.3f})"
    )
    yield (
        f"sentences, names masked: {found.sentences:,}, of them {found.distinct_sentences:,} "
        f"different; {found.repeated:.2%} come more than {OFTEN} times"
    )
    if found.commonest:
        text, times = found.commonest[0]
        yield f"the commonest ({times} times): {printable(text)}"
