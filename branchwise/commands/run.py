"""`branchwise run` and `branchwise resume`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from branchwise.commands.options import QUESTIONS, Field, Key, Separator, read_keys, read_questions
from branchwise.commands.scoring_options import (
    Judge,
    JudgeEntities,
    JudgePairsOption,
    Matcher,
    MetricOption,
    PriceFile,
    VariantOption,
    chosen,
    load_prices,
    with_metrics,
)
from branchwise.commands.system_options import with_system_options
from branchwise.corpora.prompt_sets import PromptSet
from branchwise.eval.bounds import CONCURRENCY, MAX_CONCURRENCY, MAX_EPOCHS

if TYPE_CHECKING:
    from branchwise.corpora.keys import Keys
    from branchwise.eval.costs.prices import Prices
    from branchwise.eval.experiment import Run
    from branchwise.eval.scores import Scores
    from branchwise.graphs.system import System

QuestionConcurrency = Annotated[
    int, typer.Option(help="Questions at a time.", min=1, max=MAX_CONCURRENCY)
]


@with_system_options
def run(
    questions: Annotated[str, typer.Option(help=f"Question set: {QUESTIONS}.")],
    system: "System",
    field: Field = None,
    separator: Separator = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder to make. Default: runs/DATE-TIME.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Task, if it is not the question set's own.")
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(help="File with question ids, one a line: run only these.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Run at most this many questions.", min=1)
    ] = None,
    epochs: Annotated[
        int,
        typer.Option(help="Number of times that each question is answered.", min=1, max=MAX_EPOCHS),
    ] = 1,
    concurrency: QuestionConcurrency = CONCURRENCY,
    matcher: Matcher = None,
    judge_entities: JudgeEntities = False,
    judge: Judge = None,
    judge_pairs: JudgePairsOption = None,
    variant: VariantOption = None,
    metric: MetricOption = None,
    prices: PriceFile = None,
) -> None:
    """Answer a question set with a system and score it.

    Example: branchwise run --questions q.jsonl --corpus C --model openai:gpt-5-mini --out R
    """
    priced = load_prices(prices)
    scoring = with_metrics(chosen(matcher, judge_entities, judge, judge_pairs, variant), metric)
    from branchwise.corpora.keys import Keys
    from branchwise.corpora.loaders import load_questions
    from branchwise.eval import experiment
    from branchwise.eval.tasks import gold_of
    from branchwise.ui.progress import RunProgress

    loaded = load_questions(read_questions(questions, field, separator), gold_of=gold_of(task))
    several = system.extract or asks_several(task or loaded.task)
    allow_open_files(concurrency, several=several)
    selection = experiment.Selection(_read_ids(ids), limit)
    total = len(selection.of(loaded)) * epochs
    with RunProgress(total) as progress:
        made = experiment.run(
            loaded,
            system,
            out=out,
            task=task,
            selection=selection,
            epochs=epochs,
            concurrency=concurrency,
            observer=progress,
            scoring=scoring,
        )
    finish(made, priced, Keys(system.keys))


def resume(
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
    prompt_set: Annotated[
        PromptSet | None, typer.Option(help="The set of prompts that the run began with.")
    ] = None,
    key: Key = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            help="Header of requests to model servers, repeatable; before the run's of that name.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed items again.")
    ] = False,
    concurrency: QuestionConcurrency = CONCURRENCY,
) -> None:
    """Continue a run that was killed or interrupted; nothing recorded is asked for again.

    Example: branchwise resume runs/20260102-150405
    """
    from branchwise.eval import experiment
    from branchwise.eval.store import open_run
    from branchwise.ui.progress import RunProgress

    keys = read_keys(key)
    reader = open_run(path)
    counts, extracts = reader.progress(), bool(reader.meta["system"].get("extract"))
    several = extracts or asks_several(reader.task)
    reader.close()
    allow_open_files(concurrency, several=several)
    ended = counts["done"] + (0 if retry_failed else counts["failed"])
    with RunProgress(counts["total"], ended) as progress:
        continued = experiment.resume(
            path,
            corpus=corpus,
            retriever=retriever,
            reranker=reranker,
            model=model,
            expander=expander,
            extractor=extractor,
            kg=kg,
            prompt_set=prompt_set,
            concurrency=concurrency,
            retry_failed=retry_failed,
            observer=progress,
            keys=keys,
            headers=header or (),
        )
    finish(continued, keys=keys)


def asks_several(task: str) -> bool:
    """Whether a question of the task may have several conversations at a time."""
    from branchwise.eval.tasks import get_task

    flow = get_task(task).flow
    return any(one.conversations > 1 for one in (flow, *flow.protocols.values()))


def allow_open_files(concurrency: int, *, several: bool = False, runs: int = 1) -> None:
    """Let this process hold a connection for each question at a time, as far as the system goes.

    With extraction and in pipelines a question has `several`; each of `runs` has files of its own.
    Many systems start a process with 256 or 1024 open files and let it ask for more.
    """
    import resource

    # 1,000 connections at a time are the most that the client opens to a server.
    needed = 2 * concurrency + 128 + (min(32 * concurrency, 1000) if several else 0) + 8 * runs
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))


def finish(made: "Run", prices: "Prices | None" = None, keys: "Keys | None" = None) -> None:
    """Say how the run ended: its scores where it is whole, how to go on where it is not."""
    from branchwise.ui.console import error_console

    if made.state.stopped:
        error_console().print(
            f"Stopped: {made.state.stopped}. Nothing is lost; continue with:\n"
            f"  branchwise resume {made.path}",
            markup=False,
            soft_wrap=True,
        )
        sys.exit(1)
    counts = show_scores(made, prices, keys).counts
    if counts.failed:
        error_console().print(
            f"{counts.failed} of {counts.items} items failed and count 0; again with:\n"
            f"  branchwise resume {made.path} --retry-failed",
            markup=False,
            soft_wrap=True,
        )
    if counts.failed == counts.items:
        sys.exit(1)


def show_scores(
    made: "Run", prices: "Prices | None" = None, keys: "Keys | None" = None
) -> "Scores":
    """Score the run, print its tables, and return the scores."""
    from branchwise.commands.score import exit_if_in_vain, print_runs, score_and_save
    from branchwise.corpora.keys import NO_KEYS
    from branchwise.eval.reporting.study_report import SystemReport
    from branchwise.eval.scoring import ScoringSettings
    from branchwise.ui.console import console

    scored = score_and_save(made.path, ScoringSettings(prices=prices, keys=keys or NO_KEYS))
    print_runs([SystemReport(made.path.name, scored)], brief=True)
    console().print(f"\nRun: {made.path}", markup=False, soft_wrap=True)
    exit_if_in_vain(scored.settled, scored.scores)
    return scored.scores


def _read_ids(path: Path | None) -> list[str] | None:
    if path is None:
        return None
    from branchwise.corpora.errors import InputError

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(
            f"cannot be read ({why})", where=str(path), remedy="name a file of ids, one a line"
        ) from error
    return [line.strip() for line in lines if line.strip()]
