"""What a study file may hold, by the settings of `System`, and what is wrong with one."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, get_origin

from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    create_model,
)
from pydantic_core import PydanticCustomError

from branchwise.agents.headers import checked_headers
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.setting import Declared, Text, no_empty_text, words_of
from branchwise.base.yaml_lines import KeyPath, line_of, shown
from branchwise.eval.selection import CONCURRENCY
from branchwise.graphs.system import all_settings
from branchwise.runs.options import Concurrency, CostOptions, QuestionOptions, ScoreOptions

Value = bool | int | float | str | tuple[str, ...] | Mapping[str, Any] | None
"""What a setting can be; null is the default of those that have none of their own."""

FIELDS: Mapping[str, Declared] = {
    setting.word: setting for setting in all_settings() if setting.word
}
FACTORS = tuple(key for key, field in FIELDS.items() if field.setting.changes != "scores")
"""Settings that may be varied: the systems of a study are scored alike."""
WORDS: Mapping[str, str] = {field.name: key for key, field in FIELDS.items()}
MODELS = tuple(key for key, field in FIELDS.items() if field.setting.holds == "model")
MODEL, MODEL_LIST = WORDS["model"], "models"
"""The keys of a base's model, and of several models that each have a base of their own."""

StudySection = Literal["base", "factors"]

_SECTION = ConfigDict(strict=True, extra="forbid")
MAX_VALUES = 256
_ABSENT = object()
_LARGEST = 2**63 - 1  # the largest that JSON files and SQLite can hold


def written_settings(system: Mapping[str, Any]) -> dict[str, Value]:
    """A run's system by the words of a study file; a node is on, under its own name."""
    settings: dict[str, Value] = {}
    for word, field in FIELDS.items():
        value: Any = system
        for name in field.path:
            value = value.get(name, _ABSENT) if isinstance(value, Mapping) else _ABSENT
        settings[word] = field.info.default if value is _ABSENT else _as_tuple(value)
    nodes = {spec.rpartition(":")[2]: True for spec in system.get("nodes", ())}
    plugins = {
        f"{plugin}.{key}": _as_tuple(value)
        for plugin, own in system.get("settings", {}).items()
        for key, value in own.items()
    }
    return {**settings, **nodes, **plugins}


def checked_section(section: StudySection, values: Any, nodes: Iterable[str]) -> dict[str, Any]:
    """The section's settings, in the file's order; `nodes`: the names that are on or off."""
    names = tuple(name for name in nodes if name not in FIELDS and name != MODEL_LIST)
    made = _section(section, names).model_validate(values)
    fields = {name: f"node_{n}" for n, name in enumerate(names)}
    return {key: getattr(made, fields.get(key, key)) for key in values}


def _as_tuple(value: Any) -> Any:
    """YAML has lists; immutable values are kept."""
    return tuple(value) if isinstance(value, list) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_as_tuple)]


_WORDS = {False: "off", True: "on"}
_SWITCH = BeforeValidator(
    lambda given: given == "on" if isinstance(given, str) and given in _WORDS.values() else given
)
"""Quoted, the words are texts."""
_NODE: Any = Annotated[bool, _SWITCH]
_BOUNDS_OF: Mapping[Any, Sequence[Any]] = {
    str: [AfterValidator(no_empty_text)],
    int: [Ge(-_LARGEST), Le(_LARGEST)],
    float: [AllowInfNan(False)],
}


def _annotation(field: Declared) -> Any:
    if get_origin(field.kind) is tuple:
        return Texts | None
    bounds = _BOUNDS_OF.get(field.kind, ())
    if field.is_choice:
        # YAML reads the words off and on as false and true.
        bounds = [BeforeValidator(lambda given: _WORDS[given] if type(given) is bool else given)]
    # Of two bounds of a kind the later one holds: the field's own.
    if field.kind is bool:
        bounds = [_SWITCH]
    inner: Any = Annotated[(field.kind, *bounds, *field.info.metadata)]
    return inner | None if field.optional else inner


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
    parts = []
    for key, part in value.items():
        if isinstance(part, Mapping) and part:
            parts.append(flat(part, f"{above}{key}."))
        else:
            parts.append(f"{above}{key}={part if isinstance(part, str) else json.dumps(part)}")
    return " ".join(parts)


def _factor(level: Any) -> Any:
    values: Any = tuple.__class_getitem__((level, ...))
    return Annotated[values, BeforeValidator(_as_tuple), AfterValidator(_check_distinct)]


@lru_cache(maxsize=16)
def _section(section: StudySection, nodes: tuple[str, ...]) -> type[BaseModel]:
    """A pydantic model; nodes are numbered, as pydantic keeps some names for itself."""
    if section == "base":
        fields = {key: _annotation(field) for key, field in FIELDS.items()}
        of_node = _NODE
        at_least = "name two models at least, or write model: NAME"
        check = AfterValidator(partial(_check_distinct, remedy=at_least))
        fields[MODEL_LIST] = Annotated[Texts, check]
    else:
        fields = {key: _factor(_annotation(FIELDS[key])) for key in FACTORS}
        of_node = _factor(_NODE)
    definitions: dict[str, Any] = {key: (type_, None) for key, type_ in fields.items()}
    for n, name in enumerate(nodes):
        definitions[f"node_{n}"] = (of_node, Field(default=None, alias=name))
    model: type[BaseModel] = create_model(f"_{section}", __config__=_SECTION, **definitions)
    return model


