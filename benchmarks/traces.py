"""Runs as agents leave them, written without agents: for benchmarks that read them.

Each question has 3 branches, 10 answers with 2 aliases each, and a trace of 100 events: model
turns, 41 or 48 tool calls (of which one fails and one in ten returns rows of a query), each with 15
passages of about 100 words out of 100, so that most passages come several times. Neighbouring
questions share a fifth of their passages. Half of the traces have evidence extraction, the others
query expansion. Of the answers six are right, one stands under the wrong branch, one was seen and
left out, and two were never seen; two predicted texts are wrong. Everything goes through the run
store's own writer.
"""

import asyncio
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.runs.store import PendingItem, RunSpec, RunStore, create_run

EVENTS, PASSAGES_A_CALL = 100, 15
POOL, SHARED, SENTENCES, WORDS = 100, 20, 8, 12
CALLS = {True: 41, False: 48}
"""Tool calls of a trace with extraction, and without."""
AT_ONCE = 32


class Topic(NamedTuple):
    """What a question is about: its gold answers, and passages of which some mention them."""

    question: Question
    passages: tuple[Passage, ...]
    prediction: Mapping[str, list[str]]


class Language:
    """Made-up words, sentences and names; the same for the same seed."""

    def __init__(self, random: random.Random) -> None:
        self._random = random
        syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "er", "an")]
        words = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(5000)]
        # A quarter of the passages has an accent in it, about as in English articles.
        words[:20] = [word.replace("a", "á").replace("e", "é") for word in words[:20]]
        common = random.sample(words[20:], 300)
        self.first = [word.capitalize() for word in random.choices(words, k=400)]
        self.last = [word.capitalize() for word in random.choices(words, k=4000)]
        self._sentences = [
            " ".join(random.choice(common if n % 2 else words) for n in range(WORDS)).capitalize()
            for _ in range(20_000)
        ]

    def person(self) -> Answer:
        """A person with two other names: with an initial, and with a name between."""
        first, last = self._random.choice(self.first), self._random.choice(self.last)
        middle = self._random.choice(self.first)
        return Answer(
            text=f"{first} {last}", aliases=(f"{first[0]}. {last}", f"{first} {middle} {last}")
        )

    def passage(self, title: str, mentioned: Sequence[Answer]) -> Passage:
        """Sentences, each of `mentioned` named in a different one by one of their names."""
        sentences = self._random.choices(self._sentences, k=SENTENCES)
        places = self._random.sample(range(SENTENCES), k=len(mentioned))
        for at, answer in zip(places, mentioned, strict=True):
            name = self._random.choice([answer.text, answer.text, *answer.aliases])
            before, _, after = sentences[at].partition(" ")
            sentences[at] = f"{before} {name} {after}"
        return make_passage(title, ". ".join(sentences) + ".")


def topics(count: int, seed: int) -> Iterator[Topic]:
    """The questions of a run, one after the other."""
    source = random.Random(seed)
    language = Language(source)
    shared: tuple[Passage, ...] = ()
    for n in range(count):
        topic = _topic(n, language, source, shared)
        shared = topic.passages[-SHARED:]
        yield topic


def _topic(n: int, language: Language, source: random.Random, shared: Sequence[Passage]) -> Topic:
    people = [language.person() for _ in range(10)]
    groups = (people[:4], people[4:7], people[7:])
    names = [f"Film {n} ({year} film)" for year in (1933, 1976, 2005)]
    branches = tuple(
        Branch(name=name, answers=tuple(group)) for name, group in zip(names, groups, strict=True)
    )
    question = Question(
        id=f"q{n}", question=f"Who is in Film {n}?", ambiguous=True, branches=branches
    )
    # The answers 8 and 9 are in no passage.
    seen, others = people[:8], [language.person() for _ in range(40)]
    own = [
        language.passage(
            f"Film {n} {k}", [*source.sample(seen, k % 3), *source.sample(others, k % 4)]
        )
        for k in range(POOL - len(shared))
    ]
    source.shuffle(own)
    prediction = {
        f"Film {n} (1933)": [*(p.text for p in people[:3]), others[0].text],
        f"Film {n} (1976)": [people[4].text, people[5].aliases[1], people[3].text],
        f"Film {n} (2005)": [people[7].text, language.person().text],
    }
    return Topic(question, (*shared, *own), prediction)


def write_run(path: Path, questions: int, seed: int = 1) -> None:
    """Make a run folder in which every item is done."""
    made = list(topics(questions, seed))
    spec = RunSpec("branches", "bench", "d", {"model": "offline"}, {}, "d", 1, "0")
    create_run(path, spec, [topic.question for topic in made])
    with RunStore(path) as store:
        asyncio.run(_write_items(store, made, random.Random(seed + 1)))


async def _write_items(store: RunStore, made: Sequence[Topic], source: random.Random) -> None:
    pending = list(store.pending())
    for start in range(0, len(pending), AT_ONCE):
        batch = zip(pending[start : start + AT_ONCE], made[start : start + AT_ONCE], strict=True)
        await asyncio.gather(*(_write_item(store, *pair, source) for pair in batch))


