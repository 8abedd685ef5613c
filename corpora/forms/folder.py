"""A folder of documents, or one document, as passages."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.corpora.documents.blocks import UnreadableDocumentError
from branchwise.corpora.documents.files import (
    DENIED,
    LINK,
    OTHER,
    READ_AS,
    FoundFile,
    read_document,
    walk,
)
from branchwise.corpora.documents.splitting import DEFAULT_SPLIT, Split, parse_split
from branchwise.corpora.forms.fitting import misfit
from branchwise.corpora.forms.omissions import Omissions, Omitted
from branchwise.corpora.forms.passages import PlacedPassage
from branchwise.corpora.records import CorpusRecord
from branchwise.corpora.rows.fields import FieldNames

_OMITTED: dict[str, Omitted] = {OTHER: "other", LINK: "link", DENIED: "unreadable"}


@dataclass(frozen=True)
class FolderPassages:
    """The passages of the documents below a path. A document is read whole, one at a time."""

    path: Path
    split: Split

    def read(self, omissions: Omissions) -> Iterator[PlacedPassage]:
        """The passages, by the names of their files; files that cannot be read are left out."""
        for file in self._files():
            where = str(file.path)
            if omitted := _OMITTED.get(file.kind):
                omissions.add(omitted, where, file.problem)
                continue
            try:
                document = read_document(file)
            except UnreadableDocumentError as error:
                omissions.add("unreadable", where, str(error))
                continue
            empty = True
            for title, text in self.split(document.title, document.blocks):
                empty = False
                yield PlacedPassage(where, CorpusRecord(None, f"{title}\n{text}"))
            if empty:
                omissions.add("empty", where)

    def _files(self) -> Iterator[FoundFile]:
        if self.path.is_dir():
            return walk(self.path)
        return iter([FoundFile(self.path, READ_AS[self.path.suffix.lower()])])


def open_form(form: str, place: str, names: FieldNames, split: Split | None) -> FolderPassages:
    """The documents below a place. Raises InputError where there are none that could be read."""
    path = Path(place)
    if not path.exists():
        raise InputError("no such folder", where=place, remedy="check the path")
    if not path.is_dir() and path.suffix.lower() not in READ_AS:
        raise misfit(form, place, "is not a folder")
    return FolderPassages(path, split or parse_split(DEFAULT_SPLIT))
