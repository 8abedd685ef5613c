"""What is looked for in a trace: the gold entities of a question, and predicted texts."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.corpora.questions import Question
from branchwise.eval.branch_matches import GoldPair, gold_pairs
from branchwise.eval.branch_scores import GoldBranches
from branchwise.eval.entities import Entity
from branchwise.eval.errors.mentions import Mentions, TextSpan

TargetNumbers = frozenset[int]
"""Numbers of the things found."""

_QID = re.compile(r"Q[1-9]\d*")
_NOTHING: TargetNumbers = frozenset()


class Targets:
    """Gold entities and texts by number; each text of a trace is searched once.

    `pairs[n]`: the gold pairs that thing n is (one entity may be an answer of several branches).
    Thing `len(pairs) + m` is the m-th of `texts`. `forms`: how each gold pair is written.
    `support`: the ids of the passages that state it under its branch, empty where gold names none.
    """

    def __init__(self, gold: GoldBranches, question: Question, texts: Sequence[str]) -> None:
        aliases = _aliases(question)
        numbers: dict[tuple[frozenset[str], frozenset[str]], int] = {}
        self.pairs: list[list[GoldPair]] = []
        self.forms: dict[GoldPair, tuple[str, ...]] = {}
        self.support: dict[GoldPair, frozenset[str]] = {}
        self._thing: dict[GoldPair, int] = {}
        self._qids: list[frozenset[str]] = []
        self._by_qid: dict[str, set[int]] = defaultdict(set)
        self.texts = tuple(texts)
        for pair in gold_pairs(gold):
            entity = gold.sets[pair.branch].entities[pair.entity]
            written = _forms(entity, aliases)
            thing = numbers.setdefault((written, entity.qids), len(numbers))
            if thing == len(self.pairs):
                self.pairs.append([])
                self._qids.append(entity.qids)
            self.pairs[thing].append(pair)
            self._thing[pair] = thing
            self.forms[pair] = tuple(sorted(written))
            self.support[pair] = entity.support
            for qid in entity.qids:
                self._by_qid[qid].add(thing)
        forms = [sorted(names) for names, _ in numbers]
        self._looked_for = [*forms, *([text[:MAX_CHARACTERS]] for text in self.texts)]
        self._passages: dict[tuple[str, str], TargetNumbers] = {}
        self._names: dict[str, TargetNumbers] = {}
        self._among: dict[tuple[TargetNumbers, str], TargetNumbers] = {}

    @cached_property
    def _mentions(self) -> Mentions:
        # Made with the first text that is searched: a predictions file has none.
        return Mentions(self._looked_for)

    def in_passage(self, title: str, text: str) -> TargetNumbers:
        """What a passage mentions, in its title or its text."""
        key = (title, text)
        if (found := self._passages.get(key)) is None:
            present = self._mentions.present(f"{title}\n{text}")
            found = self._passages[key] = frozenset(present) if present else _NOTHING
        return found

    def in_text(self, text: str) -> TargetNumbers:
        """What any other text mentions."""
        if (found := self._names.get(text)) is None:
            found = self._names[text] = frozenset(self._mentions.present(text))
        return found

    def spans(self, pair: GoldPair, text: str) -> list[TextSpan]:
        """Where a text mentions a gold pair."""
        thing = self._thing[pair]
        return self._mentions.find(text, among=[thing]).get(thing, [])

    def among(self, things: TargetNumbers, text: str) -> TargetNumbers:
        """Which of these things a text mentions."""
        key = (things, text)
        if (found := self._among.get(key)) is None:
            found = self._among[key] = frozenset(self._mentions.present(text, among=things))
        return found

    def named(self, id: str, names: Iterable[str]) -> TargetNumbers:
        """Which things something of a graph is: by its id, or by its names.

        An entity with Wikidata ids is none with another Wikidata id, whatever the names say:
        shared names are what questions of this kind are about.
        """
        by_id = self._by_qid.get(id, ())
        found = _NOTHING.union(*(self.in_text(name) for name in names if name), by_id)
        if not found or not _QID.fullmatch(id):
            return found
        return frozenset(n for n in found if not self._has_other_id(n, id))

    def _has_other_id(self, thing: int, id: str) -> bool:
        if thing >= len(self._qids):
            return False
        return bool(self._qids[thing]) and id not in self._qids[thing]


def _aliases(question: Question) -> Mapping[str, set[str]]:
    """All names that each Wikidata id has anywhere in the question."""
    names: dict[str, set[str]] = defaultdict(set)
    for branch in question.branches:
        for answer in branch.answers:
            if answer.qid:
                names[answer.qid].update(answer.forms)
    return names


def _forms(entity: Entity, aliases: Mapping[str, set[str]]) -> frozenset[str]:
    forms = {form for answer in entity.answers for form in answer.forms}
    shared = (name for qid in entity.qids for name in aliases.get(qid, ()))
    return frozenset(form for form in forms.union(shared) if form.strip())
