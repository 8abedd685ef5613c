"""Making a corpus folder from a collection of passages or documents."""

import hashlib
from array import array
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from branchwise.base.atomic import new_folder, remove_abandoned
from branchwise.base.errors import InputError
from branchwise.base.files import MAX_LINE_BYTES
from branchwise.base.process import Progress, silent
from branchwise.corpora.folder import CORPUS_FILE, Corpus
from branchwise.corpora.forms import PassageSource, find_source, open_source
from branchwise.corpora.forms.omissions import Omissions
from branchwise.corpora.records import CorpusRecord
from branchwise.corpora.scan import id_key, repeated_keys

_REPORT_EVERY = 10_000


@dataclass(frozen=True)
class Built:
    """A new corpus, what it was built from (`find_source`), and what was left out."""

    corpus: Corpus
    source: str
    omissions: Omissions


def build_corpus(
    source: str,
    out: Path,
    progress: Progress = silent,
    *,
    fields: Sequence[str] = (),
    split: str | None = None,
) -> Built:
    """Make the corpus folder `out` from `source`.

    `source`: FORM:PLACE of a form in `CORPUS_FORMS`, a file or a folder whose form shows, or a
    question set, whose own passages are taken. `fields`: `OURS=THEIRS`, what the source calls them.
    `split`: how texts become passages (`words:100`); by default only documents are split.

    Passages without ids get content hashes. What has no text, and what is there already, is left
    out and counted: an equal text without an id, an equal text with an equal id. Ids that a
    collection brings are kept.

    A folder that holds this very corpus stays as it is: a build killed at its end may be repeated.
    Raises InputError, with file and place, for bad data, for one id with two texts, and where
    `out` holds anything else. After an error, Ctrl-C or a kill, no corpus is left there.
    """
    out = Path(out)
    source = find_source(source, fields)
    passages = open_source(source, fields, split)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return _built_before(passages, source, out, progress)
    with new_folder(out) as folder:
        # Under another name until it is whole: a kill leaves no folder that opens.
        unfinished = folder / f"{CORPUS_FILE}.unfinished"
        with unfinished.open("wb") as stream:
            omissions = _write(passages, source, _File(stream), progress)
        unfinished.rename(folder / CORPUS_FILE)
        Corpus.open(folder)
    return Built(Corpus.open(out), source, omissions)


def _built_before(passages: PassageSource, source: str, out: Path, progress: Progress) -> Built:
    """What already exists, where it is what would be built."""
    if (out / CORPUS_FILE).is_file():
        corpus, digest = Corpus.open(out), _Digest()
        omissions = _write(passages, source, digest, progress)
        if digest.hexdigest() == corpus.sha256:
            remove_abandoned(out)
            return Built(corpus, source, omissions)
    raise InputError("already exists", where=str(out), remedy="choose another --out")


class _Sink(Protocol):
    """Takes what is written."""

    def write(self, data: bytes, /) -> object: ...

    def restart(self) -> None:
        """Forget what was written."""
        ...


class _File:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self.write = stream, stream.write

    def restart(self) -> None:
        self._stream.seek(0)
        self._stream.truncate()


class _Digest:
    """What would be written is only digested."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._digest = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._digest.update(data)

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def _write(passages: PassageSource, source: str, out: _Sink, progress: Progress) -> Omissions:
    """Write the corpus; what was left out."""
    writer = _Writer(out, progress)
    writer.write(passages)
    if repeated := repeated_keys(writer.own_ids):
        # Which of them are equal, and where they stand, a second reading tells.
        out.restart()
        writer = _Writer(out, progress, repeated)
        writer.write(passages)
    if not writer.written:
        why = next(writer.omissions.lines(), "")
        raise InputError(
            "holds no passages",
            where=source,
            remedy=f"left out: {why}" if why else "`branchwise corpus forms` lists the forms",
        )
    return writer.omissions


class _Writer:
    """Writes passages that are not there already.

    Memory: 8 bytes for each id that the source brings, about 100 for each passage without one.
    `suspects`: keys (`id_key`) of ids that occur more than once.
    """

    def __init__(
        self, out: _Sink, progress: Progress, suspects: AbstractSet[int] = frozenset()
    ) -> None:
        self.omissions, self.own_ids, self.written = Omissions(), array("Q"), 0
        self._out, self._progress = out, progress
        self._hashes: set[int] = set()
        self._suspects, self._seen = suspects, dict[str, tuple[str, str]]()

    def write(self, passages: PassageSource) -> None:
        for number, (where, record) in enumerate(passages.read(self.omissions), start=1):
            hash = record.hash
            if self._is_new(record, hash, where):
                line = record.line(hash)
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(
                        f"the passage takes more than {MAX_LINE_BYTES // 2**20} MiB",
                        where=where,
                        remedy="split it: --split words:100",
                    )
                self._out.write(line)
                self.written += 1
            else:
                self.omissions.add("double", where)
            if number % _REPORT_EVERY == 0:
                self._progress(number, 0)

    def _is_new(self, record: CorpusRecord, hash: str, where: str) -> bool:
        if record.id is None:
            count = len(self._hashes)
            self._hashes.add(int(hash, 16))
            return len(self._hashes) > count
        key = id_key(record.id)
        self.own_ids.append(key)
        if key not in self._suspects:
            return True
        if record.id not in self._seen:
            self._seen[record.id] = hash, where
            return True
        hash_there, earlier = self._seen[record.id]
        if hash_there != hash:
            raise InputError(
                f"id {record.id!r} is already used by another text, at {earlier}",
                where=where,
                remedy="give each passage an id of its own, or none at all",
            )
        return False
