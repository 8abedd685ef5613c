"""What a graph holds and answers, as tables for a terminal and as lines for a pipe.

Rows go to standard output; what there is to know about them, to standard error.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from branchwise.corpora.graph.answers import Match, QueryResult, Term
from branchwise.tools.graph_text import short_iri
from branchwise.ui.console import console, error_console, print_line, printable
from branchwise.ui.graph_advice import for_people
from branchwise.ui.graph_layout import one_by_one, table_within

if TYPE_CHECKING:
    from rich.console import Console


def print_answer(answer: QueryResult, source: str) -> None:
    """Print rows with labels beside the numbers, and what there is to know about them."""
    if answer.boolean is not None:
        print_line(console(), "yes" if answer.boolean else "no")
    elif answer.rows or not console().is_terminal:
        print_rows(
            [printable(name) for name in answer.variables],
            [
                [
                    _cell(answer, name, term)
                    for name, term in zip(answer.variables, row, strict=True)
                ]
                for row in answer.rows
            ],
        )
    if answer.boolean is None and not answer.rows:
        print_note("no rows")
    if not answer.complete:
        print_note(f"there are more than these {len(answer.rows):,} rows")
    for note in answer.notes:
        print_note(printable(for_people(note, source)))


def print_matches(text: str, matches: Sequence[Match]) -> None:
    """Print what was found by name, a thing a row, and which of it is a guess."""
    guesses = sum(match.near for match in matches)
    if not matches:
        print_note(f'nothing is called "{printable(text)}"; try another spelling or fewer words')
        return
    if guesses == len(matches):
        print_note(f'nothing is called "{printable(text)}"; the nearest names are:')
    headings = ("id", "name", "what it is", "statements")
    rows = [
        (printable(it.id), printable(_named(it)), printable(_about(it)), f"{it.statements:,}")
        for it in matches
    ]
    print_rows(headings, rows)
    if 0 < guesses < len(matches):
        last = f"last {guesses} are" if guesses > 1 else "last one is"
        print_note(f"the {last} only near what was asked for")


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, or where it is too narrow each row by itself; elsewhere a line a
    row, with tabs."""
    screen = console()
    if not screen.is_terminal:
        for row in (headings, *rows):
            screen.file.write("\t".join(row) + "\n")  # rich would make spaces of the tabs
    elif table := table_within(headings, rows, screen.width):
        screen.print(table)
    else:
        for line in one_by_one(headings, rows, screen.width):
            _print_whole(screen, line, soft_wrap=True)


def print_note(text: str) -> None:
    """Something to know, on standard error."""
    print_sentence(error_console(), text)


def print_sentence(screen: "Console", text: str) -> None:
    """Text that is wrapped on a terminal between its words, and in one line elsewhere."""
    fits = screen.is_terminal and all(len(word) <= screen.width for word in text.split())
    _print_whole(screen, text, soft_wrap=not fits)


def _print_whole(screen: "Console", text: str, *, soft_wrap: bool) -> None:
    screen.print(text, markup=False, emoji=False, soft_wrap=soft_wrap)


def _named(match: Match) -> str:
    return match.label if match.name == match.label else f"{match.label} ({match.name})"


def _about(match: Match) -> str:
    return match.description or ", ".join(match.types)


def _cell(answer: QueryResult, variable: str, term: Term | None) -> str:
    if term is None:
        return ""
    if term.kind != "iri":
        return printable(term.value)
    label = answer.labels.get(term.value)
    named = label and f"{variable}Label" not in answer.variables
    return printable(f"{short_iri(term.value)} {label}" if named else short_iri(term.value))
