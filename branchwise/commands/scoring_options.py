"""Options of every command that scores."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.agents.refusals import ApiChoice
from branchwise.base.durations import MOST_SECONDS
from branchwise.eval.bounds import MAX_CONCURRENCY, JudgePairs, ScoreVariant
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.runs.costs.prices import Prices

SCORING = "Scoring"

Matcher = Annotated[
    str | None,
    typer.Option(
        help="How to align branches: lexical (names), llm (the run's model) or both; "
        "MODEL, llm:MODEL or both:MODEL name another model, such as openai:gpt-6-luna.",
        metavar="WHO",
        rich_help_panel=SCORING,
    ),
]
JudgeEntities = Annotated[
    bool,
    typer.Option(
        "--judge-entities",
        help="Let a model judge answers that spelling and aliases leave open.",
        rich_help_panel=SCORING,
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        help="Model that judges entities (implies --judge-entities), or grades free text.",
        rich_help_panel=SCORING,
    ),
]
JudgePairsOption = Annotated[
    JudgePairs | None,
    typer.Option(
        "--judge-pairs",
        help="Free text: grade all pairs of a question's properties, or those that shared tokens "
        "align.",
        rich_help_panel=SCORING,
    ),
]
VariantOption = Annotated[
    ScoreVariant | None,
    typer.Option(
        "--variant",
        help="Free text: align graded properties one-to-one, or as CondAmbigQA's published-code "
        "does. Options and answers to them: compare by substring, subsequence, or as CAmbigNQ's "
        "published-code does. Conditional answers: F1 summed over all questions, or by group-f1.",
        rich_help_panel=SCORING,
    ),
]
JudgeCheckOption = Annotated[
    int | None,
    typer.Option(
        "--judge-check",
        help="Free text: let the judge grade this many items twice, and say how far its grades "
        "agree.",
        metavar="N",
        min=1,
        rich_help_panel=SCORING,
    ),
]
JudgeBeside = Annotated[
    str | None,
    typer.Option(
        "--judge-beside",
        help="With --judge-check: compare with another model's grades instead.",
        metavar="MODEL",
        rich_help_panel=SCORING,
    ),
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="ROLE.KEY=VALUE",
        help="Decoding of matcher or judge, repeatable: judge.temperature=0.",
        rich_help_panel=SCORING,
    ),
]
ApiOption = Annotated[
    ApiChoice | None,
    typer.Option(
        "--api",
        help="The protocol that matcher and judge are asked by. Default: the run's.",
        rich_help_panel=SCORING,
    ),
]
PriceFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="YAML file with model prices that override the built-in ones.",
        rich_help_panel=SCORING,
    ),
]


MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="Additional metric: file.py:NAME, module:NAME, the name of an installed one, or "
        "for questions back bertscore:FOLDER[@LAYER]; repeatable.",
        metavar="SPEC",
        rich_help_panel=SCORING,
    ),
]
ScanCorpus = Annotated[
    bool,
    typer.Option(
        "--scan-corpus",
        help="Search the whole corpus for answers whose passages gold does not name, also where "
        "that takes over a minute.",
        rich_help_panel=SCORING,
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(help="Concurrent requests to matcher and judge.", min=1, max=MAX_CONCURRENCY),
]
Timeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        help="Time limit in seconds of a request to matcher or judge.",
        min=0.1,
        max=MOST_SECONDS,
        rich_help_panel=SCORING,
    ),
]
Attempts = Annotated[
    int,
    typer.Option(
        "--attempts",
        help="Maximum number of attempts per request.",
        min=1,
        max=100,
        rich_help_panel=SCORING,
    ),
]


def load_prices(path: Path | None) -> Prices:
    """The built-in prices, overridden by those of the file."""
    return Prices.load(path)


def chosen(
    matcher: str | None,
    judge_entities: bool,
    judge: str | None,
    judge_pairs: JudgePairs | None = None,
    variant: ScoreVariant | None = None,
) -> ScoringChoice | None:
    """The choice that the options make; None if they make none, so that the run's own applies.

    Raises InputError for a value that is neither a kind of matcher nor a model.
    """
    if not judge_entities and (matcher, judge, judge_pairs, variant) == (None,) * 4:
        return None
    return ScoringChoice.parse(
        "lexical" if matcher is None else matcher,
        judge_entities=judge_entities,
        judge=judge,
        judge_pairs=judge_pairs,
        variant=variant,
    )


def with_metrics(choice: ScoringChoice | None, specs: list[str] | None) -> ScoringChoice:
    """The choice, by default names alone, with additional metrics."""
    from dataclasses import replace

    return replace(choice or BY_NAMES, metrics=tuple(specs or ()))
