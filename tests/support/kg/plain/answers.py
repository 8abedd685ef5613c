"""What a query's answer may look like, and how the evaluations in this package are found."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from support.kg.plain.kg import Literal, Node, PlainKg, Triple


class OneOf(NamedTuple):
    """A cell that may hold any of these: SAMPLE."""

    values: frozenset[Node]


class Joined(NamedTuple):
    """A cell that holds these texts in any order, with a separator between them: GROUP_CONCAT."""

    texts: tuple[str, ...]
    separator: str


Row = Mapping[str, "Node | OneOf | Joined"]
"""Variable -> value; a variable that is unbound is left out."""


class InOrder(list[Row]):
    """Rows whose order the query decides."""


Rows = list[Row]
Expected = Rows | InOrder | bool | set[Triple]
"""Rows in any order (each as often as it comes), rows in order, of ASK, of CONSTRUCT."""

EVALUATIONS: dict[str, Callable[[PlainKg], Expected]] = {}


def evaluation(work_out: Callable[[PlainKg], Expected]) -> Callable[[PlainKg], Expected]:
    """Register a function as the evaluation of the query of its name."""
    assert work_out.__name__ not in EVALUATIONS
    EVALUATIONS[work_out.__name__] = work_out
    return work_out


def difference(expected: Expected, found: Iterable[Row]) -> str:
    """What is wrong with the rows found, or nothing: an empty text."""
    assert isinstance(expected, list)
    extra = list(found)
    if isinstance(expected, InOrder):
        same = len(extra) == len(expected) and all(map(_same_row, expected, extra))
        return "" if same else f"expected in order {expected[:9]}\nfound {extra[:9]}"
    missing = [row for row in expected if not _taken(row, extra)]
    if not missing and not extra:
        return ""
    return f"{len(missing)} rows missing: {missing[:3]}\n{len(extra)} rows too many: {extra[:3]}"


def _taken(row: Row, rows: list[Row]) -> bool:
    """Whether a row like this one was among the rows; it is no longer."""
    at = next((n for n, other in enumerate(rows) if _same_row(row, other)), None)
    if at is None:
        return False
    rows.pop(at)
    return True


def _same_row(expected: Row, found: Row) -> bool:
    return expected.keys() == found.keys() and all(
        _same_cell(cell, found[name]) for name, cell in expected.items()
    )


def _same_cell(expected: "Node | OneOf | Joined", found: object) -> bool:
    if isinstance(expected, OneOf):
        return found in expected.values
    if isinstance(expected, Joined):
        assert isinstance(found, Literal)
        return sorted(found.text.split(expected.separator)) == sorted(expected.texts)
    if isinstance(expected, Literal) and isinstance(found, Literal):
        return _by_value(expected) == _by_value(found)
    return expected == found


def _by_value(literal: Literal) -> Literal:
    """The literal; of a decimal number, rounded to 9 places, since engines write them variously."""
    if literal.datatype != "xsd:decimal":
        return literal
    return literal._replace(text=f"{Decimal(literal.text):.9f}")
