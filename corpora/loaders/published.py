"""Entries of published files as models, and what is wrong with them: CondAmbigQA's, FanOutQA's."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind
from branchwise.base.text import one_line
from branchwise.corpora.loaders.answers import folded_name
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question

COMPARE = "compare with the published file"
_EXPECTED = {
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "bool_type": "true or false",
}
_MARKER = r"\[[^\[\]]{0,200}\bfragments?\b[^\[\]]{0,200}\]"
_MARKER_IN_SENTENCE = re.compile(rf"(?:\s*{_MARKER})+(?=\s*[.,;:!?])", re.IGNORECASE)
_MARKER_ANYWHERE = re.compile(_MARKER, re.IGNORECASE)
_DOUBLED_STOP = re.compile(r"(?<!\.)\.\s*\.(?!\.)")
_FRAGMENT = re.compile(r"\s*\[?\s*fragment\s+(\d{1,4})\s*\]?\s*", re.IGNORECASE)
_NUMBERED = re.compile(r"\s*(\d{1,4})\s*\.\s*(.*)", re.DOTALL)
_WORD = re.compile(r"\w+")
_MOST_NESTED = 5


class PublishedRecord(BaseModel):
    """The fields in use; the data has others here and there."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class PublishedEntry(PublishedRecord):
    id: str
    question: str


_Entry = TypeVar("_Entry", bound=PublishedEntry)


def entry_question(
    model: type[_Entry],
    record: Mapping[str, Any],
    at: RowPlace,
    make: Callable[[_Entry, str], Question | None],
) -> Question | None:
    """What `make` makes of the entry and its place; None if something in it was refused."""
    try:
        entry = model.model_validate(record)
    except ValidationError as error:
        for problem in problems(error):
            at.refuse("form", problem, COMPARE)
        return None
    if not entry.id.strip() or not entry.question.strip():
        at.refuse("form", "has an empty id or question", "fill it in")
        return None
    return at.attempt(lambda: make(entry, at.where))


def problems(error: ValidationError) -> list[str]:
    """What is wrong with a record, by the fields that were written: `lacks "answer"`."""
    lines = []
    for problem in error.errors(include_url=False):
        *outer, last = problem["loc"] or ("it",)
        place = "".join(f"[{n}]" if isinstance(n, int) else f".{n}" for n in outer)[1:]
        of = ".".join(filter(None, (place, last))) if isinstance(last, str) else ""
        name = of or f"{place}[{last}]"
        if problem["type"] == "missing":
            lines.append(f'{place} lacks "{last}"'.lstrip())
        elif expected := _EXPECTED.get(problem["type"]):
            lines.append(f'"{name}" is {json_kind(problem["input"])}, not {expected}')
        else:
            lines.append(f'"{name}": {problem["msg"]}')
    return lines


def answer_of(forms: Iterable[str], where: str) -> Answer:
    """One answer of its forms, the first of which is its text."""
    stripped = (form.strip() for form in forms)
    text, *aliases = dict.fromkeys(form for form in stripped if form) or [""]
    if not text:
        raise InputError("an answer is empty", where=where, remedy="fill or remove it")
    return Answer(text=text, aliases=tuple(aliases))


