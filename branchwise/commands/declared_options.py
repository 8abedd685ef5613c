"""Options that are made of declared settings: a system's, a run's, those of scoring; and those of
what a run may cost."""

import inspect
import json
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import annotated_types
import click
import typer
from click.core import ParameterSource
from pydantic import BaseModel, ValidationError

from branchwise.agents.headers import read_headers
from branchwise.base.errors import InputError
from branchwise.base.plugins.declare import read_settings
from branchwise.base.setting import Declared, declared, unknown_value
from branchwise.commands.options import Words, read_keys, read_tools
from branchwise.graphs.sources import check_system
from branchwise.graphs.system import System, all_settings
from branchwise.runs.options import ESTIMATE_FROM

Chosen = TypeVar("Chosen", bound=BaseModel)
_JSON = frozenset({"extra_body"})
"""Settings that are written as one JSON object."""
_BY_NAME = frozenset({"settings", "role_decoding", "roles"})
"""Settings that are written NAME.KEY=VALUE."""


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take settings as options: each parameter whose type is a pydantic model is made
    of those that are written, and the model's defaults.

    Typer reads a function's signature; this one shows the options where the parameter stands.
    """
    parameters = inspect.signature(command).parameters.values()
    options: dict[str, dict[str, Declared]] = {}
    shown = []
    for parameter in parameters:
        model = parameter.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            options[parameter.name] = own = _settings_of(model)
            shown += [_parameter(word, one) for word, one in own.items()]
        else:
            shown.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    models = {name: command.__annotations__[name] for name in options}

    @wraps(command)
    def spread(**values: Any) -> None:
        for name, own in options.items():
            written = {word: values.pop(word) for word in own}
            given = {word: value for word, value in written.items() if is_given(word)}
            values[name] = read_options(models[name], given)
        command(**values)

    spread.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    spread.__annotations__ = {one.name: one.annotation for one in shown}
    return spread


def read_options(model: type[Chosen], options: Mapping[str, Any]) -> Chosen:
    """The settings that options describe, by their names; None is the default."""
    settings = _settings_of(model)
    nested: dict[str, Any] = {}
    for word, value in options.items():
        if value in (None, (), []):
            continue
        *path, name = settings[word].path
        part = nested
        for outer in path:
            part = part.setdefault(outer, {})
        part[name] = _read(settings[word], value)
    try:
        made = model.model_validate(nested)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        context = first.get("ctx", {})
        loc, place = first["loc"], context.get("place", ())
        # Of a task's setting the place is its name.
        loc, place = (place, ()) if loc == ("asking",) else (loc, place)
        at = next(
            setting for setting in settings.values() if setting.path == loc[: len(setting.path)]
        )
        where = f"{at.flag} {'.'.join(place)}".strip()
        what, remedy = str(first["msg"]), context.get("remedy", "see --help")
        if first["type"] == "literal_error":
            what, remedy = unknown_value(first)
        raise InputError(what, where=where, remedy=remedy) from None
    if isinstance(made, System):
        check_system(made)
    return made


def is_given(name: str) -> bool:
    """Whether the user wrote the option: a default is not refused where it has no effect."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def _settings_of(model: type[BaseModel]) -> dict[str, Declared]:
    """The settings that have an option, by its parameter's name; a system's with those of tasks."""
    every = all_settings() if model is System else declared(model)
    return {_word(one): one for one in every if one.flag}


def _word(one: Declared) -> str:
    return str(one.flag).partition("/")[0].lstrip("-").replace("-", "_")


def _parameter(word: str, one: Declared) -> inspect.Parameter:
    default = None if one.info.default in ((), {}) else one.info.default
    return inspect.Parameter(
        word, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=_annotation(one)
    )


def _annotation(one: Declared) -> Any:
    words = one.setting.words or (lambda: get_args(one.kind)) if _has_words(one) else None
    option = typer.Option(
        one.flag,
        help=one.setting.help,
        rich_help_panel=one.setting.panel,
        metavar=one.setting.metavar,
        show_default=one.setting.shows_default,
        click_type=Words(words) if words else _range(one),
    )
    kind = list[str] if _is_list(one) else _written(one)
    return Annotated[kind | None if one.info.default in (None, (), {}) else kind, option]


def _has_words(one: Declared) -> bool:
    return one.is_choice or one.setting.words is not None


def _written(one: Declared) -> Any:
    """The type that an option is read as; a metavar of a number says that it has units."""
    if one.setting.holds == "folder":
        return Path
    is_text = _has_words(one) or one.name in _JSON
    return str if is_text or one.setting.metavar == "DURATION" else one.kind


def _range(one: Declared) -> click.ParamType[Any] | None:
    """The bounds of a number, as they are said of its field."""
    bounds = {key: value for bound in one.info.metadata for key, value in _bounds(bound).items()}
    if not bounds:
        return None
    return click.IntRange(**bounds) if one.kind is int else click.FloatRange(**bounds)


def _bounds(bound: Any) -> dict[str, Any]:
    match bound:
        case annotated_types.Ge(least):
            return {"min": least}
        case annotated_types.Gt(least):
            return {"min": least, "min_open": True}
        case annotated_types.Le(most):
            return {"max": most}
        case annotated_types.Lt(most):
            return {"max": most, "max_open": True}
    return {}


def _is_list(one: Declared) -> bool:
    """Whether the option is repeatable."""
    return one.name == "tools" or (one.info.default in ((), {}) and one.name not in _JSON)


def _read(one: Declared, value: Any) -> Any:
    """What an option's value is in its model."""
    if one.name == "keys":
        return dict(read_keys(value).variables)
    if one.name == "headers":
        return read_headers(value)
    if one.name in _JSON:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
            remedy = f"""write {one.flag} '{{"top_k": 20}}'"""
            raise InputError(f"is not JSON: {why}", where=one.flag, remedy=remedy) from None
    if one.name in _BY_NAME:
        return read_settings(value, str(one.flag))
    if one.name == "tools":
        return read_tools(value)
    if one.setting.holds == "folder":
        return str(Path(value))
    return tuple(value) if _is_list(one) else value


DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Ask nothing: check everything, and say what it may cost at most."
    ),
]
EstimateFrom = Annotated[
    Path | None,
    typer.Option(
        help="With --dry-run: say what to expect by an earlier run or study of the same systems.",
        metavar="RUN",
    ),
]


def check_forecast(pilot: int | None, estimate_from: Path | None, *, dry_run: bool) -> None:
    """Raise InputError for options that have no effect on each other."""
    if estimate_from is None:
        return
    if pilot is not None:
        raise InputError(
            "stands beside --pilot", where=ESTIMATE_FROM, remedy="leave one of them out"
        )
    if not dry_run:
        raise InputError("has no effect alone", where=ESTIMATE_FROM, remedy="add --dry-run")
