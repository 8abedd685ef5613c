"""Draws pairs of a predicted name and a gold answer from data sets, the same ones every time."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

SEED = 1041
MOST = 70
_TAIL = re.compile(r"\s*[(（][^()]*[)）]\s*$|,.*$|\s+(?:of|born|in)\s.*$")


class NamePair(NamedTuple):
    """`name` is held against the answer `text` with its `aliases`."""

    source: str
    name: str
    text: str
    aliases: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self).encode()).hexdigest()[:16]


def head(text: str) -> str:
    """What stands before a bracket, a comma or "of", whatever it is."""
    return _TAIL.sub("", text).strip().lower()


def drawn_pairs(data: Path) -> list[NamePair]:
    rng = Random(SEED)
    alike, others = ambignq_pairs(data)
    pools = (
        (alike, 85),
        (qampari_pairs(data), 50),
        (others, 45),
        (fanoutqa_pairs(data), 45),
        (recorded_answers(data), 40),
        (recorded_namesakes(data), 35),
    )
    return [pair for pool, most in pools for pair in rng.sample(fitting(pool), most)]


def fitting(pairs: Iterator[NamePair] | Sequence[NamePair]) -> list[NamePair]:
    return sorted({p for p in pairs if p.name != p.text and max(map(len, p[1:3])) < MOST})


def ambignq_pairs(data: Path) -> tuple[list[NamePair], list[NamePair]]:
    """Forms that annotators gave of one answer, and answers of two readings."""
    alike, others = [], []
    for question in json.loads((data / "ambignq/train_light.json").read_text("utf-8")):
        for annotation in question["annotations"]:
            if annotation["type"] != "multipleQAs":
                continue
            answers = [pair["answer"] for pair in annotation["qaPairs"]]
            for forms in answers:
                text, *more = forms
                for name in more:
                    if head(name) == head(text):
                        aliases = tuple(a for a in more if a != name)[:6]
                        alike.append(NamePair("ambignq", name, text, aliases))
                for name in (other[0] for other in answers if forms is not other):
                    first = [re.sub(r"[^\w ]", " ", n.lower()).split()[:1] for n in (name, text)]
                    near = head(name) == head(text) or (
                        first[0] == first[1] and len("".join(first[0])) > 3
                    )
                    if near and name not in forms:
                        others.append(NamePair("ambignq", name, text, tuple(more[:6])))
    return alike, others


def qampari_pairs(data: Path) -> Iterator[NamePair]:
    """Answers with one head, of the whole set."""
    questions = json.loads((data / "qampari/half.json").read_text("utf-8"))
    aliases: dict[str, set[str]] = defaultdict(set)
    for text, *more in (forms for question in questions for forms in question["answers"]):
        aliases[text].update(more)
    for name, text in _with_one_head(aliases):
        yield NamePair("qampari", name, text, tuple(sorted(aliases[text] - {name, text})[:6]))


def fanoutqa_pairs(data: Path) -> Iterator[NamePair]:
    questions = json.loads((data / "fanoutqa/dev.json").read_text("utf-8"))
    texts = {text for question in questions for text in _texts(question["answer"])}
    return (NamePair("fanoutqa", *pair) for pair in _with_one_head(texts))


def recorded_answers(data: Path) -> Iterator[NamePair]:
    """Names that the recorded model gave and that gold does not write, with gold's of that head."""
    from branchwise.runs.store import open_run

    for system in ("base", "expand", "kg"):
        for item in open_run(data / "recorded2" / system).answered_items():
            gold = [a for branch in item.question.branches for a in branch.answers]
            for name in (n for names in item.prediction.answers.values() for n in names):
                same = {a.text: a for a in gold if head(a.text) == head(name)}
                if len({a.qid for a in gold if head(a.text) == head(name)}) == 1:
                    answer = next(iter(same.values()))
                    yield NamePair("recorded2", name, answer.text, answer.aliases)


def recorded_namesakes(data: Path) -> Iterator[NamePair]:
    """Titles of two things of one name."""
    for line in (data / "recorded2/world/names.jsonl").read_text("utf-8").splitlines():
        found = json.loads(line)
        for one in found["entities"]:
            for other in found["entities"]:
                if one is not other:
                    yield NamePair("recorded2", one["title"], found["name"], (other["title"],))


def _with_one_head(texts: Any) -> Iterator[tuple[str, str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    for text in sorted(texts):
        groups[head(text)].append(text)
    for group in groups.values():
        yield from ((one, other) for one in group for other in group if one != other)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
