"""Making a corpus folder from a corpus file or from the passages of a question set."""

import hashlib
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from branchwise.corpora.atomic import new_folder, remove_abandoned
from branchwise.corpora.errors import InputError
from branchwise.corpora.files import parse_object, read_lines
from branchwise.corpora.folder import CORPUS_FILE, Corpus
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.passages import Passage
from branchwise.corpora.progress import Progress, silent
from branchwise.corpora.records import CorpusRecord, parse_record
from branchwise.corpora.scan import id_key, refuse_duplicate_ids, repeated_keys

_REPORT_EVERY = 10_000


class _Sink(Protocol):
    """Takes what is written: a file, or a digest."""

    def write(self, data: bytes, /) -> int: ...


@dataclass(frozen=True)
class Built:
    """A new corpus, and how many passages were left out because they were there already."""

    corpus: Corpus
    repeated: int


def build_corpus(source: str, out: Path, progress: Progress = silent) -> Built:
    """Make the corpus folder `out` from `source`.

    `source`: a corpus in FlashRAG's JSONL (plain, .gz or .zst), a native question set, or
    `condambigqa:PATH`; of question sets, their own passages. Passages without ids get content
    hashes, repeats are left out; ids that a corpus brings are kept and must be unique.

    A folder that holds this very corpus stays as it is: a build killed at its end may be repeated.
    Raises InputError, with file and line, for bad data, and where `out` holds anything
    else. After an error, Ctrl-C or a kill, no corpus is left there.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return _built_before(source, out, progress)
    with new_folder(out) as folder:
        # Under another name until it is whole: a kill leaves no folder that opens.
        unfinished = folder / f"{CORPUS_FILE}.unfinished"
        with unfinished.open("wb") as stream:
            repeated = _write(source, stream, progress)
        unfinished.rename(folder / CORPUS_FILE)
        Corpus.open(folder)
    return Built(Corpus.open(out), repeated)


def _built_before(source: str, out: Path, progress: Progress) -> Built:
    """What already exists, where it is what would be built."""
    if (out / CORPUS_FILE).is_file():
        corpus, digest = Corpus.open(out), _Digest()
        repeated = _write(source, digest, progress)
        if digest.hexdigest() == corpus.sha256:
            remove_abandoned(out)
            return Built(corpus, repeated)
    raise InputError("already exists", where=str(out), remedy="choose another --out")


class _Digest:
    """What would be written is only digested."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return len(data)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _write(source: str, out: _Sink, progress: Progress) -> int:
    """Write the corpus; how many passages were left out."""
    if _is_corpus_file(source):
        return _from_corpus_file(Path(source), out, progress)
    return _from_questions(source, out, progress)


def _is_corpus_file(source: str) -> bool:
    """Whether the first line is a passage and not a question. Raises InputError."""
    path = Path(source)
    if not path.exists() and ":" in source:
        return False
    for number, line in read_lines(path):
        return "question" not in parse_object(line, f"{path}:{number}")
    raise InputError("is empty", where=source, remedy="write one passage per line")


def _from_corpus_file(path: Path, out: _Sink, progress: Progress) -> int:
    own_ids, hashes = array("Q"), set[int]()
    repeated = 0
    for number, line in read_lines(path):
        record = parse_record(line, f"{path}:{number}")
        if record.id is not None:
            own_ids.append(id_key(record.id))
        elif (key := int(record.hash, 16)) in hashes:
            repeated += 1
            continue
        else:
            hashes.add(key)
        out.write(record.line())
        if number % _REPORT_EVERY == 0:
            progress(number, 0)
    if own_ids and repeated_keys(own_ids):
        refuse_duplicate_ids(path, read_lines(path), own_ids)
    return repeated


def _from_questions(source: str, out: _Sink, progress: Progress) -> int:
    seen: dict[str, Passage] = {}
    repeated = 0
    questions = load_questions(source, require_gold=False).questions
    for number, question in enumerate(questions, start=1):
        for passage in question.passages:
            if (earlier := seen.setdefault(passage.id, passage)) != passage:
                raise InputError(
                    f"two different passages have the id {passage.id!r} "
                    f"({earlier.title!r} and {passage.title!r})",
                    where=f"{source}, question {question.id!r}",
                    remedy="leave the ids out to get content hashes",
                )
            if earlier is not passage:
                repeated += 1
                continue
            out.write(_record(passage).line())
        progress(number, len(questions))
    if not seen:
        raise InputError(
            "the questions bring no passages",
            where=source,
            remedy="build the corpus from a JSONL of passages",
        )
    return repeated


def _record(passage: Passage) -> CorpusRecord:
    return CorpusRecord(passage.id, passage.contents)
