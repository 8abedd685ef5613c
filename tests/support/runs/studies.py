"""Studies in tests: four systems that ask the scripted server, and what it says to them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from branchwise.corpora.loaders import load_questions
from branchwise.graphs.system import System
from branchwise.runs.store import open_run
from branchwise.runs.studies.folder import StudyFolder
from branchwise.runs.studies.running import StudyDesign
from branchwise.runs.studies.sets import StudySet
from branchwise.runs.studies.systems import NamedSystem
from support.by_role import role_of, says_of_each
from support.chat_server import Answer, Body, call, say

FOUR = {
    "base": {},
    "+expansion": {"expand": True},
    "+extraction": {"extract": True},
    "k=1": {"k": 1},
}


def four_systems(base: System) -> tuple[NamedSystem, ...]:
    return tuple(
        NamedSystem(
            name,
            name.strip("+").replace("=", "-"),
            base.model_copy(update=changes),
            changes,
            model="scripted",
            setting=name,
            base="base",
        )
        for name, changes in FOUR.items()
    )


def design_of(
    questions: object, systems: Sequence[NamedSystem], epochs: int = 1, **more: object
) -> StudyDesign:
    asked = StudySet("questions", load_questions(str(questions)), epochs)
    return StudyDesign("four", tuple(systems), (asked,), **more)


def number_of(body: Body) -> int:
    """The number in "Question number 0007: who directed Heat?"."""
    text = next(m["content"] for m in body["messages"] if m["role"] == "user")
    return int(text.split("Question number ")[1][:4])


def reply(body: Body) -> Answer:
    """Searches once, then answers: well or badly by the question's number and by what it saw.

    Depends on the request alone. A system with readings finds more, one that sees less finds less.
    """
    role = role_of(body)
    if role == "expander":
        return say("Who directed Heat (1995 film)?\nWho directed Heat (1986 film)?")
    if role == "extractor":
        return say(says_of_each(body, lambda _, text: " ".join(text.split()[:3])))
    number = number_of(body)
    user, last = body["messages"][1]["content"], body["messages"][-1]
    if last["role"] != "tool":
        return call("local_retriever", query="Heat film")
    gold = f"Question number {number:04d}"[:20]
    saw_both = "crime film" in last["content"] and "bodyguard" in last["content"]
    known = 2 + ("1986 film" in user) + saw_both
    return say(json.dumps({"answers": {"default": [gold if number % 5 < known else "nobody"]}}))


@dataclass
class Counting:
    """The script, and how many requests came."""

    requests: int = 0

    def __call__(self, body: Body) -> Answer:
        self.requests += 1
        return reply(body)


def outcomes(folder: StudyFolder) -> dict[str, list[tuple[str, str, object]]]:
    """By system: question, status and prediction of every item."""
    found = {}
    for name, path in folder.runs():
        reader = open_run(path)
        found[name] = [
            (row.question.id, row.status, row.outcome and row.outcome["prediction"])
            for row in reader.items()
        ]
        reader.close()
    return found
