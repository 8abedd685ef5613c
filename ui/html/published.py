"""Numbers that papers print, to stand beside one's own on the same benchmark."""

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass

from branchwise.ui.cells import number
from branchwise.ui.html.tables import Cell, Row


@dataclass(frozen=True)
class PublishedSystem:
    """A system of a paper: the table it stands in, and (precision, recall, EM) by subset."""

    name: str
    table: int
    scores: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class Published:
    """What a paper says of its systems, and what must be said beside it."""

    paper: str
    systems: tuple[PublishedSystem, ...]
    notes: tuple[str, ...]

    def rows(self, tables: tuple[int, ...], subsets: list[str], before: int = 0) -> list[Row]:
        """Rows of its systems in these tables, with `before` empty cells first."""
        return [
            Row(
                Cell(one.name, f"published: {self.paper}, Table {one.table}"),
                (
                    *[Cell("")] * before,
                    *(Cell(number(value)) for s in subsets for value in one.scores[s]),
                ),
                "published",
            )
            for one in self.systems
            if one.table in tables
        ]


def published(benchmark: str | None) -> Published | None:
    """What is published of a benchmark; None where nothing is kept here."""
    import yaml

    file = importlib.resources.files("branchwise.ui.html") / "published.yaml"
    found = yaml.safe_load(file.read_text(encoding="utf-8")).get(benchmark)
    if found is None:
        return None
    systems = tuple(
        PublishedSystem(
            one["name"],
            one["table"],
            {subset: tuple(one[subset]) for subset in ("unambiguous", "ambiguous")},
        )
        for one in found["systems"]
    )
    return Published(found["paper"], systems, tuple(found["notes"]))
