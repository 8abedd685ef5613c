"""`branchwise kg` and `branchwise world`: graphs, and the worlds that some are made of."""

import shlex
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import orjson
import typer

from branchwise.base.errors import InputError
from branchwise.base.text import printable
from branchwise.commands.options import AsJson, Key, read_keys
from branchwise.kg.answers import KgError
from branchwise.kg.build import build_kg, kg_files
from branchwise.kg.dials import dials_for
from branchwise.kg.names.index import NameIndex
from branchwise.kg.open import IN_A_WORLD, kg_folder, open_kg
from branchwise.kg.store import check_kg, read_description
from branchwise.kg.world_folder import read_description as read_world
from branchwise.report.terminal.console import echo, harmless_json, print_json
from branchwise.report.terminal.kg_tables import (
    columns_as_mentioned,
    for_people,
    print_answer,
    print_kg,
    print_matches,
    print_world,
    sizes,
)
from branchwise.report.terminal.progress import ProgressBar
from branchwise.worlds.make import make_world
from branchwise.worlds.survey import survey

kg_app = typer.Typer(no_args_is_help=True, add_completion=False)

_PROPERTIES_SHOWN = 20
# What the user can correct; other errors come from the graph or its server.
_BAD_INPUT = frozenset({"syntax", "refused", "unknown"})


class Kind(StrEnum):
    """What to search."""

    item = "item"
    property = "property"


KgSource = Annotated[
    str, typer.Argument(metavar="SRC", help="Graph or world folder, or an endpoint's address.")
]


@kg_app.command()
def build(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SRC...", help="N-Triples or Turtle, plain, .gz or .zst; or a world folder."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Graph folder to make. Default for a world: its kg/.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a graph even if it was built from other files.")
    ] = False,
) -> None:
    """Make a graph folder: a store and an index of names. Interrupting it changes nothing. A graph
    built from files of the same names is rebuilt.

    Example: branchwise kg build W
    """
    kg_files(sources)  # a missing source is reported before a missing --out
    is_world = len(sources) == 1 and sources[0].is_dir()
    if out is None and not is_world:
        raise InputError("no folder is named for the graph", remedy="name one with --out")
    folder = out or sources[0] / IN_A_WORLD
    with ProgressBar("reading", "triples") as progress:
        built = build_kg(sources, folder, progress, force=force)
    echo(f"{folder}: {sizes(built, NameIndex.open(folder).readings())}")
    echo(f'next: branchwise kg search {shlex.quote(str(folder))} "..."')


@kg_app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Graph or world folder.")],
    json_output: AsJson = False,
) -> None:
    """Show what a graph folder contains.

    Example: branchwise kg info W
    """
    folder = kg_folder(path)
    check_kg(folder)
    description, names = read_description(folder), NameIndex.open(folder)
    try:
        properties, readings = names.most_used_properties(_PROPERTIES_SHOWN), names.readings()
    except KgError as error:
        raise typer.Exit(_complain(error, str(path))) from None
    if json_output:
        used = [{"id": it.id, "label": it.label, "uses": it.statements} for it in properties]
        facts = {"graph": description.model_dump(), "names": readings._asdict()}
        print_json(facts | {"properties": used})
        return
    print_kg(str(folder), description, readings, properties)


@kg_app.command()
def query(
    source: KgSource,
    sparql: Annotated[str, typer.Argument(metavar="SPARQL", help="A query, as for Wikidata.")],
    seconds: Annotated[
        float, typer.Option(help="Stop the query after this time.", min=0.1, max=600)
    ] = 10,
    key: Key = None,
    json_output: AsJson = False,
) -> None:
    """Answer a SPARQL query as an agent's would be: read-only, with a deadline.

    Example: branchwise kg query W "SELECT ?film ?filmLabel WHERE { ?film wdt:P31 wd:Q11424 }"
    """
    kg = open_kg(source, read_keys(key))
    try:
        answer = columns_as_mentioned(kg.query(sparql, seconds), sparql)
    except KgError as error:
        raise typer.Exit(_complain(error, source)) from None
    finally:
        kg.close()
    if json_output:
        rows = [[term and term._asdict() for term in row] for row in answer.rows]
        print_json(asdict(replace(answer, rows=())) | {"rows": rows})
        return
    print_answer(answer, source)


@kg_app.command()
def search(
    source: KgSource,
    text: Annotated[str, typer.Argument(help="A name, an alias, or a phrase for a property.")],
    kind: Annotated[Kind, typer.Option(help="What to look for.")] = Kind.item,
    limit: Annotated[int, typer.Option(help="How many names.", min=1, max=50)] = 8,
    key: Key = None,
    json_output: AsJson = False,
) -> None:
    """Find entities by name, with all that share it, or properties by phrase.

    Example: branchwise kg search W "Reef"
    """
    if not text.strip():
        raise InputError("the text is empty", remedy="put a name in quotes after the graph")
    kg = open_kg(source, read_keys(key))
    try:
        matches = kg.search(text, kind.value, limit)
    except KgError as error:
        raise typer.Exit(_complain(error, source)) from None
    finally:
        kg.close()
    if json_output:
        print_json([match._asdict() for match in matches])
        return
    print_matches(text, matches)


def _complain(error: KgError, source: str) -> int:
    """Print what a graph says, which may point into a line of the query; the exit code."""
    for number, line in enumerate(for_people(str(error), source).splitlines()):
        typer.echo(("" if number else "branchwise: ") + printable(line), err=True)
    return 2 if error.kind in _BAD_INPUT else 1


world_app = typer.Typer(no_args_is_help=True, add_completion=False)


@world_app.command()
def make(
    entities: Annotated[int, typer.Option(help="How many entities.")],
    out: Annotated[Path, typer.Option(help="World folder to make.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same world.")] = 1,
    ambiguity: Annotated[
        float,
        typer.Option(help="Approximate share of names that 2 to 14 entities share, 0 to 0.7."),
    ] = 0.1,
    domains: Annotated[
        str, typer.Option(help="Comma-separated: movie, music, book, sports, business, science.")
    ] = "movie,music,book,sports,business,science",
    difficulty: Annotated[
        str, typer.Option(help="How hard it is to empty by search: easy, standard, hard.")
    ] = "easy",
    dial: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PERCENT", help="One part of the difficulty; repeatable."),
    ] = None,
) -> None:
    """Make a fictional encyclopedia and a matching knowledge graph.

    Example: branchwise world make --entities 2000 --seed 7 --out W
    """
    named = [name.strip() for name in domains.split(",") if name.strip()]
    dials = dials_for(difficulty, dial or ())
    with ProgressBar("writing", "entities") as progress:
        made = make_world(out, entities, seed, ambiguity, named, dials, progress)
    counts = f"{entities:,} entities, {made.sizes.statements:,} statements"
    names = f"{made.sizes.passages:,} passages, {made.sizes.shared_names:,} shared names"
    echo(f"{out}: {counts}, {names}")
    echo(f"next: branchwise world info {out}")
    echo(f"      branchwise corpus index {out} --kind bm25")


@world_app.command("info")
def world_info(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="World folder.")],
    json_output: AsJson = False,
) -> None:
    """Measure a world from its files: degrees, passages, ambiguity and language.

    Example: branchwise world info W
    """
    description = read_world(path)
    with ProgressBar("reading", "lines") as progress:
        surveyed = survey(path, progress)
    if json_output:
        both = {"world": description.model_dump(), "survey": surveyed.model_dump()}
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        echo(harmless_json(orjson.dumps(both, option=options).decode()))
    else:
        print_world(description, surveyed)
