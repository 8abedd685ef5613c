"""KILT's knowledge source: pages of Wikipedia as lists of paragraphs, one page a line.

Form: github.com/facebookresearch/KILT, "Structure of each record". The first paragraph is the
page's title; `Section::::NAME` begins a section, `BULLET::::` an item of a list.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from branchwise.base.errors import InputError
from branchwise.base.files import json_kind
from branchwise.base.text import one_line
from branchwise.corpora.documents.blocks import TextBlock
from branchwise.corpora.documents.splitting import DEFAULT_SPLIT, Split, parse_split
from branchwise.corpora.forms.fitting import KILT, check_form
from branchwise.corpora.forms.omissions import Omissions
from branchwise.corpora.forms.passages import PlacedPassage
from branchwise.corpora.records import CorpusRecord, read_id
from branchwise.corpora.rows import read_rows
from branchwise.corpora.rows.fields import FieldNames

_SECTION = "Section::::"
_BULLET = re.compile(r"^BULLET::::-?\s*")


@dataclass(frozen=True)
class KiltPages:
    """The passages of the pages in a file: `ID#1`, with the page's id in Wikipedia, or `ID` where
    a page is split into none."""

    place: str
    split: Split

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        """The passages in the file's order. Raises InputError for what is no page."""
        for number, row in enumerate(read_rows(Path(self.place), "json")):
            if not number:
                check_form("kilt", KILT, row, self.place)
            title, blocks = _page(row.fields, row.where)
            id = read_id(row.fields.get("wikipedia_id"), row.where)
            parts = list(self.split(title, blocks))
            if not parts:
                omissions.add("empty", row.where)
            for part, (heading, text) in enumerate(parts, start=1):
                own = f"{id}#{part}" if len(parts) > 1 else id
                yield PlacedPassage(row.where, CorpusRecord(own, f"{heading}\n{text}"))


def open_form(form: str, place: str, names: FieldNames, split: Split | None) -> KiltPages:
    """The pages in a file."""
    return KiltPages(place, split or parse_split(DEFAULT_SPLIT))


def _page(fields: Mapping[str, Any], where: str) -> tuple[str, list[TextBlock]]:
    title, texts = fields.get("wikipedia_title"), fields.get("text")
    if not isinstance(title, str) or not isinstance(texts, list):
        wrong = title if not isinstance(title, str) else texts
        name = "wikipedia_title" if wrong is title else "text"
        raise InputError(f'"{name}" is {json_kind(wrong)}', where=where, remedy="see KILT's README")
    paragraphs = [text.strip() for text in texts if isinstance(text, str)]
    if paragraphs[:1] == [title.strip()]:
        del paragraphs[0]
    return one_line(title), [_block(text) for text in paragraphs if text]


def _block(text: str) -> TextBlock:
    if text.startswith(_SECTION):
        return TextBlock(text.removeprefix(_SECTION).strip().rstrip("."), level=2)
    return TextBlock(_BULLET.sub("- ", text))
