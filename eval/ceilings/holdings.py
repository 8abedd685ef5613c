"""What a corpus and a graph hold of the gold answers that are looked for."""

import hashlib
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.files import parse_object, read_lines
from branchwise.base.progress import Progress
from branchwise.base.text import encodable
from branchwise.base.warning import warn
from branchwise.corpora.folder import CORPUS_FILE, Corpus
from branchwise.corpora.questions import GoldSet, Question
from branchwise.corpora.records import to_passage
from branchwise.eval.branch_matches import GoldPair
from branchwise.eval.branch_scores import gold_branches
from branchwise.eval.ceilings.many_names import mentioned
from branchwise.eval.ceilings.sources import SearchedCorpus, SearchedKg
from branchwise.eval.items import GoldKey
from branchwise.kg.names.index import NameIndex
from branchwise.kg.open import is_address, kg_folder
from branchwise.kg.store import read_description
from branchwise.kg.vocabulary import written_id


@dataclass(frozen=True)
class WantedEntity:
    """A gold entity: ids of passages that support it, its ids in a graph, its ways of writing."""

    support: frozenset[str]
    qids: frozenset[str]
    forms: tuple[str, ...]


WantedPairs = dict[GoldKey, dict[GoldPair, WantedEntity]]
"""By question and gold set, what is looked up for each of its gold pairs."""


def wanted_pairs(questions: Iterable[Question]) -> WantedPairs:
    """What to look up for every gold pair of the questions, of alternatives too."""
    return {
        (question.id, number): _of_gold_set(branches)
        for question in questions
        for number, branches in enumerate(question.gold_sets)
    }


def _of_gold_set(branches: GoldSet) -> dict[GoldPair, WantedEntity]:
    found = {}
    for branch, entities in enumerate(gold_branches(branches).sets):
        for number, entity in enumerate(entities.entities):
            answers = entity.answers
            found[GoldPair(branch, number)] = WantedEntity(
                entity.support,
                entity.qids,
                tuple(sorted({form for answer in answers for form in answer.forms})),
            )
    return found


MENTIONS = "mentions"
"""Folder of a corpus: for each set of names that was looked for, which of them it mentions."""
_VERSION = 1  # of what is kept there: changes when a name may be found in other passages
_REPORT_EVERY = 10_000
_SAMPLE = 2.0
"""Seconds of reading that say how long all of it would take."""


class Holding(Protocol):
    """What a source has. `why` says in words what it means that something is unknown."""

    @property
    def why(self) -> str: ...

    @property
    def final(self) -> bool:
        """False where the source could not be read, which may be mended."""
        ...

    def has(self, wanted: WantedEntity) -> bool | None:
        """Whether the source has an entity; None where that is unknown."""
        ...

    def passage(self, wanted: WantedEntity) -> str | None:
        """The id of a passage that has an entity; None where no passage is known to."""
        ...


@dataclass(frozen=True)
class UnknownHolding:
    """A source that nothing can be said of."""

    why: str
    final: bool = True

    def has(self, wanted: WantedEntity) -> bool | None:
        """Unknown."""
        return None

    def passage(self, wanted: WantedEntity) -> str | None:
        """None."""
        return None


@dataclass(frozen=True)
class CorpusHolding:
    """`passages`: the supporting ones that are there; `mentioned`: forms of entities that some
    passage mentions, with the first one's id, None where the passages were not read; `minutes`:
    since it would take so long.

    Where gold's passages are all missing, they are another corpus's, and say nothing of this one.
    """

    passages: frozenset[str]
    mentioned: Mapping[tuple[str, ...], str] | None = None
    final: bool = True
    minutes: int = 0

    @property
    def why(self) -> str:
        unread = "no passage of the corpus is named as their support, and it was not read for"
        took = f", which takes about {self.minutes} minutes: --scan-corpus" if self.minutes else ""
        return f"{unread} mentions{took}"

    def has(self, wanted: WantedEntity) -> bool | None:
        """Whether a passage supports the entity or, where none is named, mentions it."""
        if wanted.support and self.passages:
            return bool(wanted.support & self.passages)
        return None if self.mentioned is None else wanted.forms in self.mentioned

    def passage(self, wanted: WantedEntity) -> str | None:
        """One that supports the entity or, where none is named, the first that mentions it."""
        if wanted.support and self.passages:
            return min(wanted.support & self.passages, default=None)
        return (self.mentioned or {}).get(wanted.forms)


@dataclass(frozen=True)
class KgHolding:
    """`qids`: the entities' ids that are in the graph."""

    qids: frozenset[str]
    why: str = "they have no Wikidata id to look up in the graph"
    final: bool = True

    def has(self, wanted: WantedEntity) -> bool | None:
        """Whether an id of the entity is in the graph; unknown for one without ids.

        Dates and numbers have none, and may stand in the graph as values.
        """
        return bool(wanted.qids & self.qids) if wanted.qids else None

    def passage(self, wanted: WantedEntity) -> str | None:
        """None: a graph has no passages."""
        return None


