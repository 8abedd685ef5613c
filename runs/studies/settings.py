"""The settings of a system as a study file writes them, derived from those that `System`
declares."""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, get_origin

from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
)
from pydantic_core import PydanticCustomError

from branchwise.base.setting import Declared, Text, no_empty_text
from branchwise.base.yaml_lines import shown
from branchwise.graphs.system import all_settings

Value = bool | int | float | str | tuple[str, ...] | Mapping[str, Any] | None
"""What a setting can be; null is the default of those that have none of their own."""

FIELDS: Mapping[str, Declared] = {one.word: one for one in all_settings() if one.word}
"""The settings of a system by their words in a study file."""
FACTORS = tuple(key for key, one in FIELDS.items() if one.setting.changes != "scores")
"""Settings that may be varied: the systems of a study are scored alike."""
WORDS: Mapping[str, str] = {one.name: key for key, one in FIELDS.items()}
"""The words in a study file by the settings' own names."""
MODELS = tuple(key for key, one in FIELDS.items() if one.setting.holds == "model")
"""Settings that are model specs."""
MODEL, MODEL_LIST = WORDS["model"], "models"
"""The keys of a base's model, and of several models that each have a base of their own."""

StudySection = Literal["base", "factors"]

_STRICT = ConfigDict(strict=True, extra="forbid")
MAX_VALUES = 256
_MISSING = object()
_LARGEST = 2**63 - 1  # the largest that JSON files and SQLite can hold


def written_settings(system: Mapping[str, Any]) -> dict[str, Value]:
    """The settings of a system, as runs keep it, by their words in a study file.

    A node is on, under its own name.
    """
    found: dict[str, Value] = {}
    for word, one in FIELDS.items():
        value: Any = system
        for name in one.path:
            value = value.get(name, _MISSING) if isinstance(value, Mapping) else _MISSING
        found[word] = one.info.default if value is _MISSING else _as_tuple(value)
    nodes = {spec.rpartition(":")[2]: True for spec in system.get("nodes", ())}
    plugins = {
        f"{plugin}.{key}": _as_tuple(value)
        for plugin, own in system.get("settings", {}).items()
        for key, value in own.items()
    }
    return {**found, **nodes, **plugins}


def checked_base(values: Any, nodes: Iterable[str] = ()) -> dict[str, Value]:
    """The base's settings, in the file's order; `nodes`: the names that are on or off.

    Raises pydantic's ValidationError.
    """
    return _checked("base", values, nodes)


def checked_factors(values: Any, nodes: Iterable[str] = ()) -> dict[str, tuple[Value, ...]]:
    """The factors' values, in the file's order. Raises pydantic's ValidationError."""
    return _checked("factors", values, nodes)


def _checked(section: StudySection, values: Any, nodes: Iterable[str]) -> dict[str, Any]:
    names = tuple(name for name in nodes if name not in FIELDS and name != MODEL_LIST)
    made = _section(section, names).model_validate(values)
    fields = {name: f"node_{n}" for n, name in enumerate(names)}
    return {key: getattr(made, fields.get(key, key)) for key in values}


def _as_tuple(value: Any) -> Any:
    """YAML has lists; immutable values are kept."""
    return tuple(value) if isinstance(value, list) else value


def _as_word(value: Any) -> Any:
    """The words off and on, which YAML reads as false and true."""
    return ("on" if value else "off") if isinstance(value, bool) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]


def _annotation(one: Declared) -> Any:
    """The type and bounds of a setting: those of its field."""
    if get_origin(one.kind) is tuple:
        return Texts | None
    # Of two bounds of a kind the later one holds: the field's own.
    kind = (one.kind, *_more_bounds(one), *one.info.metadata)
    inner: Any = Annotated[kind]
    return inner | None if one.optional else inner


def _more_bounds(one: Declared) -> list[Any]:
    if one.is_choice:
        return [BeforeValidator(_as_word)]
    if one.kind is str:
        return [AfterValidator(no_empty_text)]
    if one.kind is int:
        return [Ge(-_LARGEST), Le(_LARGEST)]
    return [AllowInfNan(False)] if one.kind is float else []


def _check_models(models: tuple[str, ...]) -> tuple[Value, ...]:
    return _check_distinct(models, "name two models at least, or write model: NAME")


def _check_distinct(
    values: tuple[Value, ...], remedy: str = "name two values at least, or move it into base"
) -> tuple[Value, ...]:
    if len(values) < 2:
        count = "one value" if values else "no value"
        raise PydanticCustomError("study", f"has {count}", {"remedy": remedy})
    if len(values) > MAX_VALUES:
        remedy = f"name at most {MAX_VALUES}"
        raise PydanticCustomError("study", f"has {len(values):,} values", {"remedy": remedy})
    for n, value in enumerate(values):
        if value in values[:n]:
            message = f"has the value {_in_words(value)} twice"
            raise PydanticCustomError("study", message, {"remedy": "keep one of them"})
    return values


def _in_words(value: Value) -> str:
    if isinstance(value, Mapping):
        return flat(value)[:80] or "{}"
    return f"[{', '.join(value)}]"[:80] if isinstance(value, tuple) else shown(value)


def flat(value: Mapping[str, Any], above: str = "") -> str:
    """Keys and values in words, without braces: `provider.order=["a"] top_k=20`."""
    parts = [
        flat(one, f"{above}{key}.")
        if isinstance(one, Mapping) and one
        else f"{above}{key}={one if isinstance(one, str) else json.dumps(one)}"
        for key, one in value.items()
    ]
    return " ".join(parts)


def _factor(kind: Any) -> Any:
    values: Any = tuple.__class_getitem__((kind, ...))
    return Annotated[values, BeforeValidator(_as_tuple), AfterValidator(_check_distinct)]


@lru_cache(maxsize=16)
def _section(section: StudySection, nodes: tuple[str, ...]) -> type[BaseModel]:
    """A pydantic model of a section, none of its fields required.

    The fields of nodes are numbered: a name of the user's may be one that pydantic keeps.
    """
    if section == "base":
        fields, of_node = {key: _annotation(one) for key, one in FIELDS.items()}, bool
        fields[MODEL_LIST] = Annotated[Texts, AfterValidator(_check_models)]
    else:
        fields, of_node = {key: _factor(_annotation(FIELDS[key])) for key in FACTORS}, _factor(bool)
    definitions: dict[str, Any] = {key: (kind, None) for key, kind in fields.items()}
    for n, name in enumerate(nodes):
        definitions[f"node_{n}"] = (of_node, Field(default=None, alias=name))
    made: type[BaseModel] = create_model(f"_{section}", __config__=_STRICT, **definitions)
    return made
