"""The options of `branchwise run` and `branchwise resume`."""

from pathlib import Path
from typing import Annotated

import typer

from branchwise.agents.headers import read_headers
from branchwise.commands.declared_options import (
    DryRun,
    EstimateFrom,
    check_forecast,
    is_given,
    with_options,
)
from branchwise.commands.options import (
    QUESTIONS,
    AsJson,
    Field,
    Header,
    Key,
    RetryFailed,
    Separator,
    read_keys,
    read_questions,
)
from branchwise.graphs.system import System
from branchwise.runs.options import PaceOptions, RunOptions, ScoreOptions


@with_options
def run(
    *,
    questions: Annotated[str, typer.Option(help=f"Question set: {QUESTIONS}.")],
    field: Field = None,
    separator: Separator = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder to make. Default: runs/DATE-TIME.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(help="File with question ids, one a line: run only these.")
    ] = None,
    options: RunOptions,
    dry_run: DryRun = False,
    estimate_from: EstimateFrom = None,
    json_output: AsJson = False,
    scoring: ScoreOptions,
    system: System,
) -> None:
    """Answer a question set with a system and score it.

    Example: branchwise run --questions q.jsonl --corpus C --model openai:gpt-6-luna --out R
    """
    check_forecast(options.pilot, estimate_from, dry_run=dry_run)
    from branchwise.commands.running import answer_questions  # help does not need it

    answer_questions(
        read_questions(questions, field, separator),
        ids,
        system,
        options,
        scoring,
        out=out,
        forecast_from=estimate_from,
        is_forecast=dry_run,
        names_model=is_given("model"),
        as_json=json_output,
    )


@with_options
def resume(
    *,
    path: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder to continue.")],
    corpus: Annotated[
        Path | None, typer.Option(help="Where the run's corpus is now, if it has moved.")
    ] = None,
    retriever: Annotated[
        str | None,
        typer.Option(help="The same retriever elsewhere: http:URL, flashrag:FILE or file.py:NAME."),
    ] = None,
    reranker: Annotated[
        Path | None, typer.Option(help="Where the run's cross-encoder is now, if it has moved.")
    ] = None,
    kg: Annotated[
        str | None, typer.Option(help="Where the run's graph is now, if it has moved.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The same model at another address: openai:NAME@URL.")
    ] = None,
    expander: Annotated[
        str | None, typer.Option(help="The same expander at another address.")
    ] = None,
    extractor: Annotated[
        str | None, typer.Option(help="The same extractor at another address.")
    ] = None,
    key: Key = None,
    header: Header = None,
    retry_failed: RetryFailed = False,
    pace: PaceOptions,
    json_output: AsJson = False,
) -> None:
    """Continue a run that was killed or interrupted; nothing recorded is asked for again.

    Exits with 1 if items failed, of this pass or an earlier one.

    Example: branchwise resume runs/20260102-150405
    """
    from branchwise.commands.running import continue_run

    continue_run(
        path,
        pace,
        read_keys(key),
        as_json=json_output,
        corpus=corpus,
        retriever=retriever,
        reranker=reranker,
        kg=kg,
        model=model,
        expander=expander,
        extractor=extractor,
        headers=read_headers(header or ()),
        retry_failed=retry_failed,
    )
