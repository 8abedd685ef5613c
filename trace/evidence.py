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
        yield EvidencePiece(number=number, things=_things(named, labels), texts=_literals(named))


def _things(
    named: Mapping[str, ResultCell], labels: Mapping[str, Any]
) -> list[tuple[str, list[str]]]:
    """The entities of a row with their labels; a literal ?xLabel beside an IRI ?x is its label."""
    found = []
    for name, cell in named.items():
        if cell.is_iri:
            label, beside = labels.get(cell.text), named.get(f"{name}{_LABEL}")
            names = [label if isinstance(label, str) else "", beside.text if beside else ""]
            found.append((cell.text, names))
    return found


def _literals(named: Mapping[str, ResultCell]) -> list[str]:
    """The texts of a row that are not labels of an entity in it."""
    iris = {name for name, cell in named.items() if cell.is_iri}
    return [
        cell.text
        for name, cell in named.items()
        if cell.is_literal and not (name.endswith(_LABEL) and name.removesuffix(_LABEL) in iris)
    ]


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
