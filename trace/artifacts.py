"""What a tool returned beside its text, read whatever it holds: it may be anyone's tool's.

`tools/artifacts.py` declares what our own tools write. Views, not copies: of long passages most are
only passed on.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from branchwise.trace.records import listed, mapping

RENDERED = "rendered"
"""The lines that a tool's own renderer made of its call."""
_EVIDENCE = frozenset({"passages", "rows", "matches"})


class _View:
    """A JSON object with names for what is known of it."""

    __slots__ = ("data",)
    TEXTS: frozenset[str] = frozenset()
    OTHERS: frozenset[str] = frozenset()

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    @property
    def more(self) -> dict[str, Any]:
        """What is not known, and what should be a text and is not."""
        texts = {key for key in self.TEXTS if isinstance(self.data.get(key), str | None)}
        return self.without(*self.OTHERS, *texts)

    def without(self, *names: str) -> dict[str, Any]:
        return {key: value for key, value in self.data.items() if key not in names}

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        return value if isinstance(value, str) else ""


class ShownPassage(_View):
    """A passage that the agent was shown: `id`, `title` and `text`, empty where there is none."""

    # Read at once: they are looked up again and again.
    __slots__ = ("id", "text", "title")
    TEXTS = frozenset({"id", "title", "text"})
    OTHERS = frozenset({"score", "part"})

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        id, title, text = data.get("id"), data.get("title"), data.get("text")
        self.id = id if isinstance(id, str) else ""
        self.title = title if isinstance(title, str) else ""
        self.text = text if isinstance(text, str) else ""

    @property
    def score(self) -> Any:
        return self.data.get("score")

    @property
    def part(self) -> str:
        """`2 of 3`: which passage of its title it is; empty where it is the only one."""
        value = self.data.get("part")
        return " of ".join(map(str, value[:2])) if isinstance(value, list) else ""

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}"


class ShownMatch(_View):
    """Something of a graph that a search by name found. `near`: its name is only like the text.
    `members`: how many things are instances of it; 0 if it is not a class or this was not
    recorded."""

    __slots__ = ()

    @property
    def id(self) -> str:
        return self._text("id")

    @property
    def label(self) -> str:
        return self._text("label")

    @property
    def name(self) -> str:
        return self._text("name")

    @property
    def description(self) -> str:
        return self._text("description")

    @property
    def types(self) -> list[str]:
        value = self.data.get("types")
        return [str(one) for one in value] if isinstance(value, list) else []

    @property
    def statements(self) -> str:
        value = self.data.get("statements")
        return "" if value is None else str(value)

    @property
    def near(self) -> bool:
        return bool(self.data.get("near"))

    @property
    def members(self) -> int:
        value = self.data.get("members")
        return value if isinstance(value, int) else 0


class ResultCell(NamedTuple):
    """A value in a row of a query: its type as SPARQL's JSON results say it, and its text."""

    type: str
    text: str

    @property
    def is_iri(self) -> bool:
        return self.type == "uri"

    @property
    def is_literal(self) -> bool:
        return self.type == "literal"


class ResultRows(_View):
    """Rows of a query, as SPARQL's JSON results have them."""

    __slots__ = ()

    @property
    def variables(self) -> list[str]:
        value = self.data.get("variables")
        return [str(one) for one in value] if isinstance(value, list) else []

    @property
    def labels(self) -> Mapping[str, Any]:
        return mapping(self.data.get("labels"))

    @property
    def complete(self) -> bool:
        return self.data.get("complete") is not False

    @property
    def boolean(self) -> bool | None:
        value = self.data.get("boolean")
        return None if value is None else bool(value)

    def __len__(self) -> int:
        value = self.data.get("rows")
        return len(value) if isinstance(value, list) else 0

    def cells(
        self, most: int | None = None, columns: int | None = None
    ) -> Iterator[list[ResultCell | None]]:
        """The first rows, each with its first cells; None where a variable is unbound."""
        rows = self.data.get("rows")
        for row in rows[:most] if isinstance(rows, list) else ():
            if isinstance(row, list):
                cells = map(mapping, row[:columns])
                yield [
                    ResultCell(str(cell.get("type")), str(cell.get("value"))) if cell else None
                    for cell in cells
                ]


