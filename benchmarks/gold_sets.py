"""How long scoring takes where questions have several gold sets, beside one; medians, interleaved.

    python benchmarks/gold_sets.py ambignq:train_light.json [--times 5]

Answers are made from the first gold set, each reading with a probability of .7. "One set" leaves
the alternatives out; "three sets" gives each question with several readings those of the two next
ones, too.
"""

import argparse
import random
import time
from collections.abc import Sequence
from statistics import median

from machine import describe_machine

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import DEFAULT, Task, get_task


def main() -> None:
    """Print a line for each way to score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions")
    parser.add_argument("--times", type=int, default=5)
    wanted = parser.parse_args()
    loaded = load_questions(wanted.questions)
    questions, task = loaded.questions, get_task(loaded.task)
    several = [question for question in questions if len(question.branches) > 1]
    cases = {
        "all, one set": (DEFAULT, answered([alone(one) for one in questions])),
        "all, their sets": (DEFAULT, answered(questions)),
        f"all, their sets, as {task.name}": (task, answered(questions)),
        "several readings, one set": (DEFAULT, answered([alone(one) for one in several])),
        "several readings, three sets": (DEFAULT, answered(tripled(several))),
    }
    print(describe_machine())
    seconds = measured(cases, wanted.times)
    for name, (_, items) in cases.items():
        print(f"{name}: {len(items):,} questions, {seconds[name]:.2f} s")


def measured(cases: dict[str, tuple[Task, Sequence[AnsweredItem]]], times: int) -> dict[str, float]:
    """The median time of each, one after the other so often."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(times):
        for name, (task, items) in cases.items():
            begun = time.perf_counter()
            score_items(task, items)
            taken[name].append(time.perf_counter() - begun)
    return {name: median(values) for name, values in taken.items()}


def answered(questions: Sequence[Question]) -> list[AnsweredItem]:
    """Each question with an answer made from its first gold set."""
    draw = random.Random(1)
    return [AnsweredItem(question, _prediction(question, draw)) for question in questions]


def _prediction(question: Question, draw: random.Random) -> Prediction:
    said = [branch for branch in question.branches if draw.random() < 0.7]
    return Prediction(answers={b.name: [answer.text for answer in b.answers] for b in said})


def alone(question: Question) -> Question:
    """The question without its alternatives."""
    return question.model_copy(update={"alternatives": ()})


def tripled(questions: Sequence[Question]) -> list[Question]:
    """Each question with the gold of the two next ones as alternatives."""
    golds = [question.branches for question in questions]
    following = zip(golds[1:] + golds[:1], golds[2:] + golds[:2], strict=True)
    return [
        question.model_copy(update={"alternatives": pair})
        for question, pair in zip(questions, following, strict=True)
    ]


if __name__ == "__main__":
    main()
