"""Which column of a row is which field: `question=extra_info.question`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from branchwise.base.errors import InputError, did_you_mean

OPTION = "--field"
_MISSING = object()


def _pair(text: str) -> tuple[str, str]:
    field, _, column = text.partition("=")
    if not field or not column:
        raise InputError("is not FIELD=COLUMN", where=f"{OPTION} {text}")
    return field, column


@dataclass(frozen=True)
class FieldNames:
    """Fields to the columns that hold them; a field without one is called as its column.

    A column within another one is written behind a dot, an entry of a list by its number from 0:
    `extra_info.question`, `prompt.0.content`. A column whose own name has dots comes first.
    """

    columns: Mapping[str, str]

    @classmethod
    def of(cls, given: Mapping[str, str] | Sequence[str], known: Collection[str]) -> "FieldNames":
        """What `--field` says: FIELD=COLUMN each, or a mapping. `known`: the fields that there are.

        Raises InputError for what is neither, and for a field that is not known or given twice.
        """
        pairs = [*given.items()] if isinstance(given, Mapping) else [_pair(one) for one in given]
        for field, _ in pairs:
            where = f"{OPTION} {field}=..."
            if field not in known:
                what, remedy = f"there is no field {field!r}", did_you_mean(field, known)
                raise InputError(what, where=where, remedy=remedy)
            if [name for name, _ in pairs].count(field) > 1:
                raise InputError(f"{field} is given twice", where=where, remedy="keep one")
        return cls(dict(pairs))

    def split(self, row: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The fields that have columns, and the row without those columns.

        A field whose column the row lacks is left out.
        """
        found, rest = {}, dict(row)
        for field, column in self.columns.items():
            value = _at(row, column)
            if value is not _MISSING:
                found[field], rest = value, _without(rest, column)
        return found, rest

    def missing(self, row: Mapping[str, Any]) -> tuple[str, str] | None:
        """The first field whose column the row lacks, and the column."""
        lacking = (pair for pair in self.columns.items() if _at(row, pair[1]) is _MISSING)
        return next(lacking, None)


def _at(value: Any, column: str) -> Any:
    if isinstance(value, Mapping) and column in value:
        return value[column]
    if isinstance(value, list) and column.isdigit():
        return value[int(column)] if int(column) < len(value) else _MISSING
    name, dot, inner = column.partition(".")
    if not dot:
        return _MISSING
    outer = _at(value, name)
    return _MISSING if outer is _MISSING else _at(outer, inner)


def _without(value: Any, column: str) -> Any:
    """A copy without that column; of a list nothing is taken, whose entries would move up."""
    if not isinstance(value, Mapping):
        return value
    if column in value:
        return {name: member for name, member in value.items() if name != column}
    name, _, inner = column.partition(".")
    left = _without(value[name], inner)
    others = {other: member for other, member in value.items() if other != name}
    return {**others, name: left} if left else others
