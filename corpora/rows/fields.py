"""Names of fields: what a file calls what we read (`--field text=body title=doc.name`)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from branchwise.corpora.errors import InputError, did_you_mean
from branchwise.corpora.rows import Row

_ABSENT = object()


class FieldNames:
    """What a file's fields are called, by our names; a dotted name leads into nested fields.

    `named`: the file's names by ours, as they were given.
    """

    def __init__(self, named: Mapping[str, str]) -> None:
        self.named = named

    @classmethod
    def parse(cls, given: Iterable[str], known: Collection[str]) -> "FieldNames":
        """Of `OURS=THEIRS`, where ours is one of the `known`. Raises InputError."""
        named: dict[str, str] = {}
        for one in given:
            ours, equals, theirs = (part.strip() for part in one.partition("="))
            where = f"--field {one}"
            if not equals or not ours or not theirs:
                raise InputError("is not OURS=THEIRS", where=where, remedy="write text=body")
            if ours not in known:
                raise InputError(
                    f"there is no field {ours!r}", where=where, remedy=did_you_mean(ours, known)
                )
            if named.setdefault(ours, theirs) != theirs:
                raise InputError(f"{ours!r} is given twice", where=where, remedy="keep one")
        return cls(named)

    def wanted(self, ours: Iterable[str]) -> frozenset[str]:
        """The file's fields that are needed to read some of ours."""
        theirs = {self.named.get(name, name) for name in ours}
        return frozenset(theirs | {name.partition(".")[0] for name in theirs})

    def check(self, row: Row) -> None:
        """Raise InputError where a row, best a file's first, lacks a field that was named."""
        for ours, theirs in self.named.items():
            if _at(row.fields, theirs) is _ABSENT:
                paths = list(_paths(row.fields))
                raise InputError(
                    f"has no field {theirs!r}",
                    where=row.where,
                    remedy=did_you_mean(
                        theirs, paths, else_=f"its fields are {', '.join(paths)}"
                    ).replace("did you mean ", f"did you mean --field {ours}="),
                )

    def read(self, row: Row) -> dict[str, Any]:
        """A row's fields by our names; those that were not named keep their own."""
        if not self.named:
            return dict(row.fields)
        renamed = set(self.named.values())
        fields = {name: value for name, value in row.fields.items() if name not in renamed}
        for ours, theirs in self.named.items():
            if (value := _at(row.fields, theirs)) is _ABSENT:
                fields.pop(ours, None)
            else:
                fields[ours] = value
        return fields


def _at(fields: Any, path: str) -> Any:
    """The value at a path; of a list of objects, the list of their values."""
    if isinstance(fields, list):
        values = [_at(one, path) for one in fields]
        return (
            _ABSENT
            if not values or all(v is _ABSENT for v in values)
            else [value for value in values if value is not _ABSENT]
        )
    if not isinstance(fields, Mapping):
        return _ABSENT
    if path in fields:
        return fields[path]
    head, dot, rest = path.partition(".")
    return _at(fields[head], rest) if dot and head in fields else _ABSENT


def _paths(fields: Mapping[str, Any], before: str = "") -> Iterable[str]:
    """The paths to what a row holds."""
    for name, value in fields.items():
        inner = value[0] if isinstance(value, list) and value else value
        yield before + name
        if isinstance(inner, Mapping):
            yield from _paths(inner, f"{before}{name}.")
