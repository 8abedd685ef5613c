"""How near an estimate from a pilot comes to what the whole costs.

    python benchmarks/estimates.py                # 20 real studies, and 2,000 drawn ones a row
    python benchmarks/estimates.py --studies 0    # the drawn ones alone

Costs are heavy-tailed: a question's tokens are log-normal with the deviation `sigma` of their
logarithms, and grow with its gold answers or do not. Of runs that a real model answered (in
`examples/recorded`) `sigma` is .5 to 1. A try is good where the estimate lies between half and
twice the cost of all questions. A real study has three systems and asks a scripted server that
counts such tokens: `branchwise ablate --pilot 5` and then the study itself.
"""

import argparse
import json
import math
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

os.environ |= {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from machine import describe_machine

from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.costs.prices import Price, Prices
from branchwise.runs.estimates import Sample, pilot_ids
from support import chat_server

QUESTIONS, PILOT, SYSTEMS = 100, 5, 3
COLUMNS = ("costs", "tries", "within a factor of 2", "below half", "median ratio")
PRICE = Price(input=1.0, output=0.0)


def questions(draws: random.Random) -> list[Question]:
    """With one to eight gold answers."""

    def gold(count: int) -> tuple[Branch, ...]:
        return (Branch(name="b", answers=tuple(Answer(text=f"a{n}") for n in range(count))),)

    return [
        Question(id=f"q{n}", question=f"Question {n}?", branches=gold(draws.randint(1, 8)))
        for n in range(QUESTIONS)
    ]


def tokens(question: Question, sigma: float, draws: random.Random, *, grows: bool) -> int:
    answers = len(question.branches[0].answers)
    return round(1000 * (answers if grows else 4.5) * math.exp(draws.gauss(0.0, sigma)))


def drawn_try(sigma: float, draws: random.Random, *, grows: bool) -> float:
    """The estimate over the true cost, for one system."""
    asked = questions(draws)
    used = {one.id: tokens(one, sigma, draws, grows=grows) for one in asked}
    chosen = pilot_ids(asked, PILOT)
    outcomes = tuple(
        {"usage": {"agent": {"calls": 1, "input": used[id]}}, "calls": 0, "seconds": 1.0}
        for id in chosen
    )
    prices = Prices({}, None, None, {"openai:m": PRICE})
    sample = Sample({"model": "openai:m"}, outcomes, kept=True)
    expected = sample.estimate(QUESTIONS, prices, 8).cost
    assert expected is not None
    return expected.value / (sum(used.values()) / 1e6)


def study_try(folder: Path, sigma: float, seed: int) -> float:
    """The estimate over the true cost, for a study that is asked: of all its systems."""
    draws = random.Random(seed)
    asked = questions(draws)
    # A question is as hard for all systems, with some luck of each system's own.
    used = {one.question: tokens(one, 0.8 * sigma, draws, grows=False) for one in asked}
    lucks: dict[str, float] = {}

    def script(body: chat_server.Body) -> chat_server.Answer:
        question = str(body["messages"][-1]["content"])
        luck = lucks.setdefault(f"{question} {body.get('seed')}", draws.gauss(0.0, 0.6 * sigma))
        said = json.dumps({"reasoning": "r", "answers": {"b": ["a0"]}})
        usage = {"prompt_tokens": round(used[question] * math.exp(luck)), "completion_tokens": 1}
        return chat_server.say(said, usage=usage)

    rows = (
        {
            "id": one.id,
            "question": one.question,
            "answers": {"b": [answer.text for answer in one.branches[0].answers]},
        }
        for one in asked
    )
    (folder / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "p.yaml").write_text("models: {'openai:m': {input: 1, output: 0}}")
    with chat_server.ChatServer(script) as server:
        study = {
            "name": "s",
            "questions": "q.jsonl",
            "base": {"model": f"openai:m@{server.url}"},
            "factors": {"seed": list(range(SYSTEMS))},
            "prices": "p.yaml",
        }
        (folder / "s.yaml").write_text(json.dumps(study))
        said = typed("ablate", folder / "s.yaml", "--out", folder / "S", "--pilot", PILOT)
        typed("ablate", folder / "s.yaml", "--out", folder / "S")
    expected = float(re.findall(r"^all +\S+ +\S+ +\S+ +(\S+)", said, re.MULTILINE)[0])
    return expected / (sum(cost(folder)) / 1e6)


def cost(folder: Path) -> Iterator[int]:
    """What the server counted, as the runs recorded it."""
    from branchwise.runs.store import open_run

    for run in sorted((folder / "S" / "runs").iterdir()):
        reader = open_run(run)
        yield from (usage["input"] for _, usage in reader.model_usage())
        reader.close()


def typed(*words: object) -> str:
    """What a command prints."""
    from branchwise.__main__ import main
    from branchwise.report.terminal.console import console, error_console

    console.cache_clear()
    error_console.cache_clear()
    sys.argv = ["branchwise", *map(str, words)]
    output, code = StringIO(), 0
    with redirect_stdout(output), redirect_stderr(StringIO()):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    assert code == 0, output.getvalue()
    return output.getvalue()


def row(name: str, ratios: list[float]) -> str:
    good = sum(0.5 <= one <= 2.0 for one in ratios) / len(ratios)
    low = sum(one < 0.5 for one in ratios) / len(ratios)
    middle = sorted(ratios)[len(ratios) // 2]
    return f"| {name} | {len(ratios)} | {good:.0%} | {low:.0%} | {middle:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--drawn", type=int, default=2000)
    options = parser.parse_args()
    print(describe_machine())
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for sigma in (0.5, 0.8, 1.0):
        for grows in (False, True):
            draws = random.Random(1)
            ratios = [drawn_try(sigma, draws, grows=grows) for _ in range(options.drawn)]
            how = ", grow with gold answers" if grows else ""
            print(row(f"drawn, one system, sigma {sigma}{how}", ratios), flush=True)
    ratios = []
    for seed in range(options.studies):
        with tempfile.TemporaryDirectory() as folder:
            ratios.append(study_try(Path(folder), 0.8, seed))
    if ratios:
        print(row(f"real studies, {SYSTEMS} systems, sigma .8", ratios))


if __name__ == "__main__":
    main()
