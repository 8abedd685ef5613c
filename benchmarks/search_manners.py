"""What agents find that search in different manners, and what it costs them.

Three scripted models (`manners/`) answer generated questions over a world that none has seen, with
every variant of the system: `stops_early` searches the question and its names, `repeats_itself`
rewords the same names until its budget is spent, `reads_everything` follows each title and name
that it meets. They see what a model sees. Support is the share of the passages stating gold answers
that were retrieved. Tokens are four characters each: of all messages of each request of a model, or
of the results of tools. The retriever alone is asked the question, once.

With --recorded, the queries of a recorded run of a language model are asked again, in their order,
in each variant (BRANCHWISE_DATA names the folder that holds it, as `recorded2/base`).

    python benchmarks/search_manners.py [--recorded] [--variants base] [--work DIR]
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

from machine import describe_machine
from manners.asking import as_recorded, asks_once
from manners.measuring import KINDS, Searched, mean, of_kind, search
from manners.replaying import recorded
from manners.searching import MANNERS, Manner
from manners.worlds import INDEXES, RETRIEVER, questions, world

from branchwise.corpora.loaders import load_questions
from branchwise.graphs.agent import Agent
from branchwise.graphs.system import System

PLAIN = {"prompt_set": "paper", "budget_shown": "off", "repeat_passages": True}
"""As DeepAmbigQA's agent searches."""
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "plain": PLAIN,
    "budget shown": PLAIN | {"budget_shown": "on"},
    "repeats shortened": PLAIN | {"repeat_passages": False},
    "pages, several queries": PLAIN | {"prompt_set": "v2"},
    "default": {},
    "default, compact 3,000": {"compact": 3_000},
    "default, compact 6,000": {"compact": 6_000},
    "default, extraction by passage": {"extract": True, "extract_by": "passage"},
    "default, extraction, repeats": {"extract": True, "repeat_passages": True},
    "default, extraction": {"extract": True},
    "default, 1 a name": {"per_name": 1},
    "default, 2 a name": {"per_name": 2},
    "default, 3 a name": {"per_name": 3},
    "default, k 3": {"k": 3},
    "default, k 4": {"k": 4},
    "default, k 3, 2 a name": {"k": 3, "per_name": 2},
    "default, local_retriever alone": {"tools": ("local_retriever",)},
}
"""Settings of a `System`, beside those of all."""
MODULES = {"expand", "extract", "extract_by"}
"""Settings on which it does not depend what one search finds."""
ALWAYS = {"retriever": RETRIEVER, "k": 5, "budget": {"seconds": 36_000}}
WORLD_SEED, QUESTIONS_SEED, RECORDED_SEED = 1031, 43, 1007
DEPTHS = (5, 10, 20)


def system(corpus: Path, variant: str, **more: Any) -> System:
    """A variant over a corpus; `more` settings come before all."""
    return System.model_validate({"corpus": str(corpus), **ALWAYS, **VARIANTS[variant], **more})


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def share(value: float | None) -> str:
    """`.45`; 1.00 as it is."""
    return "" if value is None else f"{value:.2f}".removeprefix("0")


def costs(rows: Sequence[Searched]) -> list[str]:
    """Means a question."""
    return [
        share(mean([row.support for row in rows])),
        share(mean([row.recall for row in rows])),
        f"{mean([row.calls for row in rows]):.1f}",
        f"{mean([row.requests for row in rows]):.1f}",
        f"{mean([row.tokens for row in rows]):,.0f}",
        f"{sum(row.spent for row in rows)} of {len(rows)}",
    ]


COSTS = ("support", "recall", "calls", "requests", "tokens read", "budget spent")


def report_manners(found: Mapping[tuple[str, str], Sequence[Searched]]) -> None:
    """Print what each manner found in each variant, whole and by kind of question."""
    head = ("manner", "variant", *COSTS)
    print(table(head, [[*key, *costs(rows)] for key, rows in found.items()]))
    kinds = [kind for kind in KINDS if all(of_kind(rows, kind) for rows in found.values())]
    counts = [len(of_kind(next(iter(found.values())), kind)) for kind in kinds]
    print(
        table(
            ("support by kind", "variant", *map("{} ({})".format, kinds, counts)),
            [
                [*key, *(share(mean([r.support for r in of_kind(rows, k)])) for k in kinds)]
                for key, rows in found.items()
            ],
        )
    )


