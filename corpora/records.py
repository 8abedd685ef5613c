"""One line of a corpus file: FlashRAG's `{"id": str, "contents": "title\\ntext"}`.

Beside it our own field `hash`: the content hash, where the corpus brought ids of its own.
"""

from typing import Any, NamedTuple

import orjson

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind, parse_object
from branchwise.corpora.passages import Passage, passage_id


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
    """The record on a line of a corpus file. Raises InputError naming `where`.

    Numeric ids, which many published corpora have, become their text.
    """
    fields = parse_object(line, where)
    contents = fields.get("contents")
    if not isinstance(contents, str):
        problem = f'"contents" is {json_kind(contents)}' if contents else 'lacks "contents"'
        raise InputError(
            problem, where=where, remedy='write {"id": "...", "contents": "title\\ntext"}'
        )
    if not contents.strip():
        raise InputError('"contents" is empty', where=where, remedy="remove the line")
    return CorpusRecord(read_id(fields.get("id"), where), contents)


def to_passage(id: str, contents: str) -> Passage:
    """Title (without the quotes that FlashRAG's corpora put around it) and text for display.

    Contents of a single line are all text.
    """
    first, newline, rest = contents.partition("\n")
    if not newline:
        return Passage(id=id, title="", text=first)
    return Passage(id=id, title=_unquoted(first.strip()), text=rest)


def _unquoted(title: str) -> str:
    """`"Heat"` without its quotes; `"Heat" and "Dust"` as it is."""
    inner = title[1:-1]
    quoted = len(title) > 2 and title[0] == title[-1] == '"'
    whole = '"' not in inner or '"' in (inner[:1], inner[-1:])
    return inner.strip() if quoted and whole else title


def read_id(value: Any, where: str) -> str | None:
    """A passage's id as text, None where it has none. Raises InputError."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        found = "is empty" if isinstance(value, str) else f"is {json_kind(value)}"
        raise InputError(f'"id" {found}', where=where, remedy="write a text that is not empty")
    if not value.isprintable():  # ids are shown on lines of their own, and cited by models
        raise InputError('"id" holds line breaks or control characters', where=where)
    return value