MAX_SET_NAME = 36
SET_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]*$"
Design = Literal["vary", "factorial"]
MAX_NAME = 80

_STRICT = ConfigDict(frozen=True, extra="forbid", strict=True)


class Questions(QuestionOptions):
    """A question set, as for `run --questions`, and which part of it: `ids` are these or a file of
    them, one a line. `name`: what it is called among several."""

    model_config = _STRICT

    source: Text
    name: str | None = Field(default=None, pattern=SET_NAME, max_length=MAX_SET_NAME)
    fields: Mapping[str, Text] = Field(default={})
    separator: Text | None = None
    ids: Texts | Text | None = Field(default=None, union_mode="left_to_right")


def _sets(value: Any) -> list[Any]:
    sets = value if isinstance(value, list | tuple) else [value]
    if not sets:
        raise PydanticCustomError("study", "names no set", {"remedy": _MISSING["questions"]})
    return [{"source": each} if isinstance(each, str) else each for each in sets]


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: [*value] if isinstance(value, tuple) else value for key, value in values.items()}


def _base(values: Any, info: ValidationInfo) -> dict[str, Value]:
    base = checked_section("base", values, info.data.get("nodes", ()))
    if MODEL in base and MODEL_LIST in base:
        context = {"remedy": f"keep one of {MODEL} and {MODEL_LIST}", "place": (MODEL_LIST,)}
        raise PydanticCustomError("study", f"stands beside {MODEL}", context)
    return base


def _factors(values: Any, info: ValidationInfo) -> dict[str, tuple[Value, ...]]:
    factors = checked_section("factors", values, info.data.get("nodes", ()))
    if MODEL in factors and MODEL_LIST in info.data.get("base", ()):
        remedy = f"leave it out, or write {MODEL}: in base and keep the factor"
        context = {"remedy": remedy, "place": (MODEL,)}
        raise PydanticCustomError("study", f"is a factor beside {MODEL_LIST} in base", context)
    return factors


_PLAIN = PlainSerializer(_plain, return_type=dict[str, Any])
_Settings = Annotated[Mapping[str, Value], PlainValidator(_base), _PLAIN]
_Factors = Annotated[Mapping[str, tuple[Value, ...]], PlainValidator(_factors), _PLAIN]


def _left_out(values: Any, info: ValidationInfo) -> tuple[dict[str, Value], ...]:
    if not isinstance(values, list | tuple):
        remedy = "write {shots: 0, reasoning: steps} for each combination"
        raise PydanticCustomError("study", "is not a list of combinations", {"remedy": remedy})
    return tuple(checked_section("base", value, info.data.get("nodes", ())) for value in values)


_EACH_PLAIN = PlainSerializer(lambda each: [*map(_plain, each)], return_type=list[dict[str, Any]])
_Combinations = Annotated[tuple[Mapping[str, Value], ...], PlainValidator(_left_out), _EACH_PLAIN]


