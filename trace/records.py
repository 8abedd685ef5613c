"""JSON objects as typed records: written whole, and read whatever they hold.

A trace may be of a newer version, of anyone's tool, or damaged. What a record lacks, or holds as
another type, is read as that type's empty value and named in `problems`; fields that are not known
are kept in `more`. So readers never dig in dictionaries, and nothing is lost on the way through.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

_EMPTY: Mapping[str, Any] = types.MappingProxyType({})
_MISSING = object()
_OBJECT, _LIST = (dict, Mapping), (list, tuple)


@dataclasses.dataclass(frozen=True)
class Record:
    """A JSON object. Fields are str, int, float, bool, one of these or None, `Mapping[str, Any]`,
    `Mapping[str, Sequence[str]]`, `Any`, a `Record`, or a tuple of one of them.

    `more`: fields that are not known. `problems`: names of fields that were missing, though they
    have no default, or of another type. `OPTIONAL`: fields that are written only where they are not
    their default; `AROUND`: fields that say when, how fast and for how much, not what.
    """

    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    AROUND: ClassVar[frozenset[str]] = frozenset()
    more: ClassVar[Mapping[str, Any]] = _EMPTY
    problems: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """The record that `data` holds. Never raises."""
        return _read_as_before(cls, data) or _made(cls, _read(cls, data))

    def record(self) -> dict[str, Any]:
        """As it is kept: JSON-serialisable, fields in their order, `more` behind them."""
        written: dict[str, Any] = {}
        for name, _, _, absent, _, is_optional, is_plain in _plan(type(self)):
            value = getattr(self, name)
            if not is_optional or value != absent:
                written[name] = value if is_plain else _written(value)
        return {**written, **self.more} if self.more else written

    def changed(self, **values: Any) -> Self:
        """The record with other values of these fields, and with what is not known of it."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__ | values)
        return made

    def without_around(self) -> dict[str, Any]:
        """What it says was done: the record without `AROUND`, at every level that is known."""
        done = {
            field.name: _without_around(getattr(self, field.name))
            for field in _plan(type(self))
            if field.name not in self.AROUND
        }
        return {**done, **self.more}


_R = TypeVar("_R", bound=Record)


def _made(cls: type[_R], values: dict[str, Any]) -> _R:
    made = object.__new__(cls)
    # Nothing changes a record, nor what was read from a file: they may be one object.
    object.__setattr__(made, "__dict__", values)
    return made


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one."""
    return value if isinstance(value, _OBJECT) else _EMPTY


def listed(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, _OBJECT)] if isinstance(value, _LIST) else []


_Convert = Callable[[Any], tuple[Any, bool]]
"""What becomes of a value, and whether it was right."""
_Reading = tuple[frozenset[Any], _Convert, Any]
"""What is accepted for a type, how the rest is converted, and the type's empty value."""


class _Field(NamedTuple):
    """How a field is read: values of the `accepted` types as they stand, others by `convert`, which
    says whether they are right; `absent` where there is none. `is_optional`: that is not written;
    `is_plain`: the value is written as it stands, since it holds no record and no tuple."""

    name: str
    accepted: frozenset[Any]
    convert: _Convert
    absent: Any
    is_required: bool
    is_optional: bool
    is_plain: bool


_PLANS: dict[type, tuple[_Field, ...]] = {}


def _plan(cls: type[Record]) -> tuple[_Field, ...]:
    """How the fields are read, those of its bases behind its own."""
    if (known := _PLANS.get(cls)) is None:
        hints = typing.get_type_hints(cls)
        fields = sorted(dataclasses.fields(cls), key=lambda f: f.name not in cls.__annotations__)
        known = _PLANS[cls] = tuple(_field(cls, field, hints[field.name]) for field in fields)
    return known


def _field(cls: type[Record], field: "dataclasses.Field[Any]", hint: Any) -> _Field:
    accepted, convert, empty = _reading(hint)
    is_required = field.default is field.default_factory is dataclasses.MISSING
    absent = empty if field.default is dataclasses.MISSING else field.default
    is_plain = not accepted.isdisjoint(_PLAIN) and accepted <= _SCALARS
    is_optional = field.name in cls.OPTIONAL
    return _Field(field.name, accepted, convert, absent, is_required, is_optional, is_plain)


_Shape = tuple[dict[str, Any], tuple[tuple[str, _Convert], ...]]
"""Of records with the same keys and types of values: the values of the fields that are not there
and have no default in the class, and how those are converted that are not taken as they stand."""
_SHAPES: dict[tuple[Any, ...], _Shape] = {}
"""By class, keys and types, shapes of records without a problem: a trace repeats few."""
_MOST_SHAPES = 10_000
"""More are not traces of ours."""


def _read_as_before(cls: type[_R], data: Any) -> _R | None:
    """A record whose like was read without a problem; None of any other."""
    if type(data) is not dict:
        return None
    if (shape := _SHAPES.get((cls, *data, *map(type, data.values())))) is None:
        return None
    absent, nested = shape
    values = absent | data if absent else data.copy() if nested else data
    for name, convert in nested:
        values[name], is_right = convert(values[name])
        if not is_right:
            return None
    return _made(cls, values)


