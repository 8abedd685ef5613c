"""A graph's contents and answers, as tables for a terminal and as lines for a pipe.

Rows go to standard output; what there is to know about them, to standard error.
"""

import dataclasses
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.base.numbers import rounded
from branchwise.base.text import counted, printable
from branchwise.kg.answers import Match, QueryResult, Term
from branchwise.kg.names.index import NameReadings
from branchwise.kg.store import KgDescription
from branchwise.kg.vocabulary import is_wikidata_id
from branchwise.kg.world_folder import WorldDescription
from branchwise.report.terminal.cells import counts_table
from branchwise.report.terminal.console import console, error_console, print_line
from branchwise.tools.result_text import class_size, short_iri
from branchwise.worlds.survey import OFTEN, SAMPLE, WorldSurvey

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def print_answer(answer: QueryResult, source: str) -> None:
    """Print rows with labels beside the numbers, then notes on them."""
    if answer.boolean is not None:
        print_line(console(), "yes" if answer.boolean else "no")
    elif answer.rows or not console().is_terminal:
        rows = []
        for row in answer.rows:
            pairs = zip(answer.variables, row, strict=True)
            rows.append([_cell(answer, name, term) for name, term in pairs])
        print_rows([printable(name) for name in answer.variables], rows)
    if answer.boolean is None and not answer.rows:
        print_note("no rows")
    if not answer.complete:
        print_note(f"there are more than these {len(answer.rows):,} rows")
    for note in answer.notes:
        print_note(printable(for_people(note, source)))


def print_matches(text: str, matches: Sequence[Match]) -> None:
    """Print the entities found by name, one a row, and which of them are guesses."""
    guesses = sum(match.near for match in matches)
    if not matches:
        print_note(f'nothing is called "{printable(text)}"; try another spelling or fewer words')
        return
    if guesses == len(matches):
        print_note(f'nothing is called "{printable(text)}"; the nearest names are:')
    rows = []
    for it in matches:
        name = it.label if it.name == it.label else f"{it.label} ({it.name})"
        size = [class_size(it.members)] * bool(it.members)
        about = "; ".join([it.description or ", ".join(it.types), *size]).removeprefix("; ")
        rows.append([*map(printable, (it.id, name, about)), f"{it.statements:,}"])
    print_rows(("id", "name", "what it is", "statements"), rows)
    if 0 < guesses < len(matches):
        last = f"last {guesses} are" if guesses > 1 else "last one is"
        print_note(f"the {last} only near what was asked for")


