"""What scoring by a judge's kept grades costs: `branchwise score --judge`, as a whole command.

Questions of 3 gold properties with 3 predicted ones each, their texts made up and all different, so
that every pair takes a request for its condition and one for its answer: 18 a question. Kept
replies have 20 alternatives with log-probabilities. Nothing is sent: the judge's address is closed.
CPU seconds of the command and all that it starts; the second number is of 1 question, which is
starting.

    python benchmarks/grading.py [--sizes 500 1000 2000] [--repeats 3]
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from machine import describe_machine

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import Slot
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.reply import Completion, ReplyToken
from branchwise.agents.spec import ModelSpec
from branchwise.corpora.loaders import load_questions
from branchwise.eval.judging.grading import GRADING, TOP_LOGPROBS, Grader, property_requests
from branchwise.eval.predictions_file import read_predictions
from branchwise.eval.tasks import get_task
from branchwise.runs.store.results import file_judgements
from branchwise.trace.parts import Usage

AIM_SECONDS, AIM_SIZE = 10.0, 2000
PROPERTIES, WORDS = 3, 25
JUDGE = "openai:judge@http://127.0.0.1:9/v1"


class Measured(NamedTuple):
    """One scoring: CPU seconds, and seconds until it ended."""

    cpu: float
    wall: float


def write_case(folder: Path, size: int) -> tuple[Path, Path]:
    """Questions, predictions, and beside them the judge's replies to all that they need."""
    draw = random.Random(size)
    questions, predictions = folder / f"q{size}.jsonl", folder / f"p{size}.jsonl"
    gold, said = list(_lines(draw, size)), list(_lines(draw, size))
    questions.write_text("\n".join(json.dumps(one) for one in gold))
    told = [{"id": one["id"], "answers": one["answers"]} for one in said]
    predictions.write_text("\n".join(map(json.dumps, told)))
    asyncio.run(_keep(questions, predictions, draw))
    return questions, predictions


def _lines(draw: random.Random, size: int) -> Iterator[dict[str, Any]]:
    for n in range(size):
        answers = {f"{_text(draw, 8)}": [_text(draw, WORDS)] for _ in range(PROPERTIES)}
        yield {"id": f"q{n}", "question": _text(draw, 10), "ambiguous": True, "answers": answers}


def _text(draw: random.Random, words: int) -> str:
    return " ".join(f"w{draw.randrange(5_000)}" for _ in range(words))


async def _keep(questions: Path, predictions: Path, draw: random.Random) -> None:
    """As a run of the judge would leave it."""
    caller = ModelCaller(ModelSpec.parse(JUDGE), Decoding(**GRADING), Prompts.load())
    items = read_predictions(predictions, load_questions(str(questions)))
    with file_judgements(predictions) as kept:
        grader = Grader(caller, kept, "judge")
        for request in property_requests(items, get_task("condambigqa")):
            slot = Slot(grader.key(request), 0, None)
            await kept.keep(slot, _reply(draw).payload(0.5))
    await caller.aclose()


def _reply(draw: random.Random) -> Completion:
    chances = tuple((str(n), -draw.random() * 9) for n in range(TOP_LOGPROBS))
    said = str(draw.randrange(10))
    return Completion(said, "stop", usage=Usage(600, 1), tokens=(ReplyToken(said, chances),))


def measure(questions: Path, predictions: Path) -> Measured:
    """Score in a fresh process."""
    command = [
        *(sys.executable, "-m", "branchwise", "score", "--task", "condambigqa"),
        *("--questions", str(questions), "--predictions", str(predictions), "--judge", JUDGE),
    ]
    before, began = os.times(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after, wall = os.times(), time.perf_counter() - began
    cpu = sum(getattr(after, one) - getattr(before, one) for one in _CHILDREN)
    return Measured(cpu, wall)


_CHILDREN = ("children_user", "children_system")


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, AIM_SIZE])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(describe_machine())
    print(f"{PROPERTIES} by {PROPERTIES} properties; median of {options.repeats}")
    print(f"{'questions':>9}{'replies':>9}{'CPU s':>8}{'wall s':>8}")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (1, *options.sizes):
            case = write_case(Path(folder), size)
            runs = [measure(*case) for _ in range(options.repeats)]
            cpu, wall = (statistics.median(values) for values in zip(*runs, strict=True))
            found[size] = cpu
            print(f"{size:>9,}{2 * size * PROPERTIES**2:>9,}{cpu:>8.2f}{wall:>8.2f}", flush=True)
    if AIM_SIZE in found:
        verdict = "met" if found[AIM_SIZE] < AIM_SECONDS else "missed"
        print(f"aim: {AIM_SIZE:,} questions in under {AIM_SECONDS:.0f} s: {verdict}")


if __name__ == "__main__":
    main()
