"""What tool results cost a recorded language model, then and now.

Every call that the model of a recorded run made is made again, in its order, with the tools as they
are now (BRANCHWISE_DATA names the folder that holds `recorded2`: the run `base` and its world).
Support is the share of the passages stating gold answers that were shown; an answer is seen where
all that state it were. Tokens are four characters each: of results, or of the messages of all
requests. What the run found at the commit that made it stands in `RECORDED`.

    python benchmarks/tool_results.py [--work DIR]
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ["HF_HUB_OFFLINE"] = "1"

from machine import describe_machine
from manners.conversation import Conversation
from manners.measuring import Searched, mean, search
from manners.offer import Calls, Offer
from manners.worlds import INDEXES, RETRIEVER, branchwise

from branchwise.base.text import one_line
from branchwise.corpora.loaders import load_questions
from branchwise.graphs.system import System
from branchwise.runs.store import open_run
from branchwise.trace.events import Model

MOST = 0.6
"""Of the tokens of then, with the support of then."""
SYSTEM = {
    "retriever": RETRIEVER,
    "k": 5,
    "tools": ("local_retriever", "open_passages"),
    "budget": {"calls": 10_000, "tokens": 10**9, "seconds": 36_000},
}


class Found(NamedTuple):
    """Of all questions together; support and answers are means of questions and of answers."""

    support: float
    answers: float
    calls: int
    passages: int
    results: float
    read: float


RECORDED = Found(0.9736, 0.9591, 206, 4135, 793_181, 2_251_634)


class RecordedCall(NamedTuple):
    name: str
    args: Mapping[str, Any]


Turns = Sequence[Sequence[RecordedCall]]


def recorded_calls(run: Path) -> Mapping[str, Turns]:
    """By question the calls of each turn."""
    reader = open_run(run)
    try:
        return {one_line(row.question.question): _turns(reader, row.item) for row in reader.items()}
    finally:
        reader.close()


def _turns(reader: Any, item: int) -> Turns:
    models = [Model.read(e.data) for e in reader.events(item) if e.kind == Model.KIND]
    turns = [[RecordedCall(str(c.name), c.args) for c in model.tool_calls] for model in models]
    return [turn for turn in turns if turn]


def as_called(recorded: Mapping[str, Turns]) -> Any:
    """The manner that makes the recorded calls, whatever comes back; a title is opened as the tool
    takes it now."""

    def calls(seen: Conversation, offer: Offer) -> Calls:
        turns = recorded[seen.question]
        made: Calls = []
        for name, args in turns[seen.turns] if seen.turns < len(turns) else ():
            opened = offer.open([args["title"]]) if name == offer.opens else [(name, dict(args))]
            made += opened
        return made

    return calls


def found(rows: Sequence[Searched]) -> Found:
    """Summed over questions."""
    shown = [{id for result in row.results for id in result} for row in rows]
    answers = [
        set(answer.support) <= ids
        for row, ids in zip(rows, shown, strict=True)
        for branch in row.question.branches
        for answer in branch.answers
    ]
    return Found(
        support=mean([row.support for row in rows]) or 0.0,
        answers=mean(list(map(float, answers))) or 0.0,
        calls=sum(row.calls for row in rows),
        passages=sum(map(len, shown)),
        results=sum(row.shown for row in rows),
        read=sum(row.tokens for row in rows),
    )


def measure(data: Path, work: Path) -> None:
    """Make the recorded calls again and print both."""
    world = work / "world"
    if not world.exists():
        shutil.copytree(data / "world", world)
    for kind in INDEXES[RETRIEVER]:
        if not (world / "index" / kind).exists():
            branchwise("corpus", "index", world, "--kind", kind)
    system = System.model_validate({"corpus": str(world), **SYSTEM})
    questions = load_questions(str(data / "questions.jsonl"))
    manner = as_called(recorded_calls(data / "base"))
    now = found(search(manner, system, questions, work / "run"))
    print("| | support | answers seen | calls | passages shown | result tokens | tokens read |")
    print("|---|---|---|---|---|---|---|")
    for name, one in (("then", RECORDED), ("now", now)):
        shares = f"{one.support:.4f} | {one.answers:.4f}"
        counts = f"{one.calls} | {one.passages:,} | {one.results:,.0f} | {one.read:,.0f}"
        print(f"| {name} | {shares} | {counts} |")
    ratios = [now.results / RECORDED.results, now.read / RECORDED.read]
    print(f"\nOf then's tokens: results {ratios[0]:.3f}, read {ratios[1]:.3f} (at most {MOST})")


def main() -> None:
    """Measure in the work folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--work", type=Path, help="folder that keeps the world's indexes")
    options = parser.parse_args()
    data = Path(os.environ.get("BRANCHWISE_DATA", "")) / "recorded2"
    if not os.environ.get("BRANCHWISE_DATA") or not (data / "base").is_dir():
        print(
            f"{data}/base is not a folder: set BRANCHWISE_DATA to the folder of data",
            file=sys.stderr,
        )
        sys.exit(2)
    print(describe_machine(), flush=True)
    if options.work:
        options.work.mkdir(parents=True, exist_ok=True)
        measure(data, options.work)
        return
    with tempfile.TemporaryDirectory() as folder:
        measure(data, Path(folder))


if __name__ == "__main__":
    main()