def print_rows(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table, or where a terminal is too narrow each row by itself; in a pipe tabs."""
    screen = console()
    if not screen.is_terminal:
        for row in (headings, *rows):
            screen.file.write("\t".join(row) + "\n")  # rich would make spaces of the tabs
    elif table := table_within(headings, rows, screen.width):
        screen.print(table)
    else:
        for line in one_by_one(headings, rows, screen.width):
            screen.print(line, markup=False, emoji=False, soft_wrap=True)


def print_note(text: str) -> None:
    print_sentence(error_console(), text)


def print_sentence(screen: "Console", text: str) -> None:
    """Text that is wrapped on a terminal between its words, and in one line elsewhere."""
    fits = screen.is_terminal and all(len(word) <= screen.width for word in text.split())
    screen.print(text, markup=False, emoji=False, soft_wrap=not fits)


def _cell(answer: QueryResult, variable: str, term: Term | None) -> str:
    if term is None:
        return ""
    if term.kind != "iri":
        return printable(term.value)
    label = answer.labels.get(term.value)
    named = label and f"{variable}Label" not in answer.variables
    return printable(f"{short_iri(term.value)} {label}" if named else short_iri(term.value))


_GAP = 2  # characters between columns
_NARROWEST = 24  # characters of a column of text that is wrapped
_NUMBER = re.compile(r"[-+]?[\d,]*\.?\d+(?:[eE][-+]?\d+)?|")


def table_within(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> "Table | None":
    """A table of at most `width` characters; None where that would break a word (an IRI)."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _widths(headings, rows, width)
    if widths is None:
        return None
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column, (heading, wide) in enumerate(zip(headings, widths, strict=True)):
        numbers = all(_NUMBER.fullmatch(row[column]) for row in rows)
        table.add_column(Text(heading), width=wide, justify="right" if numbers else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def one_by_one(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Lines: a value after its heading, with a blank line between rows. Long text is wrapped."""
    margin = max(map(len, headings), default=0) + _GAP
    for number, row in enumerate(rows):
        if number:
            yield ""
        for heading, value in zip(headings, row, strict=True):
            yield from textwrap.wrap(
                value,
                max(width, margin + _NARROWEST),
                initial_indent=heading.ljust(margin),
                subsequent_indent=" " * margin,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [heading]


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """How wide columns are, the widest narrowed as needed; None where they do not fit."""
    from rich.cells import cell_len

    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(cell_len, cells)) for cells in columns]
    longest = [max(map(cell_len, " ".join(cells).split() or [""])) for cells in columns]
    least = [min(w, max(long, _NARROWEST)) for w, long in zip(widths, longest, strict=True)]
    room = width - (_GAP + 1) * (len(columns) - 1)
    if sum(least) > room:
        return None
    while (over := sum(widths) - room) > 0:
        spare = [wide - low for wide, low in zip(widths, least, strict=True)]
        widest = max(range(len(widths)), key=lambda at: (spare[at] > 0, widths[at]))
        widths[widest] -= max(1, min(over, spare[widest]) // 2)
    return widths


_NO_MENTION = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|<[^<>\s]*>|#[^\n]*')
_EVERYTHING = re.compile(r"[^{]*?\bSELECT\s+(?:(?:DISTINCT|REDUCED)\s+)?\*", re.IGNORECASE)
_VARIABLE = re.compile(r"[?$](\w+)")


def for_people(text: str, source: str) -> str:
    """Turn advice to call a tool into advice to run a command. `source`: the graph queried."""
    command = f'branchwise kg search {shlex.quote(source)} "..."'
    text = text.replace('wikidata_search(kind="property")', f"`{command} --kind property`")
    text = text.replace("call wikidata_search", "use wikidata_search")
    return text.replace("wikidata_search", f"`{command}`")


def columns_as_mentioned(answer: QueryResult, sparql: str) -> QueryResult:
    """Columns of `SELECT *`, which SPARQL leaves in any order, as the query mentions them first."""
    query = _NO_MENTION.sub(" ", sparql)
    if _EVERYTHING.match(query) is None:
        return answer
    mentioned = list(dict.fromkeys(_VARIABLE.findall(query)))
    indexes = {name: index for index, name in enumerate(mentioned)}
    order = sorted(
        range(len(answer.variables)),
        key=lambda column: indexes.get(answer.variables[column], len(indexes)),
    )
    return dataclasses.replace(
        answer,
        variables=tuple(answer.variables[column] for column in order),
        rows=tuple(tuple(row[column] for column in order) for row in answer.rows),
    )


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def print_kg(
    path: str, kg: KgDescription, names: NameReadings, properties: Sequence[Match]
) -> None:
    """Print a graph's size, source, what its names were read from, and its main properties."""
    screen = console()
    for line in _described(path, kg, names, properties):
        print_sentence(screen, line)
    if properties:
        screen.print()
        rows = [(f"{it.statements:,}", printable(it.id), printable(it.label)) for it in properties]
        print_rows(("uses", "property", "label"), rows)


def sizes(kg: KgDescription, names: NameReadings) -> str:
    """Triples and entities, and how many have nothing but a name."""
    entities = counted(kg.entities, "entity", "entities")
    if alone := names.names_alone:
        entities += f" ({alone:,} of them named only, as classes and genres often are)"
    shared = counted(kg.shared_names, "shared name")
    return f"{counted(kg.triples, 'triple')}, {entities}, {shared}"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one: "512 bytes", "1.5 KiB"."""
    amount, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if amount < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return counted(count, "byte") if unit == _UNITS[0] else f"{amount:,.1f} {unit}"


def _described(
    path: str, kg: KgDescription, names: NameReadings, properties: Sequence[Match]
) -> Iterator[str]:
    yield printable(f"{path}: {sizes(kg, names)}")
    for source in kg.sources:
        yield printable(f"from {source.name}, {size(source.bytes)} of triples")
    yield printable(f"SHA-256 {kg.sha256}")
    unlabelled = ""
    if names.unlabelled:
        numbers = any(is_wikidata_id(it.id) for it in properties)
        by = "number" if numbers else "the end of their IRI"
        unlabelled = f", {names.unlabelled:,} of those in use without a label (found by {by} only)"
    entities, own = counted(kg.names, "name"), counted(kg.properties, "property", "properties")
    yield f"{entities} of entities; {own}{unlabelled}"
    predicates = {
        "labels": names.labels,
        "aliases": names.aliases,
        "descriptions": names.descriptions,
        "types": names.types,
    }
    for words, iris in predicates.items() if any(predicates.values()) else ():
        yield printable(f"read as {words}: {', '.join(map(short_iri, iris)) or 'none'}")


def print_world(world: WorldDescription, survey: WorldSurvey) -> None:
    """Print how a world was made and what it looks like; wrapped on a terminal alone."""
    screen = console()
    for line in _made(world):
        screen.print(line, markup=False, soft_wrap=not screen.is_terminal)
    table = counts_table("", ("mean", "median", "99%", "most"))
    for name, spread in (
        ("links of an entity", survey.links),
        ("passages of an entity", survey.passages_per_entity),
        ("words of a passage", survey.words_per_passage),
    ):
        table.add_row(name, f"{spread.mean:,.1f}", *(f"{value:,.0f}" for value in spread[1:]))
    screen.print()
    screen.print(table)
    screen.print()
    for line in _language(survey):
        screen.print(line, markup=False, soft_wrap=not screen.is_terminal)


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
    if turned := {name: percent for name, percent in world.dials if percent}:
        yield "dials: " + ", ".join(f"{name} {percent}" for name, percent in turned.items())
    largest = sorted(sizes.entities.items(), key=lambda entry: -entry[1])
    yield "types: " + ", ".join(f"{printable(name)} {count:,}" for name, count in largest)


def _language(survey: WorldSurvey) -> Iterator[str]:
    shared = rounded(100 * survey.share_of_names_shared, 1)
    yield f"ambiguity: {survey.shared_names:,} names ({shared}% of all) are shared"
    if survey.bearers:
        sizes = ", ".join(f"{size}: {count:,}" for size, count in survey.bearers.items())
        yield f"names by how many share them: {sizes}"
    language = survey.language
    passages = f"{language.passages:,} passages"
    sample = f"a sample (the {passages} of the first {SAMPLE:,} entities)"
    measured = f"all {passages}" if survey.entities <= SAMPLE else sample
    yield (
        f"language, measured on {measured}: {language.vocabulary:,} different words of "
        f"{language.words:,} (type-token ratio {language.type_token_ratio:.3f})"
    )
    yield (
        f"sentences, names masked: {language.sentences:,}, of them {language.distinct_sentences:,} "
        f"different; {rounded(100 * language.repeated, 2)}% come more than {OFTEN} times"
    )
    if language.commonest:
        text, times = language.commonest[0]
        yield f"the commonest ({times} times): {printable(text)}"
