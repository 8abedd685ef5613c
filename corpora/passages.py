"""A passage, its id, and its line in a corpus file.

A line is FlashRAG's `{"id": str, "contents": "title\\ntext"}`. Where the corpus brought ids of its
own, our field `hash` beside it has the content hash.
"""

import hashlib
import re
from typing import Any, NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind, parse_object

_DISAMBIGUATOR = re.compile(r"(?<=\S)\s*\([^()]*\)$")


class Passage(BaseModel):
    """A titled piece of text that a retriever returns and an answer cites."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        """Title and text on separate lines: what is encoded, and FlashRAG's `contents` field."""
        return f"{self.title}\n{self.text}"


def name_of(title: str) -> str:
    """A title without its disambiguator: `Heat` of `Heat (1995 film)`."""
    return _DISAMBIGUATOR.sub("", title.strip())


def passage_id(title: str, text: str) -> str:
    """Content hash of title and text: 16 hexadecimal digits (64 bits of BLAKE2b).

    Loaders and `corpus build` use the same function, so deduplication keeps citations valid.
    Of a million passages, two share an id with a probability of about 3e-8.
    """
    return hashlib.blake2b(f"{title}\n{text}".encode(), digest_size=8).hexdigest()


def make_passage(title: str, text: str) -> Passage:
    return Passage(id=passage_id(title, text), title=title, text=text)


class CorpusRecord(NamedTuple):
    """A passage as it stands in a corpus file; `id` is None where the line has none."""

    id: str | None
    contents: str

    @property
    def hash(self) -> str:
        """Content hash, the same that `passage_id` gives for title and text."""
        title, _, text = self.contents.partition("\n")
        return passage_id(title, text)

    def line(self, hash: str) -> bytes:
        """The record as a corpus line; its `hash` is the id of one that has none."""
        fields = {"id": self.id or hash, "contents": self.contents}
        if fields["id"] != hash:
            fields["hash"] = hash
        return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)


def parse_record(line: bytes, where: str) -> CorpusRecord:
    """The record on a line; numeric ids become text. Raises InputError naming `where`."""
    fields = parse_object(line, where)
    contents = fields.get("contents")
    if not isinstance(contents, str):
        problem = f'"contents" is {json_kind(contents)}' if contents else 'lacks "contents"'
        remedy = 'write {"id": "...", "contents": "title\\ntext"}'
        raise InputError(problem, where=where, remedy=remedy)
    if not contents.strip():
        raise InputError('"contents" is empty', where=where, remedy="remove the line")
    return CorpusRecord(read_id(fields.get("id"), where), contents)


def to_passage(id: str, contents: str) -> Passage:
    """Title (without the quotes that FlashRAG puts around it) and text; a single line is text."""
    title, newline, text = contents.partition("\n")
    if not newline:
        return Passage(id=id, title="", text=title)
    title = title.strip()
    inner = title[1:-1]
    # `"Heat"` loses its quotes, `"Heat" and "Dust"` stays as it is.
    is_quoted = len(title) > 2 and title[0] == title[-1] == '"'
    if is_quoted and ('"' not in inner or '"' in (inner[0], inner[-1])):
        title = inner.strip()
    return Passage(id=id, title=title, text=text)


def read_id(value: Any, where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        problem = "is empty" if isinstance(value, str) else f"is {json_kind(value)}"
        raise InputError(f'"id" {problem}', where=where, remedy="write a text that is not empty")
    if not value.isprintable():  # ids are shown on lines of their own, and cited by models
        raise InputError('"id" holds line breaks or control characters', where=where)
    return value
