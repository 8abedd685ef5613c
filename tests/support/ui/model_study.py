"""A study of three models in four settings over six questions, small enough to work out by hand."""

from collections.abc import Iterator, Mapping, Sequence

from branchwise.report.study_report import StudyReport
from support.ui.report_cases import Answers, Case, make_report

GOLD = {"q1": "ab|c", "q2": "a|b", "q3": "a|bc", "q4": "ab", "q5": "a", "q6": "abc"}
MODELS = ("small", "middle", "large")
SETTINGS = ("base", "+expansion", "+extraction", "+KG")
ITEMS: Mapping[tuple[str, str], Sequence[str]] = {
    ("small", "base"): ("a| -c", "b|a", "| -abc", "a", "x", "failed"),
    ("small", "+expansion"): ("a|c", "a|a", "a| -bc", "a", "a", "abx"),
    ("small", "+extraction"): ("a| /bc", "|b /a", "| -ab /c", "ab", "x", "y"),
    ("small", "+KG"): ("| -abc !", "x| -ab !", "failed !", "| -ab", "y !", "ay -c"),
    ("middle", "base"): ("ab| -c", "a|b", "a|b", "ab", "a !", "ab -c"),
    ("middle", "+expansion"): ("ab|c", "a|b", "a|bc", "ab", "a", "ab"),
    ("middle", "+extraction"): ("ab|c", "a| /b", "a|b /c", "abx", "a", "abc"),
    ("middle", "+KG"): ("ab| -c", "a| -b !", "|b -ac", "a -b !", "a", "failed"),
    ("large", "base"): ("ab| -c", "a|b", "a|bc", "ab", "a", "ab"),
    ("large", "+expansion"): ("ab|c", "a|b", "a|bc", "ab", "a", "abc !"),
    ("large", "+extraction"): ("ab|c", "a|b", "a|b /c", "ab", "a", "abcy"),
    ("large", "+KG"): ("ab|x -c", "a|b", "|bc -a", "ab", "a !", "abc"),
}


def name_of(model: str, setting: str) -> str:
    """As a study of several models names its systems."""
    return model if setting == "base" else f"{model}, {setting}"


def model_study() -> StudyReport:
    """Every system is compared with its model's base."""
    return make_report(model_cases(), questions=QUESTIONS)


def model_cases() -> list[Case]:
    return [_case(model, setting) for model in MODELS for setting in SETTINGS]


def text_of(id: str, letter: str) -> str:
    """An answer that no other question has."""
    return f"Person {id}{letter}"


def _case(model: str, setting: str) -> Case:
    items = dict(zip(GOLD, ITEMS[model, setting], strict=True))
    gold = {(id, letter) for id, said in GOLD.items() for letter in said if letter.isalpha()}
    unseen = set(_marked(items, "-"))
    return Case(
        name_of(model, setting),
        {id: _branches(id, item.split()[0]) for id, item in items.items()},
        {text_of(*one): 1 for one in gold - unseen},
        frozenset(text_of(*one) for one in _marked(items, "/")),
        model=f"openai:{model}@http://localhost:8000/v1",
        failed=frozenset(id for id, item in items.items() if item.startswith("failed")),
        changes={} if setting == "base" else {setting: True},
        read=frozenset(text_of(id, "y") for id in GOLD),
        broken=frozenset(id for id, item in items.items() if "!" in item),
        base=model,
        place=(model, setting),
    )


def _marked(items: Mapping[str, str], sign: str) -> Iterator[tuple[str, str]]:
    for id, item in items.items():
        yield from ((id, letter) for part in item.split() if part[0] == sign for letter in part[1:])


def _branches(id: str, said: str) -> Answers:
    if said == "failed":
        return {}
    parts = said.split("|")
    alone = "|" not in GOLD[id]
    names = ["default"] if alone else [f"Film {id} ({1990 + n} film)" for n in range(len(parts))]
    named = zip(names, parts, strict=False)
    return {name: [text_of(id, letter) for letter in part] for name, part in named if part}


QUESTIONS = [(id, _branches(id, said), 2) for id, said in GOLD.items()]
"""Id, gold branches, steps of the plan."""
