"""What a graph holds and answers, as tables for a terminal and as lines for a pipe."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.corpora.graph.answers import Answer, Match, Term
from branchwise.corpora.graph.description import GraphDescription
from branchwise.tools.graph_text import short_iri
from branchwise.ui.console import console, print_line, printable

if TYPE_CHECKING:
    from rich.table import Table


def print_graph(path: str, graph: GraphDescription, properties: Sequence[Match]) -> None:
    """Print the size of a graph, where it comes from, and its most used properties."""
    for line in _described(path, graph):
        print_line(console(), line)
    if properties:
        console().print()
        rows = [(f"{it.statements:,}", printable(it.id), printable(it.label)) for it in properties]
        _print_rows(("uses", "property", "label"), rows)


def print_answer(answer: Answer) -> None:
    """Print rows with labels beside the numbers, and what there is to know about them."""
    if answer.boolean is not None:
        print_line(console(), "yes" if answer.boolean else "no")
    elif answer.rows:
        _print_rows(
            [printable(name) for name in answer.variables],
            [
                [
                    _cell(answer, name, term)
                    for name, term in zip(answer.variables, row, strict=True)
                ]
                for row in answer.rows
            ],
        )
    else:
        print_line(console(), "no rows")
    if not answer.complete:
        print_line(console(), f"there are more than these {len(answer.rows):,} rows")
    for note in answer.notes:
        print_line(console(), printable(note))


def print_matches(matches: Sequence[Match]) -> None:
    """Print what was found by name, a thing a row."""
    headings = ("id", "name", "what it is", "statements")
    rows = [
        (printable(it.id), printable(_named(it)), printable(_about(it)), f"{it.statements:,}")
        for it in matches
    ]
    _print_rows(headings, rows)


def _described(path: str, graph: GraphDescription) -> Iterator[str]:
    yield printable(f"{path}: {graph.triples:,} triples")
    yield (
        f"{graph.entities:,} entities with {graph.names:,} names, "
        f"of which {graph.shared_names:,} are shared; {graph.properties:,} properties"
    )
    for source in graph.sources:
        yield printable(f"from {source.name}, {source.bytes / 2**20:,.1f} MiB of triples")
    yield printable(f"SHA-256 {graph.sha256}")


def _named(match: Match) -> str:
    return match.label if match.name == match.label else f"{match.label} ({match.name})"


def _about(match: Match) -> str:
    return match.description or ", ".join(match.types)


def _cell(answer: Answer, variable: str, term: Term | None) -> str:
    if term is None:
        return ""
    if term.kind != "iri":
        return printable(term.value)
    label = answer.labels.get(term.value)
    named = label and f"{variable}Label" not in answer.variables
    return printable(f"{short_iri(term.value)} {label}" if named else short_iri(term.value))


def _print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; elsewhere a line a row, with tabs."""
    screen = console()
    if screen.is_terminal:
        screen.print(_table(headings, rows))
        return
    for row in (headings, *rows):
        screen.file.write("\t".join(row) + "\n")  # rich would make spaces of the tabs


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(Text(heading), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
