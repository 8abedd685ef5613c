"""What a run's tools searched, and what these sources hold of the gold answers."""

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
from branchwise.base.errors import InputError, warn
from branchwise.base.files import parse_object, read_lines
from branchwise.base.plugins.specs import short_spec
from branchwise.base.process import Progress
from branchwise.base.text import encodable
from branchwise.corpora.folder import CORPUS_FILE, Corpus
from branchwise.corpora.questions import GoldSet, Question
from branchwise.corpora.records import to_passage
from branchwise.eval.branch_scores import GoldPair, gold_branches
from branchwise.eval.errors.mentions import mentioned
from branchwise.eval.errors.module_work import tool_names
from branchwise.eval.items import GoldKey
from branchwise.kg.names.index import NameIndex
from branchwise.kg.open import is_address, kg_folder
from branchwise.kg.store import read_description
from branchwise.kg.vocabulary import written_id
from branchwise.tools.registry import KG_TOOLS

RETRIEVER = "local_retriever"
MENTIONS = "mentions"
"""Folder of a corpus: for each set of names that was looked for, which of them it mentions."""
_VERSION = 1  # of what is kept there: changes when a name may be found in other passages
_REPORT_EVERY = 10_000
_SAMPLE = 2.0
"""Seconds of reading that say how long all of it would take."""


@dataclass(frozen=True)
class SearchedCorpus:
    """The corpus that was searched: where it was, and its SHA-256; None where nothing says.

    `served`: by a retrieval server, which alone knows what it searches.
    """

    path: Path | None = None
    sha256: str | None = None
    served: bool = False


@dataclass(frozen=True)
class SearchedKg:
    """The graph that was asked: its folder or an endpoint's address, and a folder's SHA-256."""

    address: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Sources:
    """What a run's tools searched; `others` are the names of tools that ask anything else.

    A corpus or graph that the system had but no tool for is not among them.
    """

    corpus: SearchedCorpus | None = None
    kg: SearchedKg | None = None
    others: tuple[str, ...] = ()

    def identity(self) -> list[Any]:
        """What they are, JSON-serialisable and free of paths."""
        return [
            [self.corpus.sha256] if self.corpus else None,
            [self.kg.sha256] if self.kg else None,
            sorted(self.others),
        ]


def run_sources(
    meta: Mapping[str, Any], *, corpus: Path | None = None, kg: str | None = None
) -> Sources:
    """The sources of a run, from what its store says (`RunReader.meta`).

    `corpus` and `kg` say where they lie now, if elsewhere.
    """
    system, identity = meta["system"], meta["identity"]
    names = tool_names(identity)
    folder = corpus or (Path(system["corpus"]) if system.get("corpus") else None)
    built, retriever = identity.get("kg") or {}, identity.get("retriever") or {}
    return Sources(
        SearchedCorpus(folder, _corpus_sha256(retriever), retriever.get("kind") == "http")
        if RETRIEVER in names
        else None,
        SearchedKg(kg or system.get("kg"), built.get("sha256"))
        if set(KG_TOOLS) & set(names)
        else None,
        tuple(name for name in names if name != RETRIEVER and name not in KG_TOOLS),
    )


def evidence_words(meta: Mapping[str, Any]) -> str:
    """What a run's tools searched, for people: "corpus wiki18 (bm25), graph W", or "none"."""
    system, sources = meta["system"], run_sources(meta)
    words = []
    if sources.corpus:
        retriever, reranker = system.get("retriever"), system.get("reranker")
        how = [short_spec(str(retriever))] if retriever else []
        how += [f"ranked again by {Path(str(reranker)).name}"] if reranker else []
        named = (
            f"corpus {sources.corpus.path.name}"
            if sources.corpus.path
            else "what a retriever finds"
        )
        words.append(f"{named} ({', '.join(how)})" if how else named)
    if sources.kg:
        words.append(f"graph {Path(sources.kg.address or '?').name}")
    words += [f"the tool {name}" for name in sources.others]
    return ", ".join(words) or "none"


def _corpus_sha256(retriever: Mapping[str, Any]) -> str | None:
    """From a retriever's identity; one that is fused names it with its parts."""
    if found := retriever.get("corpus_sha256"):
        return str(found)
    return next(filter(None, map(_corpus_sha256, retriever.get("parts", ()))), None)


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
    wanted = {}
    for branch, entities in enumerate(gold_branches(branches).sets):
        for number, entity in enumerate(entities.entities):
            forms = {form for answer in entity.answers for form in answer.forms}
            pair = GoldPair(branch, number)
            wanted[pair] = WantedEntity(entity.support, entity.qids, tuple(sorted(forms)))
    return wanted


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
            why = f"{source.path} is no longer the corpus that was searched"
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
    held: set[str] = set()
    for fields in _records(corpus, progress):
        if len(held) == len(wanted):
            break
        ids = (fields.get("id"), fields.get("hash"))
        held |= wanted & {str(id) for id in ids if id is not None}
    return frozenset(held)


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
            "is no longer the graph that was searched",
            where=str(folder),
            remedy="restore it",
        )
    index = NameIndex.open(folder)
    try:
        qids = frozenset().union(*(one.qids for one in wanted))
        # `written_id`: as the index writes it; None for texts and others that are not ids.
        return frozenset(q for q in qids if (id := written_id(encodable(q))) and index.knows(id))
    finally:
        index.close()
