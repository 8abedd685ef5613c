"""What a step brought, piece by piece: the texts in which an answer may be named."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from branchwise.trace.artifacts import Artifact, ResultCell, ResultRows, ShownPassage

_ROWS_SHOWN = re.compile(r"\((\d+) of them shown;")
_LABEL = "Label"


class EvidencePiece(NamedTuple):
    """A passage, a row of a query, a match of a search by name, or a text.

    `number`: among the pieces of its kind, from 0. `things`: entities with all their names;
    `texts`: literals of a row, or the text.
    """

    passage: ShownPassage | None = None
    number: int | None = None
    things: Sequence[tuple[str, Sequence[str]]] = ()
    texts: Sequence[str] = ()

    @property
    def wording(self) -> Iterator[str]:
        """All of it in which an answer may be named."""
        if self.passage:
            yield self.passage.whole
        for _, names in self.things:
            yield from names
        yield from self.texts


def pieces(found: Artifact, content: str) -> Iterator[EvidencePiece]:
    """What a tool brought that it put out: rows behind those that fitted were not retrieved.

    Where it has no passages, rows or matches, it is the text.
    """
    for number, passage in enumerate(found.passages):
        yield EvidencePiece(passage, number)
    yield from other_pieces(found, content)


def other_pieces(found: Artifact, content: str) -> Iterator[EvidencePiece]:
    """What of `pieces` is not a passage."""
    if found.is_text:
        yield EvidencePiece(texts=(content,))
    if (rows := found.rows) is not None:
        yield from _rows(rows, _rows_shown(content))
    for number, match in enumerate(found.matches or ()):
        yield EvidencePiece(number=number, things=[(match.id, (match.label, match.name))])


def _rows(rows: ResultRows, shown: int | None) -> Iterator[EvidencePiece]:
    names, labels = rows.variables, rows.labels
    for number, cells in enumerate(rows.cells(shown)):
        named = {name: cell for name, cell in zip(names, cells, strict=False) if cell}
        yield _row(number, named, labels)


def _row(number: int, named: Mapping[str, ResultCell], labels: Mapping[str, Any]) -> EvidencePiece:
    """The entities of a row with their labels, and its other texts.

    A literal ?xLabel beside an IRI ?x is its label.
    """
    things, texts = [], []
    for name, cell in named.items():
        if cell.is_iri:
            label, beside = labels.get(cell.text), named.get(f"{name}{_LABEL}")
            names = (label if isinstance(label, str) else "", beside.text if beside else "")
            things.append((cell.text, names))
        elif cell.is_literal and not _is_label(name, named):
            texts.append(cell.text)
    return EvidencePiece(None, number, things, texts)


def _is_label(name: str, named: Mapping[str, ResultCell]) -> bool:
    """Whether a variable's value is the label of an entity of its row."""
    of = named.get(name.removesuffix(_LABEL)) if name.endswith(_LABEL) else None
    return of is not None and of.is_iri


def _rows_shown(content: str) -> int | None:
    """How many rows the tool put out, where it says that these are not all.

    Rows are lines; the one that says so stands behind as many as it says, below the heading.
    """
    lines = content.split("\n")
    said = (
        number - 1
        for number, line in enumerate(lines)
        if (cut := _ROWS_SHOWN.match(line)) and cut[1] == str(number - 1)
    )
    return max(said, default=None)
