"""What a run's tools searched, and what these sources hold of the gold answers."""

import hashlib
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError, warn
from branchwise.base.files import parse_object, read_lines
from branchwise.base.plugins.specs import short_spec
from branchwise.base.process import Progress
from branchwise.base.text import encodable
from branchwise.corpora.folder import CORPUS_FILE, Corpus
from branchwise.corpora.passages import to_passage
from branchwise.corpora.questions import Question
from branchwise.eval.branch_scores import GoldPair, gold_branches, gold_pairs
from branchwise.eval.errors.mentions import mentioned
from branchwise.eval.errors.module_work import tool_names
from branchwise.eval.items import GoldKey
from branchwise.kg.names.index import NameIndex
from branchwise.kg.open import is_address, kg_folder
from branchwise.kg.store import read_description
from branchwise.kg.vocabulary import written_id
from branchwise.tools.registry import CORPUS_TOOLS, KG_TOOLS
from branchwise.trace.records import mapping

MENTIONS = "mentions"
"""Folder of a corpus: for each set of names that was looked for, which of them it mentions."""
_VERSION = 1  # of what is kept there: changes when a name may be found in other passages
_REPORT_EVERY = 10_000
_SAMPLE = 2.0
"""Seconds of reading that say how long all of it would take."""


@dataclass(frozen=True)
class SearchedCorpus:
    """The corpus that was searched: its folder and SHA-256; `served` by a retrieval server."""

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
    """What a run's tools searched; `others`: the names of tools that ask anything else."""

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
    """The sources of a run, from what its store says (`RunReader.meta`); `corpus` and `kg`: where
    they lie now, if elsewhere."""
    system, identity = meta["system"], meta["identity"]
    names = tool_names(identity)
    folder = corpus or (Path(system["corpus"]) if system.get("corpus") else None)
    built, retriever = mapping(identity.get("kg")), mapping(identity.get("retriever"))
    return Sources(
        SearchedCorpus(folder, _corpus_sha256(retriever), retriever.get("kind") == "http")
        if CORPUS_TOOLS & set(names)
        else None,
        SearchedKg(kg or system.get("kg"), built.get("sha256"))
        if set(KG_TOOLS) & set(names)
        else None,
        tuple(name for name in names if name not in {*CORPUS_TOOLS, *KG_TOOLS}),
    )


def evidence_words(meta: Mapping[str, Any]) -> str:
    """What a run's tools searched, for people: "corpus wiki18 (bm25), graph W", or "none"."""
    system, sources = meta["system"], run_sources(meta)
    words = []
    if sources.corpus:
        retriever, reranker = system.get("retriever"), system.get("reranker")
        how = [short_spec(str(retriever))] if retriever else []
        how += [f"ranked again by {Path(str(reranker)).name}"] if reranker else []
        path = sources.corpus.path
        named = f"corpus {path.name}" if path else "what a retriever finds"
        words.append(f"{named} ({', '.join(how)})" if how else named)
    if sources.kg:
        words.append(f"graph {Path(sources.kg.address or '?').name}")
    words += [f"the tool {name}" for name in sources.others]
    return ", ".join(words) or "none"


def _corpus_sha256(retriever: Mapping[str, Any]) -> str | None:
    """From a retriever's identity; one that is fused names it with its parts."""
    if sha256 := retriever.get("corpus_sha256"):
        return str(sha256)
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
    wanted: WantedPairs = {}
    for question in questions:
        for number, branches in enumerate(question.gold_sets):
            gold = gold_branches(branches)
            of_set = wanted[question.id, number] = {}
            for pair in gold_pairs(gold):
                entity = gold.sets[pair.branch].entities[pair.entity]
                forms = {form for answer in entity.answers for form in answer.forms}
                of_set[pair] = WantedEntity(entity.support, entity.qids, tuple(sorted(forms)))
    return wanted


@dataclass(frozen=True, kw_only=True)
class Holding:
    """What a source has; of this one nothing is known. `why`: it is unknown, in words. `final`:
    False where the source could not be read, which may be mended."""

    why: str = ""
    final: bool = True

    def has(self, wanted: WantedEntity) -> bool | None:
        """Whether the source has an entity; None where that is unknown."""
        return None

    def passage(self, wanted: WantedEntity) -> str | None:
        """The id of a passage that has an entity; None where no passage is known to."""
        return None