def _read(cls: type[Record], data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, `more` and `problems` of any record."""
    values: dict[str, Any] = {}
    absent: dict[str, Any] = {}
    nested, problems = [], []
    for name, accepted, convert, empty, is_required, *_ in _plan(cls):
        value = data.get(name, _MISSING)
        if type(value) in accepted:
            values[name] = value
        elif value is _MISSING:
            values[name] = empty
            if not hasattr(cls, name):
                absent[name] = empty
            if is_required:
                problems.append(name)
        else:
            values[name], is_right = convert(value)
            nested.append((name, convert))
            if not is_right:
                problems.append(name)
    if not data.keys() <= values.keys():
        values["more"] = {key: data[key] for key in data if key not in values}
    elif not problems and len(_SHAPES) < _MOST_SHAPES:
        _SHAPES[(cls, *data, *map(type, data.values()))] = (absent, tuple(nested))
    if problems:
        values["problems"] = tuple(problems)
    return values


_PLAIN: Mapping[Any, tuple[frozenset[Any], Any]] = {
    str: (frozenset({str}), ""),
    int: (frozenset({int}), 0),
    float: (frozenset({float, int}), 0.0),
    bool: (frozenset({bool}), False),
}
_SCALARS = frozenset({*_PLAIN, type(None)})
_JSON = _SCALARS | {list, dict}


def _reading(hint: Any) -> _Reading:
    if hint is Any:
        return _JSON, lambda value: (value, True), None
    if hint in _PLAIN:
        accepted, empty = _PLAIN[hint]
        return accepted, functools.partial(_plain, hint, empty), empty
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        accepted, convert, empty = _reading(inner)
        return accepted | {type(None)}, functools.partial(_or_none, convert, empty), None
    if origin is tuple and isinstance(arguments[0], type) and issubclass(arguments[0], Record):
        return frozenset(), functools.partial(_records, arguments[0]), ()
    if origin is tuple:
        return frozenset(), functools.partial(_tuple, _reading(arguments[0])), ()
    if isinstance(hint, type) and issubclass(hint, Record):
        return frozenset(), functools.partial(_nested, hint), hint.read(_EMPTY)
    if arguments[1:] != (Any,):
        return frozenset(), _lists_by_name, _EMPTY
    return frozenset({dict}), lambda value: (mapping(value), isinstance(value, Mapping)), _EMPTY


def _plain(hint: type, empty: Any, value: Any) -> tuple[Any, bool]:
    """Of a class of its own, as LangChain's texts are."""
    is_right = isinstance(value, hint) and not isinstance(value, bool)
    return (hint(value), True) if is_right else (empty, False)


def _or_none(convert: _Convert, empty: Any, value: Any) -> tuple[Any, bool]:
    """None where nothing of the value is as it should be."""
    made, is_right = convert(value)
    return (made if is_right or made != empty else None), is_right


def _lists_by_name(value: Any) -> tuple[Any, bool]:
    """Lists of texts; where some are not, it is for the record to leave them out."""
    given = mapping(value)
    is_right = isinstance(value, Mapping) and all(
        isinstance(texts, _LIST) and all(isinstance(text, str) for text in texts)
        for texts in given.values()
    )
    return given, is_right


def _nested(cls: type[Record], value: Any) -> tuple[Any, bool]:
    if (like := _read_as_before(cls, value)) is not None:
        return like, True
    made = cls.read(mapping(value))
    return made, not made.problems and isinstance(value, Mapping)


def _records(cls: type[Record], value: Any) -> tuple[Any, bool]:
    """The records of a list; what is not an object is left out."""
    if value == []:
        return (), True
    items, is_right = [], isinstance(value, _LIST)
    for one in value if is_right else ():
        if (like := _read_as_before(cls, one)) is not None:
            items.append(like)
        elif isinstance(one, _OBJECT):
            made, item_right = _nested(cls, one)
            items.append(made)
            is_right = is_right and item_right
        else:
            is_right = False
    return tuple(items), is_right


def _tuple(reading: _Reading, value: Any) -> tuple[Any, bool]:
    """The items; those of another type are left out."""
    if value == []:
        return (), True
    if not isinstance(value, _LIST):
        return (), False
    accepted, convert, _ = reading
    if accepted.issuperset(map(type, value)):
        return tuple(value), True
    read = [(one, True) if type(one) in accepted else convert(one) for one in value]
    items = tuple(one for one, is_right in read if is_right)
    return items, len(items) == len(value)


def _written(value: Any) -> Any:
    if isinstance(value, Record):
        return value.record()
    return [_written(one) for one in value] if isinstance(value, tuple) else value


def _without_around(value: Any) -> Any:
    if isinstance(value, Record):
        return value.without_around()
    return [_without_around(one) for one in value] if isinstance(value, tuple) else value