async def _write_item(
    store: RunStore, pending: PendingItem, topic: Topic, source: random.Random
) -> None:
    journal = store.begin(pending)
    shown: dict[str, None] = {}
    events = list(trace(topic, source, extract=pending.item % 2 == 0))
    assert len(events) == EVENTS, len(events)
    for kind, data in events:
        journal.event(kind, data)
        shown |= dict.fromkeys(p["id"] for p in data.get("artifact", {}).get("passages", ()))
    outcome = {
        "prediction": {"reasoning": "", "answers": dict(topic.prediction)},
        "how": "strict",
        "problem": None,
        "evidence": list(shown),
        "turns": 49,
        "calls": 48,
        "tokens": 400_000,
        "seconds": 60.0,
        "error": None,
    }
    await journal.finish("done", outcome)


Event = tuple[str, dict[str, Any]]


def trace(topic: Topic, source: random.Random, *, extract: bool) -> Iterator[Event]:
    """The events of an item in order, `EVENTS` of them."""
    calls, made = CALLS[extract], 0
    yield "start", {"system": "s" * 3000, "content": topic.question.question, "artifact": {}}
    if not extract:
        yield "expansion", _expansion(topic)
    turns = 20 if extract else calls
    for turn in range(turns):
        now = [made + k for k in range((calls - made) // (turns - turn))]
        made += len(now)
        yield _model(turn + 1, now)
        results = [_tool(topic, source, n, of) for of, n in enumerate(now)]
        yield from results
        if extract:
            yield from _extractions(results, source)
    yield _model(turns + 1, [])
    yield "answer", {"how": "strict", "problem": None, "raw": None, "prediction": {}}


def _expansion(topic: Topic) -> dict[str, Any]:
    readings = [branch.name for branch in topic.question.branches]
    usage = {"input": 300, "output": 60, "cached": 0, "reasoning": 0}
    said = {"text": "\n".join(readings), "reasoning": "", "error": None, "usage": usage}
    asked = {"question": topic.question.question, "readings": readings, "dropped": []}
    return {**asked, **said, "how": "readings", "seconds": 1.0, "replayed": False}


def _model(turn: int, calls: Sequence[int]) -> Event:
    return "model", {
        "turn": turn,
        "text": "" if calls else "{}",
        "tool_calls": [_call(n) | {"args": {"query": f"query {n}"}} for n in calls],
        "invalid_tool_calls": [],
        "reasoning": "I look for the next film and those who are in it. " * 10,
        "finish": "tool_calls" if calls else "stop",
        "usage": {"input": 8000, "output": 100, "cached": 7000, "reasoning": 80},
        "seconds": 1.25,
        "replayed": False,
    }


def _call(n: int) -> dict[str, Any]:
    name = "wikisparql" if n % 10 == 7 else "local_retriever"
    return {"id": f"c{n}", "name": name}


def _tool(topic: Topic, source: random.Random, n: int, of: int) -> Event:
    content, artifact, error = _result(topic, source, n)
    return "tool", {
        "call": _call(n) | {"args": {"query": f"query {n}"}},
        "of": of,
        "content": content,
        "artifact": artifact,
        "error": error,
        "failure": "failed" if error else None,
        "seconds": 0.01,
        "replayed": False,
    }


def _result(topic: Topic, source: random.Random, n: int) -> tuple[str, dict[str, Any], str | None]:
    if n == 5:
        return "Error: the index is busy", {}, "the index is busy"
    if n % 10 == 7:
        return _rows(topic, source)
    found = source.sample(topic.passages, PASSAGES_A_CALL)
    records = [
        {"id": p.id, "title": p.title, "text": p.text, "score": 0.9 - rank / 100}
        for rank, p in enumerate(found)
    ]
    content = "\n\n".join(f"[{p.id}] {p.title}\n{p.text}" for p in found)
    return content, {"passages": records}, None


def _rows(topic: Topic, source: random.Random) -> tuple[str, dict[str, Any], None]:
    """Twenty rows of an item and its label, one of them a gold answer."""
    people = [f"Person {source.randrange(10**6)}" for _ in range(19)]
    people.append(source.choice(topic.question.branches[0].answers[:4]).text)
    iris = [f"http://www.wikidata.org/entity/Q{source.randrange(10**7)}" for _ in people]
    values = [
        [{"type": "uri", "value": iri}, {"type": "literal", "value": name}]
        for iri, name in zip(iris, people, strict=True)
    ]
    rows = {
        "variables": ["person", "personLabel"],
        "rows": values,
        "complete": True,
        "boolean": None,
        "labels": dict(zip(iris, people, strict=True)),
    }
    return "\n".join(people), {"rows": rows}, None


def _extractions(results: Sequence[Event], source: random.Random) -> Iterator[Event]:
    for _, result in results:
        if passages := result["artifact"].get("passages"):
            yield "extraction", _extraction(result, passages, source)


def _extraction(
    result: Mapping[str, Any], passages: Sequence[Mapping[str, Any]], source: random.Random
) -> dict[str, Any]:
    records, shown = [], []
    for passage in passages:
        kept = [source.choice(passage["text"].split(". "))] if source.random() < 0.5 else []
        shown += [f"[{passage['id']}] {passage['title']}\n{span}" for span in kept]
        records.append(
            {
                "id": passage["id"],
                "spans": kept,
                "dropped": [],
                "how": "spans" if kept else "none",
                "whole": False,
                "error": None,
                "usage": {"input": 300, "output": 20, "cached": 0, "reasoning": 0},
                "seconds": 0.4,
                "replayed": False,
                "reasoning": "",
            }
        )
    call = {"id": result["call"]["id"], "name": result["call"]["name"]}
    return {"call": call, "of": result["of"], "passages": records, "content": "\n\n".join(shown)}
