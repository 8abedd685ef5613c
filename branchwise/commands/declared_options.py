"""Options that are made of declared settings, and those of what a run may cost."""

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
    of those that are written. Typer reads the signature, which shows them there."""
    parameters = inspect.signature(command).parameters.values()
    options: dict[str, dict[str, Declared]] = {}
    shown = []
    for parameter in parameters:
        model = parameter.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            options[parameter.name] = own = _settings_of(model)
            shown += [_parameter(word, setting) for word, setting in own.items()]
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
    spread.__annotations__ = {option.name: option.annotation for option in shown}
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
        at = next(each for each in settings.values() if each.path == loc[: len(each.path)])
        where = f"{at.flag} {'.'.join(place)}".strip()
        problem, remedy = str(first["msg"]), context.get("remedy", "see --help")
        if first["type"] == "literal_error":
            problem, remedy = unknown_value(first)
        raise InputError(problem, where=where, remedy=remedy) from None
    if isinstance(made, System):
        check_system(made)
    return made


def is_given(name: str) -> bool:
    """Whether the user wrote the option: a default is not refused where it has no effect."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _settings_of(model: type[BaseModel]) -> dict[str, Declared]:
    """The settings that have an option, by its parameter's name; a system's with those of tasks."""
    every = all_settings() if model is System else declared(model)
    named = ((str(each.flag).partition("/")[0].lstrip("-"), each) for each in every if each.flag)
    return {flag.replace("-", "_"): setting for flag, setting in named}


def _parameter(word: str, field: Declared) -> inspect.Parameter:
    setting, default, read_as = field.setting, field.info.default, field.kind
    has_words = field.is_choice or setting.words is not None
    words = setting.words or (lambda: get_args(field.kind)) if has_words else None
    option = typer.Option(
        field.flag,
        help=setting.help,
        rich_help_panel=setting.panel,
        metavar=setting.metavar,
        show_default=setting.shows_default,
        click_type=Words(words) if words else _range(field),
    )
    if _is_list(field):
        read_as = list[str]
    elif setting.holds == "folder":
        read_as = Path
    elif has_words or field.name in _JSON or setting.metavar == "DURATION":
        # The metavar of a number says that it has units.
        read_as = str
    type_: Any = read_as | None if default in (None, (), {}) else read_as
    annotation: Any = Annotated[type_, option]
    default = None if default in ((), {}) else default
    only_named = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(word, only_named, default=default, annotation=annotation)


def _range(field: Declared) -> click.ParamType[Any] | None:
    bounds: dict[str, Any] = {}
    for bound in field.info.metadata:
        match bound:
            case annotated_types.Ge(least):
                bounds |= {"min": least}
            case annotated_types.Gt(least):
                bounds |= {"min": least, "min_open": True}
            case annotated_types.Le(most):
                bounds |= {"max": most}
            case annotated_types.Lt(most):
                bounds |= {"max": most, "max_open": True}
    if not bounds:
        return None
    return click.IntRange(**bounds) if field.kind is int else click.FloatRange(**bounds)


def _is_list(field: Declared) -> bool:
    return field.name == "tools" or (field.info.default in ((), {}) and field.name not in _JSON)


def _read(field: Declared, value: Any) -> Any:
    name, flag = field.name, str(field.flag)
    if name == "keys":
        return dict(read_keys(value).variables)
    if name == "headers":
        return read_headers(value)
    if name in _JSON:
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
            remedy = f"""write {flag} '{{"top_k": 20}}'"""
            raise InputError(f"is not JSON: {why}", where=flag, remedy=remedy) from None
    if name in _BY_NAME:
        return read_settings(value, flag)
    if name == "tools":
        return read_tools(value)
    if field.setting.holds == "folder":
        return str(Path(value))
    return tuple(value) if _is_list(field) else value


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
    if estimate_from is not None and pilot is not None:
        remedy = "leave one of them out"
        raise InputError("stands beside --pilot", where=ESTIMATE_FROM, remedy=remedy)
    if estimate_from is not None and not dry_run:
        raise InputError("has no effect alone", where=ESTIMATE_FROM, remedy="add --dry-run")
