"""Scripted models of different skill: they know the gold answers, and say what they were shown."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.questions import Question
from support.by_role import passage_of, role_of, turn_of, user_of
from support.chat_server import Answer, Body, call, say

_MATCHER = Prompts.load().texts["matcher"]
_LISTED = re.compile(r"^([rn]\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """`every`: of the gold answers before it, each first of so many is said. `branches`: it tells
    readings apart without being told them. `copies`: an extractor's share of a passage's words."""

    every: int
    branches: bool
    copies: float


SKILLS = {
    "strong": Skill(every=1, branches=True, copies=1.0),
    "middling": Skill(every=2, branches=False, copies=0.5),
    "weak": Skill(every=4, branches=False, copies=0.0),
}


def skilled(questions: Iterable[Question]) -> Callable[[Body], Answer]:
    """A script by the request's model, one of `SKILLS`."""
    of_text = {question.question: question for question in questions}

    def script(body: Body) -> Answer:
        skill, user = SKILLS[body["model"]], user_of(body)
        if body["messages"][0]["content"] == _MATCHER:
            return _matched(user)
        role = role_of(body)
        if role == "extractor":
            words = passage_of(body)[1].split()
            return say(" ".join(words[: int(skill.copies * len(words))]) or "NONE")
        question = of_text[user.split("\n")[0]]
        return say(_readings(question)) if role == "expander" else _turn(body, question, skill)

    return script


def _matched(user: str) -> Answer:
    """Names that are written alike are the same."""
    readings = {text: id for id, text in _LISTED.findall(user) if id[0] == "r"}
    names = {id: readings.get(text) for id, text in _LISTED.findall(user) if id[0] == "n"}
    return say(json.dumps(names))


def _readings(question: Question) -> str:
    named = [branch.name for branch in question.branches]
    return "\n".join(named) if question.ambiguous else question.question


def _turn(body: Body, question: Question, skill: Skill) -> Answer:
    tools = [tool["function"]["name"] for tool in body["tools"]]
    kg = {"wikisparql": {"query": "SELECT ?film { ?film wdt:P57 wd:Q42 }"}}
    kg |= {"wikidata_search": {"text": question.branches[0].name}}
    asked = [("local_retriever", {"query": question.question})]
    asked += [(name, kg[name]) for name in tools if name in kg]
    turn = turn_of(body)
    if turn < len(asked):
        name, arguments = asked[turn]
        return call(name, **arguments)
    return say(json.dumps({"answers": _answers(body, question, skill)}))


def _answers(body: Body, question: Question, skill: Skill) -> dict[str, list[str]]:
    shown = "\n".join(m["content"] for m in body["messages"] if m["role"] == "tool")
    told = skill.branches or "\n- " in user_of(body)
    answers: dict[str, list[str]] = {}
    for branch in question.branches:
        seen = [answer.text for answer in branch.answers if answer.text in shown]
        name = branch.name if told else "default"
        answers.setdefault(name, []).extend(seen[:: skill.every])
    return answers