class Artifact(_View):
    """What a tool returned beside its text."""

    __slots__ = ("_passages",)
    OTHERS = _EVIDENCE | {RENDERED, "repeats"}

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data)
        self._passages: list[ShownPassage] | None = None

    @property
    def is_text(self) -> bool:
        """Whether what the tool brought is in its text alone."""
        return not self.data.keys() & _EVIDENCE

    @property
    def lists_passages(self) -> bool:
        return "passages" in self.data

    @property
    def passages(self) -> list[ShownPassage]:
        if self._passages is None:
            self._passages = [ShownPassage(record) for record in self.passage_records]
        return self._passages

    @property
    def passage_records(self) -> list[Mapping[str, Any]]:
        return listed(self.data.get("passages"))

    @property
    def repeats(self) -> list[ShownPassage]:
        """Passages that the agent had before it, shown by their titles."""
        return [ShownPassage(entry) for entry in listed(self.data.get("repeats"))]

    @property
    def rows(self) -> ResultRows | None:
        """Rows of a query; None where there was none."""
        return ResultRows(mapping(self.data["rows"])) if "rows" in self.data else None

    @property
    def matches(self) -> list[ShownMatch] | None:
        """What a search by name found; None where there was none."""
        if "matches" not in self.data:
            return None
        return [ShownMatch(entry) for entry in listed(self.data["matches"])]

    @property
    def rendered(self) -> Any:
        """Lines for the trace app, by the tool's own renderer."""
        return self.data.get(RENDERED)


_ROWS_SHOWN = re.compile(r"\((\d+) of them shown;")
_LABEL = "Label"


class EvidencePiece(NamedTuple):
    """A passage, a row of a query, a match of a search by name, or a text. `number`: among the
    pieces of its kind, from 0. `things`: entities with all their names; `texts`: literals of a row,
    or the text."""

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
    """What a tool brought that it put out: rows behind those that fitted were not retrieved. Where
    it has no passages, rows or matches, it is the text."""
    for number, passage in enumerate(found.passages):
        yield EvidencePiece(passage, number)
    yield from other_pieces(found, content)


def other_pieces(found: Artifact, content: str) -> Iterator[EvidencePiece]:
    """What of `pieces` is not a passage."""
    if found.is_text:
        yield EvidencePiece(texts=(content,))
    if (rows := found.rows) is not None:
        yield from _rows(rows, content)
    for number, match in enumerate(found.matches or ()):
        yield EvidencePiece(number=number, things=[(match.id, (match.label, match.name))])


def _rows(rows: ResultRows, content: str) -> Iterator[EvidencePiece]:
    """Each row: its entities with their labels, and its other texts. A literal ?xLabel beside an
    IRI ?x is its label."""
    for number, cells in enumerate(rows.cells(_rows_shown(content))):
        named = {name: cell for name, cell in zip(rows.variables, cells, strict=False) if cell}
        things, texts = [], []
        for name, cell in named.items():
            if cell.is_iri:
                label, beside = rows.labels.get(cell.text), named.get(f"{name}{_LABEL}")
                names = (label if isinstance(label, str) else "", beside.text if beside else "")
                things.append((cell.text, names))
            elif cell.is_literal:
                entity = named.get(name.removesuffix(_LABEL)) if name.endswith(_LABEL) else None
                if entity is None or not entity.is_iri:
                    texts.append(cell.text)
        yield EvidencePiece(None, number, things, texts)


def _rows_shown(content: str) -> int | None:
    """How many rows the tool put out, where it says that these are not all. Rows are lines; the one
    that says so stands behind as many as it says, below the heading."""
    lines = content.split("\n")
    counts = (
        number - 1
        for number, line in enumerate(lines)
        if (cut := _ROWS_SHOWN.match(line)) and cut[1] == str(number - 1)
    )
    return max(counts, default=None)