def corpus_holding(
    source: SearchedCorpus,
    wanted: Collection[WantedEntity],
    *,
    seconds: float,
    progress: Progress,
) -> Holding:
    """Look into the corpus: one pass for ids and, where it takes at most so many seconds, one for
    mentions. What that finds is kept beside the corpus, if its folder can be written."""
    if source.path is None and source.served:
        return UnknownHolding("what the retrieval server searches is not known here")
    if source.path is None:
        return UnknownHolding("the run does not say where the corpus is that it searched")
    try:
        corpus = Corpus.open(source.path)
        if source.sha256 not in (None, corpus.sha256):
            why = f"{source.path} holds another corpus now than the one that was searched"
            return UnknownHolding(why, final=False)
        passages = _passages(corpus, frozenset().union(*(one.support for one in wanted)), progress)
        unnamed = sorted({one.forms for one in wanted if not (one.support and passages)})
        if not seconds:
            return CorpusHolding(passages)
        return CorpusHolding(passages, _mentioned(corpus, unnamed, seconds, progress))
    except _TakesLongError as slow:
        warn(
            f"{source.path} is not read for gold answers, which takes about {slow.minutes} "
            "minutes; to read it: branchwise score RUN --scan-corpus"
        )
        return CorpusHolding(passages, minutes=slow.minutes)
    except (InputError, OSError) as error:
        return UnknownHolding(f"the corpus cannot be read: {error}", final=False)


def _passages(corpus: Corpus, wanted: frozenset[str], progress: Progress) -> frozenset[str]:
    """Those of the wanted ids (or content hashes) that the corpus has; ends at the last one."""
    found: set[str] = set()
    for fields in _records(corpus, progress):
        if len(found) == len(wanted):
            break
        ids = (fields.get("id"), fields.get("hash"))
        found |= wanted & {str(id) for id in ids if id is not None}
    return frozenset(found)


class _TakesLongError(Exception):
    """A corpus takes longer to read than it may, by its first passages."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.minutes = max(1, round(seconds / 60))


def _mentioned(
    corpus: Corpus, wanted: Sequence[tuple[str, ...]], seconds: float, progress: Progress
) -> dict[tuple[str, ...], str]:
    """Those of the wanted forms that some passage mentions, in its title or its text, with its id:
    as kept, or by reading all of them. Raises _TakesLongError."""
    if not wanted:
        return {}
    asked = hashlib.sha256(orjson.dumps([_VERSION, corpus.sha256, wanted])).hexdigest()[:16]
    kept = corpus.path / MENTIONS / f"{asked}.json"
    try:
        before = orjson.loads(kept.read_bytes())
        if not isinstance(before, list):
            raise ValueError
        return {wanted[number]: str(id) for number, id in before}
    except (OSError, ValueError, TypeError, IndexError):
        rows = mentioned(wanted, _contents(corpus, seconds, progress))
    ids = [(number, corpus.id(row)) for number, row in sorted(rows.items())]
    with suppress(OSError, InputError):  # a folder that cannot be written: read again another time
        kept.parent.mkdir(exist_ok=True)
        write_bytes(kept, orjson.dumps(ids))
    return {wanted[number]: id for number, id in ids}


def _contents(corpus: Corpus, seconds: float, progress: Progress) -> Iterator[str]:
    """The passages of a corpus, one after the other, unless to read them takes longer. What is
    found is not looked for again, so that the first ones take longest."""
    began, total = time.monotonic(), len(corpus)
    for done, fields in enumerate(_records(corpus, progress)):
        spent = time.monotonic() - began
        if done and spent > min(_SAMPLE, seconds) and spent / done * total > seconds:
            raise _TakesLongError(spent / done * total)
        yield to_passage("", str(fields.get("contents", ""))).contents


def _records(corpus: Corpus, progress: Progress) -> Iterator[dict[str, Any]]:
    """The lines of a corpus file, each checked to be a JSON object."""
    file: Path = corpus.path / CORPUS_FILE
    total = len(corpus)
    for done, (number, line) in enumerate(read_lines(file)):
        if done % _REPORT_EVERY == 0:
            progress(done, total)
        yield parse_object(line, f"{file}:{number}")
    progress(total, total)


def kg_holding(source: SearchedKg, wanted: Collection[WantedEntity]) -> Holding:
    """Look the ids up in the names of a built graph; no query is asked, of an endpoint neither."""
    if source.address is None:
        return UnknownHolding("the run does not say which graph it asked")
    if is_address(source.address):
        return UnknownHolding("the graph is behind an endpoint, which is not asked again")
    try:
        return KgHolding(_known_ids(Path(source.address), source.sha256, wanted))
    except (InputError, OSError, sqlite3.Error) as error:
        return UnknownHolding(f"the graph cannot be read: {error}", final=False)


def _known_ids(path: Path, sha256: str | None, wanted: Collection[WantedEntity]) -> frozenset[str]:
    folder = kg_folder(path)
    if sha256 not in (None, read_description(folder).sha256):
        raise InputError(
            "holds another graph now than the one that was asked",
            where=str(folder),
            remedy="restore it",
        )
    index = NameIndex.open(folder)
    try:
        qids = frozenset().union(*(one.qids for one in wanted))
        return frozenset(qid for qid in qids if (id := _id(qid)) and index.knows(id))
    finally:
        index.close()


def _id(qid: str) -> str | None:
    """A gold id as the index writes it; None for anything else, texts or not."""
    return written_id(encodable(qid))
