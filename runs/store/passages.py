"""Passages are stored once: a reference replaces a passage's text in a record.

`fold` takes out the texts, which a tool result has twice; `unfold` puts them back."""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from branchwise.base.text import one_line
from branchwise.corpora.passages import Passage, passage_id
from branchwise.corpora.questions import Question
from branchwise.runs.store.connection import DamagedError, reading
from branchwise.runs.store.run_file import RunFile
from branchwise.runs.store.tables import PLACES, Row, block_passage, hash_number


class StoredPassage(NamedTuple):
    hash: str
    id: str
    title: str
    text: str


def fold(record: Mapping[str, Any]) -> tuple[dict[str, Any], list[StoredPassage]]:
    """The record without passage texts, and the passages it refers to: in `artifact.passages`, in
    `content` (then a list of texts and `{"p": hash}`, `line` if on one line there), and in the tool
    messages that a node changed (`update.pending`)."""
    if changed := _changed_messages(record):
        folded = [fold(message) for message in changed]
        whole = _with_messages(record, [slim for slim, _ in folded])
        return whole, [passage for _, passages in folded for passage in passages]
    listed = record.get("artifact", {}).get("passages")
    if not listed:
        return dict(record), []
    passages = [_stored(p["id"], p["title"], p["text"]) for p in listed]
    slim = [
        {"p": s.hash} | {k: v for k, v in p.items() if k not in ("id", "title", "text")}
        for s, p in zip(passages, listed, strict=True)
    ]
    artifact = {**record["artifact"], "passages": slim}
    content = _fold_text(record["content"], passages)
    return {**record, "content": content, "artifact": artifact}, passages


def _changed_messages(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The tool messages that a node changed; `of` tells them from those of an opening."""
    update = record.get("update")
    if not isinstance(update, dict):
        return []
    pending = update.get("pending") or []
    return pending if pending and "of" in pending[0] else []


def _with_messages(record: Mapping[str, Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
    return {**record, "update": {**record["update"], "pending": messages}}


def fold_question(question: Question) -> tuple[bytes, list[StoredPassage]]:
    """The question as JSON with references for its passages, and the passages."""
    body = question.model_dump(mode="json")
    passages = [_stored(p["id"], p["title"], p["text"]) for p in body["passages"]]
    return orjson.dumps({**body, "passages": [p.hash for p in passages]}), passages


def unfold_question(
    body: bytes, stored: Callable[[Iterable[str]], Mapping[str, StoredPassage]]
) -> Question:
    """The question as it was; `stored` returns the passages with these hashes."""
    record = orjson.loads(body)
    by_hash = stored(record["passages"])
    listed = [by_hash[hash] for hash in record["passages"]]
    passages = [Passage(id=p.id, title=p.title, text=p.text) for p in listed]
    return Question.model_validate({**record, "passages": passages})


@functools.lru_cache(maxsize=4096)
def _stored(id: str, title: str, text: str) -> StoredPassage:
    # The id is hashed too: a corpus may give two ids to one text.
    return StoredPassage(passage_id(f"{id}\n{title}", text), id, title, text)


def _fold_text(content: str, passages: list[StoredPassage]) -> list[Any]:
    pieces: list[Any] = []
    at = 0
    for passage in passages:
        # Tools print passages in order, so each is searched for after the one before it.
        reference: dict[str, Any] = {"p": passage.hash}
        text = passage.text
        start = content.find(text, at)
        if start < 0:
            reference, text = {"p": passage.hash, "line": True}, one_line(text)
            start = content.find(text, at)
        if start >= 0 and text:
            pieces += [content[at:start], reference]
            at = start + len(text)
    return [*pieces, content[at:]]


def references(record: Mapping[str, Any]) -> list[str]:
    """Hashes of the passages that a folded record refers to."""
    if changed := _changed_messages(record):
        return [hash for message in changed for hash in references(message)]
    return [slim["p"] for slim in record.get("artifact", {}).get("passages") or ()]


def unfold(
    record: Mapping[str, Any], stored: Mapping[str, StoredPassage], *, contents: bool = True
) -> dict[str, Any]:
    """The record as it was, by its `stored` passages. Without `contents`, `content` is "" where it
    only repeats the artifact's passages: writing these out is a third of the work."""
    if changed := _changed_messages(record):
        return _with_messages(record, [unfold(message, stored) for message in changed])
    listed = record.get("artifact", {}).get("passages")
    if not listed:
        return dict(record)
    passages = []
    for slim in listed:
        _, id, title, text = stored[slim["p"]]
        passage = {"id": id, "title": title, "text": text, **slim}
        del passage["p"]
        passages.append(passage)
    artifact = {**record["artifact"], "passages": passages}
    # Text after the last passage may say that something was cut, or concern other things.
    needed = contents or len(artifact) > 1 or bool(record["content"][-1])
    content = _unfold_text(record["content"], stored) if needed else ""
    return {**record, "content": content, "artifact": artifact}


def _unfold_text(pieces: Iterable[Any], stored: Mapping[str, StoredPassage]) -> str:
    texts = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            text = stored[piece["p"]].text
            texts.append(one_line(text) if "line" in piece else text)
    return "".join(texts)


KEPT = 4096
"""Passages held in memory; an item that has more keeps all of its own."""

BLOCKS_KEPT = 64

AT_ONCE = 500
"""Per query. Even old builds of SQLite take 999 variables."""


class StoredPassages:
    """Passages by hash, many at a time."""

    def __init__(self, file: RunFile) -> None:
        self._file = file
        self._held: dict[str, StoredPassage] = {}
        self._blocks: dict[int, list[Row]] = {}

    def of(self, hashes: Iterable[str]) -> Mapping[str, StoredPassage]:
        """These passages, perhaps among others. Raises DamagedError if one is missing."""
        wanted = set(hashes)
        missing = list(wanted - self._held.keys())
        if len(self._held) + len(missing) > KEPT:
            self._held = {hash: p for hash, p in self._held.items() if hash in wanted}
        for start in range(0, len(missing), AT_ONCE):
            some = missing[start : start + AT_ONCE]
            marks = ", ".join("?" * len(some))
            self._hold_packed(some, marks)
            for row in self._file.each("passages", f"WHERE hash IN ({marks})", some):
                self._held[row[0]] = StoredPassage(*row)
        if not wanted <= self._held.keys():
            raise DamagedError(self._file.run, "a passage is missing")
        return self._held

    def _hold_packed(self, hashes: list[str], marks: str) -> None:
        sql = f"SELECT place FROM packed_passages WHERE hash IN ({marks}) ORDER BY place"  # noqa: S608 - only question marks are inserted
        with reading(self._file.run):
            numbers = [hash_number(hash) for hash in hashes]
        of_blocks: dict[int, list[int]] = defaultdict(list)
        for (place,) in list(self._file.query(sql, numbers)):
            of_blocks[place // PLACES].append(place % PLACES)
        for block, places in of_blocks.items():
            with reading(self._file.run):
                for place in places:
                    passage = StoredPassage(*block_passage(self._block(block)[place]))
                    self._held[passage.hash] = passage

    def _block(self, number: int) -> list[Row]:
        if number not in self._blocks:
            for _, body in self._file.rows("passage_blocks", "WHERE block = ?", (number,)):
                if len(self._blocks) >= BLOCKS_KEPT:
                    del self._blocks[next(iter(self._blocks))]
                self._blocks[number] = orjson.loads(body)
        return self._blocks[number]
