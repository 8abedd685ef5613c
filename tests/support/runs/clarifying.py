"""Three questions that are asked back, and a scripted model's part in each stage."""

import json
from pathlib import Path
from typing import Any

from support.chat_server import Answer, Body, call, say

_FILM = "Which film: the 1995 film, or the 1986 film?"
_KONG = "Which film: the 1933 film, or the 1976 film?"
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "Who made Heat?",
        "answers": {"the 1995 film": ["Mann"], "the 1986 film": ["Richards"]},
        "meta": {"clarification_question": _FILM},
    },
    {
        "id": "q2",
        "question": "Who made King Kong?",
        "answers": {"the 1933 film": ["Cooper"], "the 1976 film": ["Guillermin"]},
        "meta": {"clarification_question": _KONG},
    },
    {"id": "q3", "question": "Where is Etna?", "answers": {"default": ["Sicily"]}},
]
LISTED = {"Heat": ["Mann", "Richards"], "Kong": ["Cooper", "Guillermin"], "Etna": ["Sicily"]}
IS_AMBIGUOUS = {"Heat": True, "Kong": False, "Etna": True}
ASKED = {"Heat": _FILM, "Kong": _KONG, "Etna": "Which one: the volcano, or the town?"}
ASKED_WITH_ANSWERS = {
    "Heat": "Which film: the 1995 film?",
    "Kong": "Which film: the 1933 film, the 1933 film, or the 1976 film?",
    "Etna": "Do you mean Sicily?",
}
ANSWERED = {
    "the 1995 film": "Michael Mann",
    "the 1986 film": "Richards",
    "the 1933 film": "Cooper",
    "the volcano": "Sicily",
    "the town": "sicily",
}
"""The 1976 film has no answer."""


def write_questions(folder: Path) -> str:
    file = folder / "asked.jsonl"
    file.write_text("\n".join(map(json.dumps, QUESTIONS)))
    return str(file)


def stage_of(body: Body) -> str:
    system = body["messages"][0]["content"]
    if '"ambiguous":' in system:
        return "detection"
    if '"clarification_question":' in system:
        return "question"
    return "option" if "CHOICE" in system else "answers"


def said_by_user(body: Body) -> str:
    return str(body["messages"][1]["content"])


def named_in(body: Body) -> str:
    """The name in the question: Heat, Kong or Etna."""
    return next(name for name in LISTED if name in said_by_user(body))


def option_of(body: Body) -> str:
    return said_by_user(body).rpartition(": ")[2]


def reply(body: Body) -> Answer:
    """Answers at once; depends on the request alone."""
    stage, name = stage_of(body), named_in(body)
    found: dict[str, Any]
    match stage:
        case "answers":
            found = {"answers": {"default": LISTED[name]}}
        case "detection":
            found = {"ambiguous": IS_AMBIGUOUS[name]}
        case "question":
            told = "Its answers:" in said_by_user(body)
            found = {"clarification_question": (ASKED_WITH_ANSWERS if told else ASKED)[name]}
        case _:
            answer = ANSWERED.get(option_of(body))
            found = {"answers": {"default": [answer]} if answer else {}}
    return say(json.dumps({"reasoning": "", **found}))


def searching(body: Body) -> Answer:
    """Searches the same in each conversation, then answers."""
    if len(body["messages"]) == 2 and body.get("tools"):
        return call("local_retriever", query="film")
    return reply(body)