def report_alone(alone: Mapping[tuple[str, int], Sequence[Searched]]) -> None:
    """Print what the retriever finds of each kind of question in one search."""
    variants = list(dict.fromkeys(variant for variant, _ in alone))
    rows = [
        [variant, kind, *(share(mean([r.support for r in found])) for found in of_depths)]
        for variant in variants
        for kind in KINDS
        if all(of_depths := [of_kind(alone[variant, depth], kind) for depth in DEPTHS])
    ]
    print(table(("retriever alone", "questions", *(f"support @{k}" for k in DEPTHS)), rows))


def replay(options: argparse.Namespace, run: Path, work: Path) -> Iterator[list[str]]:
    """The rows of the replay: as recorded, then each variant."""
    turns, then = recorded(run)
    corpus, asked = world(work, RECORDED_SEED), load_questions(str(run.parent / "questions.jsonl"))
    yield ["as recorded", *_found_again(then, then)]
    for variant in options.variants:
        for paging in (False, True):
            chosen = system(corpus, variant)
            if paging and not has_pages(chosen):
                continue
            name = f"{variant}, next page for what came before" if paging else variant
            folder = work / "runs" / f"recorded-{variant}{'-paging' * paging}"
            now = search(as_recorded(turns, paging=paging), chosen, asked, folder)
            yield [name, *_found_again(now, then)]


def has_pages(system: System) -> bool:
    """Whether the search tool takes a page."""
    return any("page" in tool.args for tool in Agent(system).tools)


REPLAYED = ("support", "calls", "tokens of results", "new passages a call", "results as recorded")


def _found_again(now: Sequence[Searched], then: Sequence[Searched]) -> list[str]:
    calls = sum(len(row.results) for row in now)
    new = sum(len({id for result in row.results for id in result}) for row in now)
    both = zip(now, then, strict=True)
    pairs = [pair for a, b in both for pair in zip(a.results, b.results, strict=False)]
    return [
        share(mean([row.support for row in now])),
        f"{mean([row.calls for row in now]):.1f}",
        f"{mean([row.shown for row in now]):,.0f}",
        f"{new / calls:.2f}",
        f"{sum(a == b for a, b in pairs)} of {calls}",
    ]


def measure(options: argparse.Namespace, work: Path) -> None:
    """Print the tables that were asked for."""
    if options.manners:
        corpus = world(work, WORLD_SEED, options.retriever)
        asked = load_questions(str(questions(corpus, options.questions, QUESTIONS_SEED)))

        def run(manner: Manner, name: str, variant: str, **more: Any) -> list[Searched]:
            folder = work / "runs" / f"{name}-{variant}"
            chosen = system(corpus, variant, retriever=options.retriever, **more)
            return search(manner, chosen, asked, folder)

        print(f"{len(asked)} questions; means a question\n")
        report_manners(
            {(m, v): run(MANNERS[m], m, v) for m in options.manners for v in options.variants}
        )
        alone = [variant for variant in options.variants if MODULES.isdisjoint(VARIANTS[variant])]
        report_alone({(v, k): run(asks_once, f"once-{k}", v, k=k) for v in alone for k in DEPTHS})
    if options.recorded:
        rows = list(replay(options, options.recorded, work))
        print(table(("recorded queries", *REPLAYED), rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=[*VARIANTS])
    parser.add_argument("--manners", nargs="*", choices=MANNERS, default=[*MANNERS])
    parser.add_argument("--recorded", action="store_true", help="ask recorded queries again")
    parser.add_argument("--retriever", choices=INDEXES, default=RETRIEVER)
    parser.add_argument("--work", type=Path, help="folder that keeps worlds, indexes and runs")
    options = parser.parse_args()
    options.recorded = recorded_run() if options.recorded else None
    return options


def recorded_run() -> Path:
    data = os.environ.get("BRANCHWISE_DATA")
    run = Path(data or "") / "recorded2" / "base"
    if not data or not run.is_dir():
        problem = f"{run} is not a folder" if data else "there is no data"
        remedy = "set BRANCHWISE_DATA to the folder of data"
        print(f"--recorded: {problem}; {remedy}", file=sys.stderr)
        sys.exit(2)
    return run


def main() -> None:
    """Measure in the work folder."""
    options = _options()
    print(describe_machine(), flush=True)
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        measure(options, options.work)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(options, Path(folder))


if __name__ == "__main__":
    main()
