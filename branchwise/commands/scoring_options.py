"""Options of every command that scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.eval.bounds import MAX_CONCURRENCY

if TYPE_CHECKING:
    from branchwise.eval.costs.prices import Prices
    from branchwise.eval.scoring_choice import ScoringChoice

SCORING = "Scoring"

Matcher = Annotated[
    str | None,
    typer.Option(
        help="Who aligns branches: lexical (names), llm (the run's model) or both; "
        "MODEL, llm:MODEL or both:MODEL name another model, as in openai:gpt-5-mini.",
        metavar="WHO",
        rich_help_panel=SCORING,
    ),
]
JudgeEntities = Annotated[
    bool,
    typer.Option(
        "--judge-entities",
        help="Let a model settle answers that spelling and aliases do not.",
        rich_help_panel=SCORING,
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(help="The model that judges entities; implies them.", rich_help_panel=SCORING),
]
PriceFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="YAML with prices of models, over the built-in ones.",
        rich_help_panel=SCORING,
    ),
]


Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="A further metric, file.py:NAME, module:NAME or the name of an installed one; "
        "repeatable.",
        metavar="SPEC",
        rich_help_panel=SCORING,
    ),
]
ScanCorpus = Annotated[
    bool,
    typer.Option(
        "--scan-corpus",
        help="Read the whole corpus for answers whose passages gold does not name.",
        rich_help_panel=SCORING,
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(help="Requests to matcher and judge at a time.", min=1, max=MAX_CONCURRENCY),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        help="Seconds that a request to matcher or judge may take.",
        min=0.1,
        rich_help_panel=SCORING,
    ),
]
Attempts = Annotated[
    int,
    typer.Option(
        "--attempts",
        help="How often one of them is sent, at most.",
        min=1,
        max=100,
        rich_help_panel=SCORING,
    ),
]


def load_prices(path: Path | None) -> "Prices":
    """The built-in prices, under those of the file."""
    from branchwise.eval.costs.prices import Prices

    return Prices.load(path)


def chosen(matcher: str | None, judge_entities: bool, judge: str | None) -> "ScoringChoice | None":
    """The choice that the options say; None where they say nothing, so that the run's own holds.

    Raises InputError for what is neither a kind of matcher nor a model.
    """
    from branchwise.eval.scoring_choice import ScoringChoice

    if matcher is None and not judge_entities and judge is None:
        return None
    kind = "lexical" if matcher is None else matcher
    return ScoringChoice.parse(kind, judge_entities=judge_entities, judge=judge)


def with_metrics(choice: "ScoringChoice | None", specs: list[str] | None) -> "ScoringChoice":
    """The choice, by default names alone, with further metrics."""
    from dataclasses import replace

    from branchwise.eval.scoring_choice import BY_NAMES

    return replace(choice or BY_NAMES, metrics=tuple(specs or ()))
