"""`branchwise world`: make and inspect corpora and graphs that no model has seen."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.kg.world_folder import read_description
from branchwise.report.terminal.console import echo, harmless_json
from branchwise.report.terminal.kg_tables import print_world
from branchwise.report.terminal.progress import ProgressBar
from branchwise.worlds.make import make_world
from branchwise.worlds.survey import survey

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
        str,
        typer.Option(help="Comma-separated: movie, music, book, sports, business, science."),
    ] = "movie,music,book,sports,business,science",
) -> None:
    """Make a fictional encyclopedia and a matching knowledge graph.

    Example: branchwise world make --entities 2000 --seed 7 --out W
    """
    named = [name.strip() for name in domains.split(",") if name.strip()]
    with ProgressBar("writing", "entities") as progress:
        made = make_world(out, entities, seed, ambiguity, named, progress)
    sizes = made.sizes
    echo(
        f"{out}: {entities:,} entities, {sizes.statements:,} statements, "
        f"{sizes.passages:,} passages, {sizes.shared_names:,} shared names"
    )
    echo(f"next: branchwise world info {out}")
    echo(f"      branchwise corpus index {out} --kind bm25")


@world_app.command()
def info(
    path: Annotated[Path, typer.Argument(metavar="DIR", help="World folder.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a world from its files: degrees, passages, ambiguity and language.

    Example: branchwise world info W
    """
    description = read_description(path)
    with ProgressBar("reading", "lines") as progress:
        found = survey(path, progress)
    if json_output:
        import orjson

        both = {"world": description.model_dump(), "survey": found.model_dump()}
        options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
        echo(harmless_json(orjson.dumps(both, option=options).decode()))
    else:
        print_world(description, found)
