"""Making a corpus folder from a collection, and an index of a corpus: whole or not at all."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from branchwise.base.arguments import typed_arguments
from branchwise.base.atomic import new_folder, remove_abandoned, remove_folder
from branchwise.base.errors import InputError
from branchwise.base.files import MAX_LINE_BYTES, record_files
from branchwise.base.process import Progress, silent
from branchwise.base.text import counted
from branchwise.corpora.encoder_models import (
    AS_THE_MODEL_SAYS,
    DEFAULT_ENCODER,
    EncoderSettings,
    Encoding,
)
from branchwise.corpora.folder import CORPUS_FILE, Corpus, id_key, repeated_keys
from branchwise.corpora.forms import PassageSource, find_source, open_source
from branchwise.corpora.given_vectors import check_given
from branchwise.corpora.kinds import HYBRID, RECALL, index_kind
from branchwise.corpora.manifest import INDEX_FOLDER, Kind, write_manifest
from branchwise.corpora.passage_sources import Omissions, row_passages
from branchwise.corpora.passages import CorpusRecord

_REPORT_EVERY = 10_000


@dataclass(frozen=True, repr=False)
class Built:
    """A new corpus, what it was built from (`find_source`), and what was left out."""

    corpus: Corpus
    source: str
    omissions: Omissions

    def __repr__(self) -> str:
        left_out = "".join(f"; left out: {line}" for line in self.omissions.lines())
        return f"<Corpus {self.corpus.path}: {counted(len(self.corpus), 'passage')}{left_out}>"


@typed_arguments
def build_corpus(
    source: str | Path | Iterable[Mapping[str, Any]],
    out: Path | str,
    progress: Progress = silent,
    *,
    fields: Mapping[str, str] | Sequence[str] = (),
    split: str | None = None,
) -> Built:
    """Make the corpus folder `out` from `source`.

    `source`: FORM:PLACE of a form in `CORPUS_FORMS`, a file or a folder whose form shows, or a
    question set, whose own passages are taken; or rows: a list of dicts, a data frame. `fields`:
    `OURS=THEIRS`, what the source calls them, or a dict.
    `split`: how texts become passages (`words:100`); by default only documents are split.

    Passages without ids get content hashes. What has no text, and what is there already, is left
    out and counted: an equal text without an id, an equal text with an equal id. Ids that a
    collection brings are kept.

    A folder that holds this very corpus stays as it is: a build killed at its end may be repeated.
    Raises InputError, with file and place, for bad data, for one id with two texts, and where
    `out` holds anything else. After an error, Ctrl-C or a kill, no corpus is left there.
    """
    out = Path(out)
    if isinstance(source, str | Path):
        source = find_source(str(source), fields)
        passages = open_source(source, fields, split)
    else:
        passages, source = row_passages(source, fields, split), "rows"
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return _built_before(passages, source, out, progress)
    with new_folder(out) as folder:
        # Under another name until it is whole: a kill leaves no folder that opens.
        unfinished = folder / f"{CORPUS_FILE}.unfinished"

        def write(lines: Iterable[bytes]) -> None:
            with unfinished.open("wb") as stream:
                stream.writelines(lines)

        omissions = _each_line(passages, source, write, progress)
        unfinished.rename(folder / CORPUS_FILE)
        Corpus.open(folder)
    return Built(Corpus.open(out), source, omissions)


def _built_before(passages: PassageSource, source: str, out: Path, progress: Progress) -> Built:
    digest = ""

    def read(lines: Iterable[bytes]) -> None:
        nonlocal digest
        sha256 = hashlib.sha256()
        for line in lines:
            sha256.update(line)
        digest = sha256.hexdigest()

    if (out / CORPUS_FILE).is_file():
        corpus = Corpus.open(out)
        omissions = _each_line(passages, source, read, progress)
        if digest == corpus.sha256:
            remove_abandoned(out)
            return Built(corpus, source, omissions)
    raise InputError("already exists", where=str(out), remedy="choose another --out")


def _each_line(
    passages: PassageSource,
    source: str,
    take: Callable[[Iterable[bytes]], None],
    progress: Progress,
) -> Omissions:
    """Have all lines of the corpus taken, a second time where ids repeat; what was left out."""
    lines = _Lines(passages, progress)
    take(lines)
    if repeated := repeated_keys(lines.own_ids):
        # Which of them are equal, and where they stand, a second reading tells.
        lines = _Lines(passages, progress, repeated)
        take(lines)
    if not lines.count:
        why = next(lines.omissions.lines(), "")
        problem = "holds no passages"
        remedy = f"left out: {why}" if why else "`branchwise corpus forms` lists the forms"
        raise InputError(problem, where=source, remedy=remedy)
    return lines.omissions


class _Lines:
    """The lines of a corpus file, of passages that are new. Memory: 8 bytes an id of the source's,
    about 100 a passage without one. `suspects`: keys (`id_key`) of ids that repeat."""

    def __init__(
        self, passages: PassageSource, progress: Progress, suspects: AbstractSet[int] = frozenset()
    ) -> None:
        self.omissions, self.own_ids, self.count = Omissions(), array("Q"), 0
        self._passages, self._progress, self._suspects = passages, progress, suspects
        self._hashes: set[int] = set()
        self._seen: dict[str, tuple[str, str]] = {}

    def __iter__(self) -> Iterator[bytes]:
        for number, (where, record) in enumerate(self._passages(self.omissions), start=1):
            hash = record.hash
            if self._is_new(record, hash, where):
                line = record.line(hash)
                if len(line) > MAX_LINE_BYTES:
                    problem = f"the passage takes more than {MAX_LINE_BYTES // 2**20} MiB"
                    raise InputError(problem, where=where, remedy="split it: --split words:100")
                yield line
                self.count += 1
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
        earlier_hash, earlier = self._seen[record.id]
        if earlier_hash != hash:
            problem = f"id {record.id!r} is already used by another text, at {earlier}"
            remedy = "give each passage an id of its own, or none at all"
            raise InputError(problem, where=where, remedy=remedy)
        return False


@typed_arguments
def build_index(
    corpus_dir: Path | str,
    kind: Kind,
    *,
    name: str | None = None,
    encoder: str = DEFAULT_ENCODER,
    backend: Literal["auto", "torch", "openvino"] = "auto",
    dtype: Literal["auto", "float16", "float32"] = "auto",
    settings: EncoderSettings = AS_THE_MODEL_SAYS,
    recall: float = RECALL,
    vectors: Path | None = None,
    progress: Progress = silent,
) -> Path:
    """Index the corpus as `index/<name>` (by default named like its kind); returns the folder.

    An index of that name is replaced once the new one is whole; after Ctrl-C or an error
    everything is as before, and encoded vectors are kept for the next call. `recall`: at ten, of a
    kind that is not exact. `vectors`: a file of those that the encoder made of the corpus elsewhere
    (`open_vectors`), checked by a few. Raises InputError for a bad corpus, kind, name, encoder or
    file of vectors.
    """
    module = index_kind(kind).ready()
    corpus = Corpus.open(Path(corpus_dir))
    name = name or kind
    plain = name.replace("-", "").replace("_", "").replace(".", "").isalnum()
    if not plain or name.startswith(".") or name == HYBRID:
        problem = f"{name!r} cannot name an index"
        remedy = "use letters, digits, '-', '_' and '.'; hybrid is made at search time"
        raise InputError(problem, remedy=remedy)
    target = corpus.path / INDEX_FOLDER / name
    given = check_given(vectors, corpus, encoder, backend, settings) if vectors else None
    kept = target.with_name(f".{target.name}.unfinished")
    with new_folder(target) as folder:
        encoding = Encoding(encoder, backend, dtype, settings, recall, kept, given)
        write_manifest(folder, module.build(corpus, folder, encoding, progress))
        record_files(folder)
    remove_folder(kept)
    return target