@dataclass(frozen=True, kw_only=True)
class _CorpusHolding(Holding):
    """`passages`: the supporting ones that are there (none: they are another corpus's, and say
    nothing of this one); `mentioned`: forms of entities that some passage mentions, with the first
    one's id, None where the passages were not read."""

    passages: frozenset[str]
    mentioned: Mapping[tuple[str, ...], str] | None = None

    def has(self, wanted: WantedEntity) -> bool | None:
        is_named = wanted.support and self.passages
        if self.mentioned is None and not is_named:
            return None
        return self.passage(wanted) is not None

    def passage(self, wanted: WantedEntity) -> str | None:
        if wanted.support and self.passages:
            return min(wanted.support & self.passages, default=None)
        return (self.mentioned or {}).get(wanted.forms)


@dataclass(frozen=True, kw_only=True)
class _KgHolding(Holding):
    """`qids`: the entities' ids that are in the graph. Dates and numbers have none."""

    qids: frozenset[str]

    def has(self, wanted: WantedEntity) -> bool | None:
        return bool(wanted.qids & self.qids) if wanted.qids else None


def corpus_holding(
    source: SearchedCorpus, wanted: Collection[WantedEntity], *, seconds: float, progress: Progress
) -> Holding:
    """Look into the corpus: one pass for ids and, where it takes at most so many seconds, one for
    mentions, kept beside the corpus if its folder can be written."""
    if source.path is None:
        why = "the run does not say where the corpus is that it searched"
        served = "what the retrieval server searches is not known here"
        return Holding(why=served if source.served else why)
    why = "no passage of the corpus is named as their support, and it was not read for mentions"
    try:
        corpus = Corpus.open(source.path)
        if source.sha256 not in (None, corpus.sha256):
            changed = f"{source.path} is no longer the corpus that was searched"
            return Holding(why=changed, final=False)
        support = frozenset[str]().union(*(entity.support for entity in wanted))
        passages = _passages(corpus, support, progress)
        unnamed = sorted({entity.forms for entity in wanted if not (entity.support and passages)})
        read = _mentioned(corpus, unnamed, seconds, progress) if seconds else None
        return _CorpusHolding(why=why, passages=passages, mentioned=read)
    except _TakesLongError as slow:
        warn(
            f"{source.path} is not read for gold answers, which takes about {slow.minutes} "
            "minutes; to read it: branchwise score RUN --scan-corpus"
        )
        why += f", which takes about {slow.minutes} minutes: --scan-corpus"
        return _CorpusHolding(why=why, passages=passages)
    except (InputError, OSError) as error:
        return Holding(why=f"the corpus cannot be read: {error}", final=False)


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
    """The passages of a corpus. Raises _TakesLongError where the first, which take longest, say
    that all would take more than so many seconds."""
    began, total = time.monotonic(), len(corpus)
    for done, fields in enumerate(_records(corpus, progress)):
        spent = time.monotonic() - began
        if done and spent > min(_SAMPLE, seconds) and spent / done * total > seconds:
            raise _TakesLongError(spent / done * total)
        yield to_passage("", str(fields.get("contents", ""))).contents


def _records(corpus: Corpus, progress: Progress) -> Iterator[dict[str, Any]]:
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
        return Holding(why="the run does not say which graph it asked")
    if is_address(source.address):
        return Holding(why="the graph is behind an endpoint, which is not asked again")
    qids = frozenset[str]().union(*(entity.qids for entity in wanted))
    try:
        folder = kg_folder(Path(source.address))
        if source.sha256 not in (None, read_description(folder).sha256):
            problem = "is no longer the graph that was searched"
            raise InputError(problem, where=str(folder), remedy="restore it")
        with closing(NameIndex.open(folder)) as index:
            # `written_id`: as the index writes it; None for texts and others that are not ids.
            known = frozenset(
                qid for qid in qids if (id := written_id(encodable(qid))) and index.knows(id)
            )
        return _KgHolding(why="they have no Wikidata id to look up in the graph", qids=known)
    except (InputError, OSError, sqlite3.Error) as error:
        return Holding(why=f"the graph cannot be read: {error}", final=False)
