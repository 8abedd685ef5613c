"""Whether a passage that mentions an answer states it, where gold names no support.

The date of an album, 1973, does not answer when an act was passed. A mention counts beside what is
asked: the question and the name of the answer's branch, which are called the question here.

* In a passage about a thing that the question names, or about one that such a passage names: its
  opening sentence says what the thing is. Elsewhere a quarter of the question's other words must
  stand within a sentence or two.
* In any other passage: four in five of the question's words, within a sentence or two.
* An answer that the question itself names is in every passage about it. It counts where the
  question chooses between things and passages about several of them are there, but not where a
  person of theirs decides, a director or a father: they are not said to be the answer then.

Tuned on half of the answers labelled in tests/eval/lost_answers.jsonl; docs/errors.md says how
often it errs. What does not count may still be the answer: the rule knows words, not what they say.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from branchwise.agents.offline.words import STOP_WORDS, base_name, sentences
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.eval.errors.folding import fold
from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.mentions import TextSpan
from branchwise.eval.word_lists import PERSON_KINDS, RELATIVES
from branchwise.kg.names.forms import root
from branchwise.trace.artifacts import Artifact
from branchwise.trace.conversation import Conversation
from branchwise.trace.events import Start

BESIDE = 200
"""Characters on either side of a mention: a sentence or two."""
ON_TOPIC, ELSEWHERE = 0.25, 0.8
"""Shares of the question's words that must stand beside a mention."""
_SHORTEST_TITLE, _LONGEST_OPENING = 4, 1_000
_WORD = re.compile(r"[^\W_]+")
_ASKING = STOP_WORDS | {"name", "time"}
_PEOPLE = PERSON_KINDS | RELATIVES
_Spans = Callable[[str], Sequence[TextSpan]]


@dataclass(frozen=True, eq=False)
class _Passage:
    """A passage or, without a title, another text: the same one for the same title and text."""

    title: str
    text: str

    @cached_property
    def run(self) -> str:
        return _run(f"{self.title}\n{self.text}")

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of its title in a row, without what tells it apart."""
        bare = base_name(self.title)
        runs = {_run(name) for name in {bare, bare.partition(",")[0]}}
        return frozenset(run for run in runs if len(run.strip()) >= _SHORTEST_TITLE)

    def is_named_in(self, run: str) -> bool:
        return any(name in run for name in self.names)


class _Asked(NamedTuple):
    """A question under a branch: its words in a row, and the passages about what it names."""

    run: str
    about: tuple[_Passage, ...]

    @property
    def of_people(self) -> bool:
        return not _PEOPLE.isdisjoint(self.run.split())


class AnswerStatements:
    """Tells which places of a trace state an answer of its question; a row of a query or a match by
    name always does."""

    def __init__(self, question: str, reading: Conversation) -> None:
        self._question, self._reading = question, reading
        self._under: dict[str, _Asked] = {}

    @cached_property
    def _at(self) -> dict[tuple[int, str | None], _Passage]:
        """By step and id the passages of the trace; by step alone the texts that are none."""
        # Read when it is asked for: most answers that are lost have support, or were not retrieved.
        same: dict[tuple[str, str], _Passage] = {}
        return {
            place: same.get(written) or same.setdefault(written, _Passage(*written))
            for place, written in _texts(self._reading)
        }

    def stating(
        self, branch: str, forms: Sequence[str], spans: _Spans, places: Sequence[EvidencePlace]
    ) -> tuple[EvidencePlace, ...]:
        """Those of the places that state an answer under its branch. `forms`: its ways of writing,
        `spans`: where a text mentions it. Time is linear in the texts."""
        asked = self._asked(branch)
        named = {run for form in forms if (run := _run(base_name(form))) in asked.run}
        if named:
            own = [p for p in asked.about if not p.names.isdisjoint(named)]
            chosen = own if len(own) < len(asked.about) and not asked.of_people else []
            return tuple(at for at in places if at.row is not None or self._text(at) in chosen)
        wanted = _words(asked.run) - _words(_run(" ".join(forms)))
        rest = wanted.difference(*(_words(_run(passage.title)) for passage in asked.about))

        @cache  # a passage comes again with every other search
        def states(text: _Passage | None) -> bool:
            return text is not None and _states(text, asked, (wanted, rest), spans)

        return tuple(
            at for at in places if at.row is not None or not wanted or states(self._text(at))
        )

    def _text(self, place: EvidencePlace) -> _Passage | None:
        return self._at.get((place.step, place.passage))

    def _asked(self, branch: str) -> _Asked:
        if (asked := self._under.get(branch)) is None:
            name = "" if branch == DEFAULT_BRANCH else branch
            run = _run(f"{self._question} {name}")
            every = dict.fromkeys(self._at.values())
            asked = _Asked(run, tuple(passage for passage in every if passage.is_named_in(run)))
            self._under[branch] = asked
        return asked


def _texts(reading: Conversation) -> Iterator[tuple[tuple[int, str | None], tuple[str, str]]]:
    """Step and id, title and text of all passages, and of the texts that are none."""
    brought: list[tuple[int, Artifact, str]] = []
    if reading.start is not None and isinstance(reading.start.body, Start):
        brought.append((reading.start.seq, reading.start.body.given, ""))
    for call in reading.calls:
        brought.append((call.step, call.result.found, call.result.content))
        brought += [(c.step, c.message.found, c.message.content) for c in call.changes]
    for step, artifact, content in brought:
        yield (step, None), ("", content)
        for passage in artifact.passages:
            yield (step, passage.id), (passage.title, passage.text)


def _states(
    passage: _Passage, asked: _Asked, words: tuple[frozenset[str], frozenset[str]], spans: _Spans
) -> bool:
    """Whether a mention in a passage's text stands beside what is asked; `words`: those of the
    question, and those of them that no title of a passage about it has."""
    whole, begin = f"{passage.title}\n{passage.text}", len(passage.title) + 1
    on_topic = passage in asked.about or any(
        passage.is_named_in(other.run) for other in asked.about
    )
    wanted, rest = words
    opening = begin + len(next(iter(sentences(passage.text[:_LONGEST_OPENING])), ""))
    for start, end in spans(whole):
        beside = _words(_run(whole[max(begin, start - BESIDE) : end + BESIDE]))
        opens = begin <= start and end <= opening
        if on_topic and (opens or len(rest & beside) >= ON_TOPIC * len(rest)):
            return True
        if len(wanted & (beside | _words(_run(passage.title)))) >= ELSEWHERE * len(wanted):
            return True
    return False


def _run(text: str) -> str:
    """The folded words of a text, with a space before and behind each."""
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _words(run: str) -> frozenset[str]:
    """The roots of the words that say what is asked, without those that every question has."""
    words = (word for word in run.split() if word not in _ASKING)
    return frozenset(root(word) for word in words if len(word) > 1 or word.isdigit())
