"""Draws gold answers that retrieved passages mention, from data sets; the same ones every time."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from branchwise.agents.prediction import Prediction
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.open import open_retriever
from branchwise.corpora.questions import Answer, Question
from branchwise.corpora.retrieval import Retriever
from branchwise.eval.errors.attribution import attribute
from branchwise.eval.errors.item_errors import MissingAnswer
from branchwise.eval.errors.mentions import Mentions
from branchwise.eval.items import AnsweredItem
from branchwise.trace.events import Event

SEED = 2011
K = 10
_BRACKET = re.compile(r"\s*[(（][^()]*[)）]\s*$")


class Passage(NamedTuple):
    id: str
    title: str
    text: str


class LostAnswer(NamedTuple):
    """An answer of a branch that some of the passages mention."""

    source: str
    question: Question
    branch: str
    answer: Answer
    passages: tuple[Passage, ...]

    @property
    def digest(self) -> str:
        told = [self.source, self.question.question, self.branch, *self.answer.forms]
        told += [text for passage in self.passages for text in passage[1:]]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    def mentioning(self) -> list[Passage]:
        found = Mentions([self.answer.forms])
        return [p for p in self.passages if found.present(f"{p.title}\n{p.text}")]


def drawn_answers(data: Path, folder: Path) -> list[LostAnswer]:
    """The 200 cases, one a question: of 2WikiMultihopQA on its own passages and of AmbigNQ on those
    of four sets, most of them from questions that name a passage's title."""
    rng = Random(SEED)
    own = list(_two_wiki_passages(data))
    all_of_them = [*own, *_other_passages(data)]
    two_wiki = _two_wiki_questions(data)
    ambignq = load_questions(f"ambignq:{data / 'ambignq' / 'train_light.json'}").questions
    plans = (("2wiki", two_wiki, own, (80, 20)), ("ambignq", ambignq, all_of_them, (60, 40)))
    cases: list[LostAnswer] = []
    for source, questions, passages, counts in plans:
        retriever = _index(passages, folder / source)
        titles = _titles(passages)
        naming = [question for question in questions if _names_one(question, titles)]
        others = [question for question in questions if not _names_one(question, titles)]
        for pool, count in zip((naming, others), counts, strict=True):
            cases += _drawn(source, rng.sample(pool, len(pool)), retriever, count)
    return cases


def _drawn(
    source: str, questions: Sequence[Question], retriever: Retriever, count: int
) -> Iterator[LostAnswer]:
    for question in questions:
        if count == 0:
            return
        hits = retriever.search([question.question], K)[0]
        passages = tuple(
            Passage(hit.passage.id, hit.passage.title, hit.passage.text) for hit in hits
        )
        found = [
            case
            for branch in question.branches
            for answer in branch.answers
            if (case := LostAnswer(source, question, branch.name, answer, passages)).mentioning()
        ]
        if found:
            # By the question, so that what an earlier one has changes none of the later ones.
            yield Random(question.question).choice(found)
            count -= 1


def _index(passages: Sequence[tuple[str, str]], folder: Path) -> Retriever:
    folder.mkdir(parents=True)
    lines = [json.dumps({"title": title, "text": text}) for title, text in passages]
    (folder / "passages.jsonl").write_text("\n".join(lines), "utf-8")
    build_corpus(f"jsonl:{folder / 'passages.jsonl'}", folder / "C")
    build_index(folder / "C", "bm25")
    return open_retriever(folder / "C")


def _titles(passages: Sequence[tuple[str, str]]) -> Mapping[str, list[list[str]]]:
    """By its first word each title, without a bracket, of more than five letters."""
    titles: dict[str, list[list[str]]] = {}
    for title in sorted({title for title, _ in passages}):
        words = _words(_BRACKET.sub("", title))
        if len(" ".join(words)) > 5:
            titles.setdefault(words[0], []).append(words)
    return titles


def _names_one(question: Question, titles: Mapping[str, list[list[str]]]) -> bool:
    words = _words(question.question)
    return any(
        words[start : start + len(title)] == title
        for start, word in enumerate(words)
        for title in titles.get(word, ())
    )


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _two_wiki_questions(data: Path) -> list[Question]:
    listed = json.loads((data / "2wiki/questions.json").read_text("utf-8"))
    return [
        Question.model_validate(
            {
                "id": f"2wiki-{number}",
                "question": row["question"],
                "branches": [{"name": "default", "answers": [{"text": row["answer"]}]}],
            }
        )
        for number, row in enumerate(listed)
    ]


def _two_wiki_passages(data: Path) -> Iterator[tuple[str, str]]:
    for row in json.loads((data / "2wiki/corpus.json").read_text("utf-8")):
        yield row["title"], row["text"]


def _other_passages(data: Path) -> Iterator[tuple[str, str]]:
    """Of CondAmbigQA, RAMDocs and HotpotQA."""
    for row in json.loads((data / "condambigqa/dev.json").read_text("utf-8")):
        yield from ((passage["title"], passage["text"]) for passage in row["ctxs"])
    for line in (data / "ramdocs/half.jsonl").read_text("utf-8").splitlines():
        yield from (("", document["text"]) for document in json.loads(line)["documents"])
    for row in json.loads((data / "hotpotqa/hub_form.json").read_text("utf-8")):
        context = row["context"]
        for title, sentences in zip(context["title"], context["sentences"], strict=True):
            yield title, "".join(sentences)


def errors_of(case: LostAnswer) -> MissingAnswer:
    """Where the answer was lost, of an agent that searched once and answered nothing."""
    item = AnsweredItem(case.question, Prediction(answers={}))
    call = {"id": "c0", "name": "local_retriever", "args": {"query": case.question.question}}
    usage = {"input": 1, "output": 1, "cached": 0, "reasoning": 0}
    artifact = {"passages": [passage._asdict() for passage in case.passages]}
    found = {"call": call, "of": 0, "content": "", "artifact": artifact, "error": None}
    start = {"system": "", "content": case.question.question, "artifact": {"passages": []}}
    turn = {"turn": 1, "text": "", "reasoning": "", "finish": "stop", "usage": usage}
    bodies = [
        ("start", start),
        ("model", {**turn, "tool_calls": [call], "invalid_tool_calls": []}),
        ("tool", {**found, "failure": None}),
        ("model", {**turn, "turn": 2, "tool_calls": [], "invalid_tool_calls": []}),
    ]
    events = [Event(seq, kind, float(seq), body) for seq, (kind, body) in enumerate(bodies)]
    missing = attribute(item, events).missing
    return next(one for one in missing if (one.branch, one.text) == (case.branch, case.answer.text))