def uniquely_named(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """Branches of the same name, in any case, told apart by a number: "name (2)"."""
    counts: Counter[str] = Counter()
    named = []
    for branch in branches:
        folded = folded_name(branch.name)
        counts[folded] += 1
        number = counts[folded]
        name = f"{branch.name} ({number})"
        named.append(branch if number == 1 else replace(branch, name=name))
    return tuple(named)


class _Citation(PublishedRecord):
    title: str
    text: str = ""

    @model_validator(mode="before")
    @classmethod
    def _by_fragment(cls, data: Any) -> Any:
        """What the authors' tools also write, as "k. Title"."""
        if isinstance(data, str):
            named = _FRAGMENT.fullmatch(data)
            return {"title": f"{named[1]}. " if named else data}
        if isinstance(data, Mapping) and "fragment_number" in data:
            title = f"{data['fragment_number']}. {data.get('fragment_title', '')}"
            return {"title": title, "text": data.get("fragment_text", "")}
        return data


class _Property(PublishedRecord):
    condition: str
    groundtruth: str | list[str]
    citations: tuple[_Citation, ...] = ()
    condition_citations: tuple[_Citation, ...] = ()
    answer_citations: tuple[_Citation, ...] = ()

    @property
    def cited(self) -> tuple[_Citation, ...]:
        return (*self.citations, *self.condition_citations, *self.answer_citations)

    @property
    def answer(self) -> str:
        parts = [self.groundtruth] if isinstance(self.groundtruth, str) else self.groundtruth
        return " ".join(filter(None, map(without_markers, parts)))


class _Context(PublishedRecord):
    title: str
    text: str


class _CondAmbigEntry(PublishedEntry):
    properties: list[Any]
    ctxs: list[_Context]


def condambigqa_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of CondAmbigQA: conditions with free-text answers, cited from 20
    given passages a question.

    Format: the published JSON array (github.com/innovation64/CondAmbigQA). A property becomes a
    branch: its condition is the name, its `groundtruth` the only answer (a list is joined), its
    citations the ids (content hashes) of passages; those of the condition and of the answer, which
    the set of 2,000 has apart, are its citations together.

    `Question.passages` keeps all slots in their order, repeats included, because "Fragment k" and
    citations number them; `corpus build` removes the repeats.

    Citations are titled "k. Title". The number stands where the k-th passage has that title. If it
    has another (about 1 in 100), the citation's own text decides: the passage that holds most of
    its words, if that is at least half of them; else the number stands. A citation that points
    nowhere is kept apart in `meta["unresolved_citations"]`.
    """
    return entry_question(_CondAmbigEntry, record, at, _condambigqa_question)


def without_markers(text: str) -> str:
    """The text without "[Fragment 3, Fragment 5]" and the like, white space collapsed."""
    # First: searching for a marker after each of many spaces takes quadratic time.
    text = one_line(text)
    unmarked = _MARKER_ANYWHERE.sub(" ", _MARKER_IN_SENTENCE.sub("", text))
    if unmarked != text:
        unmarked = _DOUBLED_STOP.sub(".", unmarked)
    return one_line(unmarked)


def _condambigqa_question(entry: _CondAmbigEntry, where: str) -> Question:
    passages = [make_passage(context.title, context.text) for context in entry.ctxs]
    branches: list[Branch] = []
    unresolved: list[str] = []
    for number, raw in enumerate(_flat_properties(entry.properties), start=1):
        place = f"{where}, property {number}"
        try:
            item = _Property.model_validate(raw)
        except ValidationError as error:
            raise InputError(problems(error)[0], where=place, remedy=COMPARE) from None
        name, answer = without_markers(item.condition), item.answer
        if not name or not answer:
            missing = "groundtruth" if name else "condition"
            raise InputError(f"its {missing} is empty", where=place, remedy="fill or remove it")
        cited = [_cited_id(citation, passages) for citation in item.cited]
        unresolved += [c.title for c, id in zip(item.cited, cited, strict=True) if id is None]
        citations = tuple(dict.fromkeys(id for id in cited if id is not None))
        branches.append(Branch(name=name, answers=(Answer(text=answer),), citations=citations))
    apart = {"unresolved_citations": unresolved} if unresolved else {}
    return Question(
        id=entry.id,
        question=entry.question.strip(),
        ambiguous=len(branches) > 1,
        branches=uniquely_named(branches),
        passages=tuple(passages),
        meta={"benchmark": "condambigqa", **apart},
    )


def _flat_properties(properties: Sequence[Any]) -> Iterator[Any]:
    for item in properties:
        if isinstance(item, list):
            yield from _flat_properties(item)
        else:
            yield item


def _cited_id(citation: _Citation, passages: Sequence[Passage]) -> str | None:
    match = _NUMBERED.match(citation.title)
    number = int(match[1]) - 1 if match else -1
    title = match[2] if match else citation.title
    numbered = passages[number] if 0 <= number < len(passages) else None
    if numbered is not None and _words(numbered.title) == _words(title):
        return numbered.id
    words = set(_words(citation.text))

    def agreement(passage: Passage) -> tuple[int, bool]:
        return len(words.intersection(_words(passage.text))), passage is numbered

    if words and passages:
        best = max(passages, key=agreement)
        if 2 * agreement(best)[0] >= len(words):
            return best.id
    return numbered.id if numbered else None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class _Page(PublishedRecord):
    title: str


class _Step(PublishedRecord):
    evidence: _Page | None = None
    decomposition: "tuple[_Step, ...]" = ()


class _FanOutEntry(PublishedEntry):
    answer: Any = None
    decomposition: tuple[_Step, ...] = ()


def fanoutqa_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of FanOutQA, which asks something of each of several things.

    Format: the JSON array `fanout-final-dev.json` (github.com/zhudotexe/fanoutqa; Zhu et al. 2024).
    How an answer becomes branches: a dictionary has a branch for each key, named by it, with the
    value as its answers; a list has its members, a single value itself, under `default`. A
    dictionary within a dictionary has a branch for each of its keys, "outer: inner"; other lists
    within lists are one. A value that stands twice in a branch is one answer. Numbers are written
    as JSON has them, true and false as yes and no. Branches are not readings: no question is
    ambiguous. `meta` has the published fields and the titles of the `pages` that the decomposition
    names as evidence. The test set has no answers.
    """
    return entry_question(_FanOutEntry, record, at, _fanoutqa_question)


def _fanoutqa_question(entry: _FanOutEntry, where: str) -> Question:
    named: dict[str, dict[str, Answer]] = {}
    if "answer" in entry.model_fields_set:
        for name, answer in _flat(entry.answer, "", where):
            named.setdefault(name or DEFAULT_BRANCH, {}).setdefault(answer.text, answer)
        if not named:
            raise InputError("its answer is empty", where=where, remedy="fill it in, or remove it")
    branches = [Branch(name=name, answers=tuple(texts.values())) for name, texts in named.items()]
    pages = list(dict.fromkeys(_pages(entry.decomposition)))
    return Question(
        id=entry.id,
        question=one_line(entry.question),
        ambiguous=False,
        branches=uniquely_named(branches),
        meta={"benchmark": "fanoutqa", **({"pages": pages} if pages else {})},
    )


def _flat(value: Any, name: str, where: str, depth: int = 0) -> Iterator[tuple[str, Answer]]:
    """Each single answer with the name of its branch; empty where no dictionary names one."""
    if depth > _MOST_NESTED:
        raise InputError("its answer is nested too deeply", where=where, remedy="flatten it")
    if isinstance(value, dict):
        for key, own in value.items():
            if not (inner := one_line(key)):
                raise InputError("its answer has an empty key", where=where, remedy="fill it in")
            yield from _flat(own, f"{name}: {inner}" if name else inner, where, depth + 1)
    elif isinstance(value, list):
        for own in value:
            yield from _flat(own, name, where, depth + 1)
    else:
        yield name, _single(value, where)


def _single(value: Any, where: str) -> Answer:
    if isinstance(value, bool):
        text, alias = ("yes", "true") if value else ("no", "false")
        return Answer(text=text, aliases=(alias,))
    if isinstance(value, float) and value.is_integer():
        return Answer(text=str(value), aliases=(str(int(value)),))
    if isinstance(value, str | int | float) and (text := str(value).strip()):
        return Answer(text=text)
    problem = "an answer is empty" if isinstance(value, str) else f"an answer is {json_kind(value)}"
    raise InputError(problem, where=where, remedy="write a text or a number")


def _pages(steps: Iterable[_Step]) -> Iterator[str]:
    for step in steps:
        if step.evidence:
            yield step.evidence.title
        yield from _pages(step.decomposition)
