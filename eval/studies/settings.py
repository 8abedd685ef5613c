"""What a study may say of a system: the words of its file, each with the field that it sets."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

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

from branchwise.agents.decoding import Decoding
from branchwise.graphs.system import Budget, Roles, System

Value = bool | int | float | str | tuple[str, ...] | None
"""What a setting can be; null is the default of those that have none of their own."""

FIELDS: Mapping[str, tuple[type[BaseModel], str]] = MappingProxyType(
    {
        "model": (System, "model"),
        "corpus": (System, "corpus"),
        "kg": (System, "kg"),
        "retriever": (System, "retriever"),
        "k": (System, "k"),
        "tools": (System, "tools"),
        "expansion": (System, "expand"),
        "extraction": (System, "extract"),
        "prompts": (System, "prompts"),
        "temperature": (Decoding, "temperature"),
        "max_tokens": (Decoding, "max_tokens"),
        "seed": (Decoding, "seed"),
        "tool_protocol": (Decoding, "tool_protocol"),
        "structured": (Decoding, "structured"),
        "stream": (Decoding, "stream"),
        "timeout": (Decoding, "timeout"),
        "max_turns": (Budget, "turns"),
        "max_calls": (Budget, "calls"),
        "max_tokens_total": (Budget, "tokens"),
        "max_seconds": (Budget, "seconds"),
        "expander": (Roles, "expander"),
        "extractor": (Roles, "extractor"),
        "matcher": (Roles, "matcher"),
        "judge": (Roles, "judge"),
    }
)
"""By its word in a study file, the settings object of a system and the field that it sets."""

SCORING_ONLY = frozenset({"matcher", "judge"})
"""Settings that no answer depends on: the systems of a study are scored alike."""
FACTORS = tuple(key for key in FIELDS if key not in SCORING_ONLY)
"""Settings that may be varied."""
MODULES: Mapping[str, str] = MappingProxyType({"expander": "expansion", "extractor": "extraction"})
"""By the role whose model is asked, the module that asks it."""
MODELS = ("model", "expander", "extractor", "matcher", "judge")
"""Settings that are model specs."""

Section = Literal["base", "factors"]

_STRICT = ConfigDict(strict=True, extra="forbid")
MAX_TEXT, MAX_VALUES = 2000, 256
_LARGEST = 2**63 - 1  # what a JSON file and SQLite can keep


def checked_base(values: Any, nodes: Iterable[str] = ()) -> dict[str, Value]:
    """The base's settings, in the file's order; `nodes`: the names that are on or off.

    Raises pydantic's ValidationError.
    """
    return _checked("base", values, nodes)


def checked_factors(values: Any, nodes: Iterable[str] = ()) -> dict[str, tuple[Value, ...]]:
    """The factors' values, in the file's order. Raises pydantic's ValidationError."""
    return _checked("factors", values, nodes)


def _checked(section: Section, values: Any, nodes: Iterable[str]) -> dict[str, Any]:
    names = tuple(name for name in nodes if name not in FIELDS)
    made = _section(section, names).model_validate(values)
    fields = {name: f"node_{n}" for n, name in enumerate(names)}
    return {key: getattr(made, fields.get(key, key)) for key in values}


def no_empty_text(value: str) -> str:
    """Refuse what no name, path or address can be."""
    if not value.strip():
        raise PydanticCustomError("study", "is an empty text", {"remedy": "leave it out"})
    if len(value) > MAX_TEXT:
        message = f"is longer than {MAX_TEXT:,} characters"
        raise PydanticCustomError("study", message, {"remedy": "shorten it"})
    if not value.isprintable():
        remedy = "write it without them"
        raise PydanticCustomError("study", "holds control characters", {"remedy": remedy})
    return value


def _as_tuple(value: Any) -> Any:
    """YAML has lists; what is kept cannot be changed."""
    return tuple(value) if isinstance(value, list) else value


def _as_word(value: Any) -> Any:
    """The word off, which YAML reads as false."""
    return "off" if value is False else value


Text = Annotated[str, AfterValidator(no_empty_text)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]


def _annotation(key: str) -> Any:
    """The type and bounds of a setting: those of the field that it sets."""
    part, name = FIELDS[key]
    found = part.model_fields[name]
    kind, optional = found.annotation, type(None) in get_args(found.annotation)
    if key == "tools":
        return Texts | None
    if key == "structured":
        return Annotated[kind, BeforeValidator(_as_word)]
    plain = [one for one in get_args(kind) if one is not type(None)] if optional else [kind]
    # Of two bounds of a kind the later one holds: the field's own.
    bounds = [*_more_bounds(plain[0]), *found.metadata]
    inner: Any = Annotated[(plain[0], *bounds)] if bounds else plain[0]
    return inner | None if optional else inner


def _more_bounds(kind: Any) -> list[Any]:
    if kind is str:
        return [AfterValidator(no_empty_text)]
    if kind is int:
        return [Ge(-_LARGEST), Le(_LARGEST)]
    return [AllowInfNan(False)] if kind is float else []


def _check_distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(values) < 2:
        remedy = "name two values at least, or move it into base"
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
    from branchwise.eval.yaml_lines import shown

    return f"[{', '.join(value)}]"[:80] if isinstance(value, tuple) else shown(value)


def _factor(kind: Any) -> Any:
    values: Any = tuple.__class_getitem__((kind, ...))
    return Annotated[values, BeforeValidator(_as_tuple), AfterValidator(_check_distinct)]


@lru_cache(maxsize=16)
def _section(section: Section, nodes: tuple[str, ...]) -> type[BaseModel]:
    """A pydantic model of a section, none of its fields required.

    The fields of nodes are numbered: a name of the user's may be one that pydantic keeps.
    """
    if section == "base":
        fields, of_node = {key: _annotation(key) for key in FIELDS}, bool
    else:
        fields, of_node = {key: _factor(_annotation(key)) for key in FACTORS}, _factor(bool)
    definitions: dict[str, Any] = {key: (kind, None) for key, kind in fields.items()}
    for n, name in enumerate(nodes):
        definitions[f"node_{n}"] = (of_node, Field(default=None, alias=name))
    made: type[BaseModel] = create_model(f"_{section}", __config__=_STRICT, **definitions)
    return made