class Study(ScoreOptions, CostOptions):
    """A base system, what is varied about it, and the sets of questions that all systems answer.

    `base` and `factors` use the words of `runs/studies/study.py`. Where a factor does not name
    the value that `base` gives, that value comes first; where `base` gives none, the factor's first
    value is the base's. `design`: each value alone against the base (`vary`), or all combinations
    (`factorial`), but for those with all the values of one of `leave_out`. Where `base` names
    `models`, each is varied so, from a base of its own. `nodes`: plug-ins' steps by names of the
    file's own, which are on or off in `base` and `factors`; `settings`: those of plug-ins, by the
    plug-ins' names; `metrics`: further metrics. `keys`: by HOST or HOST:PORT the environment
    variable whose key goes there; `headers`: of requests to model servers. Paths are relative to
    the study file.
    """

    model_config = _STRICT

    name: str = Field(pattern=SET_NAME, max_length=MAX_NAME)
    questions: Annotated[tuple[Questions, ...], BeforeValidator(_sets), Field(strict=False)]
    nodes: Mapping[str, Text] = Field(default={})
    base: _Settings = Field(default={})
    factors: _Factors
    design: Design = "vary"
    leave_out: _Combinations = ()
    concurrency: Concurrency = CONCURRENCY
    settings: Mapping[str, Mapping[str, JsonValue]] = Field(default={})
    metrics: Texts = ()
    keys: Mapping[str, Text] = Field(default={})
    headers: Annotated[Mapping[str, str], BeforeValidator(checked_headers)] = Field(default={})

    @property
    def models(self) -> tuple[str, ...]:
        """The models that each have a base of their own; empty where the study has one base."""
        models = self.base.get(MODEL_LIST)
        return models if isinstance(models, tuple) else ()

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class StudyError(Exception):
    """An error in a study that its author can fix; `place`: the wrong value."""

    def __init__(self, what: str, place: KeyPath, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what, self.place, self.remedy = what, place, remedy

    def located(self, where: str) -> InputError:
        return InputError(self.what, where=where, remedy=self.remedy)


def first_error(
    error: ValidationError, lines: Mapping[KeyPath, int], nodes: Iterable[str] = ()
) -> StudyError:
    """The first error to show of pydantic's: a misspelt key before a missing one, then by line."""
    problems = error.errors(include_url=False)
    problem = min(
        problems,
        key=lambda each: (each["type"] == "missing", line_of(lines, _place(each["loc"], lines))),
    )
    place, kind = _place(problem["loc"], lines), problem["type"]
    if kind == "extra_forbidden":
        return _unknown(place, list(nodes))
    if kind == "missing":
        name = str(place[-1])
        return StudyError(f"{name} is missing", place[:-1], _MISSING.get(name))
    if kind in ("study", "setting"):
        place = (*place, *problem["ctx"].get("place", ()))
        message = str(problem["msg"])
        mark = ":" if message.startswith("unknown ") else ""
        return StudyError(f"{_named(place)}{mark} {message}", place, problem["ctx"]["remedy"])
    remedy = _wanted(place, kind, problem["input"], problem.get("ctx", {}))
    return StudyError(f"{_named(place)} is {shown(problem['input'])}", place, remedy)


_MISSING = {
    "name": "write name: and a short one",
    "questions": "write questions: and the file that `branchwise run --questions` takes",
    "source": "write source: and the file of the questions",
    "factors": "write what is varied, as in factors: {expansion: [off, on]}",
}
_TYPES = {
    "bool_type": "write on or off",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "float_type": "write a number",
    "finite_number": "write a finite number",
    "string_pattern_mismatch": "write letters, digits, - _ . and begin with a letter or digit",
    "model_type": "write keys and values below it",
    "dict_type": "write keys and values below it",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _place(loc: Sequence[int | str], lines: Mapping[KeyPath, int]) -> KeyPath:
    if loc[0] != "questions" or len(loc) == 1:
        return tuple(loc)
    _, number, *rest = loc
    if rest[:1] == ["ids"]:  # a union, whose alternatives pydantic names in between
        rest = ["ids", *(part for part in rest if isinstance(part, int))]
    return set_place(int(number), lines, *rest)


def set_place(number: int, lines: Mapping[KeyPath, int], *keys: str | int) -> KeyPath:
    """The place of a set of the study, or of something in it: of a single one without a number."""
    return ("questions", number, *keys) if ("questions", 0) in lines else ("questions", *keys)


def _named(place: KeyPath) -> str:
    keys = [part for part in place if isinstance(part, str)]
    return str(keys[-1]) if keys else "the file"


def _unknown(place: KeyPath, nodes: Sequence[str]) -> StudyError:
    section, name = place[:-1], str(place[-1])
    noun, known = "key", list(Study.model_fields)
    if section == ("base",):
        known = [*FIELDS, MODEL_LIST, *nodes]
    elif section == ("factors",):
        noun, known = "factor", [*FACTORS, *nodes]
    elif section[:1] == ("questions",):
        known = list(Questions.model_fields)
    # As of the command line: --max-turns is max_turns here.
    key = name.lstrip("-").replace("-", "_")
    remedy = _elsewhere(section, name) or did_you_mean(key, known)
    return StudyError(f"unknown {noun} {shown(name)}", place, remedy)


def _elsewhere(section: KeyPath, name: str) -> str | None:
    if section == ("factors",) and name in FIELDS and name not in FACTORS:
        return "all systems are scored alike: write it at the top of the file"
    if section in (("base",), ("factors",)) and name in Study.model_fields:
        return "write it at the top of the file"
    if name in Questions.model_fields and section[:1] != ("questions",):
        return "write it below questions"
    if name == MODEL_LIST and section != ("base",):
        return "write it below base"
    return "write it below base" if not section and name in FIELDS else None


def _wanted(place: KeyPath, kind: str, value: Any, context: Mapping[str, Any]) -> str:
    if bound := _BOUNDS.get(kind):
        return f"write {bound[1]} {context[bound[0]]:,}".removesuffix(".0")
    if kind == "string_too_long":
        return f"write at most {context['max_length']} characters"
    if kind == "string_type":
        return "put it in quotes" if not isinstance(value, dict | list | None) else "write a text"
    if kind == "literal_error":
        words = words_of({"ctx": context})
        return did_you_mean(str(value), words, else_=f"write {' or '.join(words)}")
    if kind != "tuple_type":
        return _TYPES.get(kind, "see examples/studies")
    is_plain = isinstance(value, bool | str | int | float)
    example = value if isinstance(value, str) else shown(value) if is_plain else "..."
    if value == "none":
        return "write [] for no tools"
    if place[0] == "factors":
        if len(place) > 2:
            return f"each value of tools is a list of tools: write [[{example[:40]}], [...]]"
        return f"write a list of values, as in [{example[:40]}, ...]"
    return f"write a list, as in [{example[:40]}]"
