"""How long the scores of options take, by task and by way of comparing.

Made-up questions with so many options a side, of a few words each, and two forms for each answer.
Measured is processor time, intervals included: other work on the machine does not count.

    python benchmarks/option_scores.py [--questions 5000] [--options 10] [--repeats 3]
"""

import argparse
import random
import statistics
import time

from machine import describe_machine

from branchwise.agents.prediction import Prediction
from branchwise.corpora.clarification import ClarificationQuestion
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task

TASKS = ("clarification", "clarified", "clarify")
WAYS = ("substring", "subsequence", "published-code")
WORDS = ("the", "2002", "film", "book", "musical", "version", "of", "american", "reality", "show")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=5000)
    parser.add_argument("--options", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    draw = random.Random(0)
    items = [item(f"q{n}", given.options, draw) for n in range(given.questions)]
    print(describe_machine())
    print(
        f"{given.questions} questions, {given.options} options a side, processor seconds (median)"
    )
    for task in TASKS:
        for way in WAYS:
            print(f"{task:14} {way:15} {seconds(task, way, items, given.repeats):.2f}")


def seconds(task: str, way: str, items: list[AnsweredItem], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        began = time.process_time()
        score_items(get_task(task, way), items)
        found.append(time.process_time() - began)
    return statistics.median(found)


def item(id: str, options: int, draw: random.Random) -> AnsweredItem:
    def texts() -> list[str]:
        return [f"{' '.join(draw.choices(WORDS, k=4))} {n}" for n in range(options)]

    names, said = texts(), texts()
    branches = tuple(
        Branch(name=name, answers=(Answer(text=one, aliases=(other,)),))
        for name, one, other in zip(names, texts(), texts(), strict=True)
    )
    asked = ClarificationQuestion("version", tuple(names)).text
    question = Question(
        id=id,
        question="?",
        ambiguous=True,
        branches=branches,
        meta={"clarification_question": asked},
    )
    output = {
        "ambiguous": True,
        "clarification_question": ClarificationQuestion("version", tuple(said)).text,
        "answers": [[option, [text]] for option, text in zip(said, texts(), strict=True)],
    }
    return AnsweredItem(question, Prediction(task_output=output))


if __name__ == "__main__":
    main()
