"""The options of a system, shared by every command that answers questions.

They are made of the settings that `System` declares, when a command is run or explained:
`branchwise --help` does without pydantic.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, get_args

import click
import typer
from click.core import ParameterSource

from branchwise.agents.headers import read_headers
from branchwise.base.errors import InputError
from branchwise.base.keys import METAVAR
from branchwise.base.plugins.settings import read_settings
from branchwise.base.setting import Declared
from branchwise.commands.options import FieldCommand, Words, read_keys, read_tools
from branchwise.graphs.system import SETTINGS, System
from branchwise.graphs.system_checks import check_system

_JSON = frozenset({"extra_body"})
"""Settings that are written as one JSON object."""
_METAVARS: Mapping[str, str] = {
    "keys": METAVAR,
    "headers": "[HOST/]NAME=VALUE",
    "extra_body": "JSON",
    "settings": "NAME.KEY=VALUE",
    "role_decoding": "ROLE.KEY=VALUE",
}


class SystemCommand(FieldCommand):
    """A command with options of its own, and behind them those of a system."""

    _is_whole = False

    @property
    def params(self) -> list[click.Parameter]:
        """All of them, in one list, which click changes."""
        if not self._is_whole:
            self._params += _parameters()
            self._is_whole = True
        return self._params

    @params.setter
    def params(self, own: list[click.Parameter]) -> None:
        self._params = list(own)


def with_system_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a `SystemCommand` take `system: System` as separate command-line options.

    Typer reads a function's signature; this one shows it without the system.
    """

    @wraps(command)
    def spread(**values: Any) -> None:
        options = {name: values.pop(name) for name in _settings()}
        given = {name: value for name, value in options.items() if is_given(name)}
        command(system=system_of(given), **values)

    own = [p for p in inspect.signature(command).parameters.values() if p.name != "system"]
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    spread.__signature__ = inspect.Signature(own)  # type: ignore[attr-defined]
    spread.__annotations__ = {p.name: p.annotation for p in own}
    spread.command_class = SystemCommand  # type: ignore[attr-defined]
    return spread


def system_of(options: Mapping[str, Any]) -> System:
    """The system that options describe, by their names; None is the default.

    Raises InputError for values that are out of bounds or do not fit each other.
    """
    from pydantic import ValidationError

    settings = _settings()
    given = {name: value for name, value in options.items() if value not in (None, (), [])}
    read = {settings[name].path: _read(settings[name], value) for name, value in given.items()}
    try:
        system = System.of(read)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = next(one for one in settings.values() if one.path == first["loc"][: len(one.path)])
        context = first.get("ctx", {})
        where = f"{at.flag} {'.'.join(context.get('place', ()))}".strip()
        remedy = context.get("remedy", "see --help")
        raise InputError(str(first["msg"]), where=where, remedy=remedy) from None
    check_system(system)
    return system


def is_given(name: str) -> bool:
    """Whether the user wrote the option: a default is not refused where it has no effect."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


@cache
def _settings() -> Mapping[str, Declared]:
    """The settings that have an option, by the name of its parameter."""
    return {_parameter(one.flag): one for one in SETTINGS if one.flag}


def _parameter(flag: str) -> str:
    return flag.partition("/")[0].lstrip("-").replace("-", "_")


@cache
def _parameters() -> list[click.Parameter]:
    """The options of all settings, as Typer makes them."""

    def command(**_: Any) -> None: ...

    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if one.info.default in ((), {}) else one.info.default,
            annotation=_annotation(one),
        )
        for name, one in _settings().items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(command)
    return typer.main.get_command(app).params


def _annotation(one: Declared) -> Any:
    option = typer.Option(
        one.flag,
        help=one.setting.help,
        rich_help_panel=one.setting.panel,
        metavar=_METAVARS.get(one.name),
        click_type=Words(lambda: get_args(one.kind)) if one.is_choice else _range(one),
    )
    kind = list[str] if _is_list(one) else one.kind
    if one.is_choice or one.name in _JSON:
        kind = str
    if one.setting.holds == "folder":
        kind = Path
    return Annotated[kind | None if one.info.default in (None, (), {}) else kind, option]


def _range(one: Declared) -> click.ParamType[Any] | None:
    """The bounds of a number, as they are said of its field."""
    bounds = {key: value for bound in one.info.metadata for key, value in _bounds(bound).items()}
    if not bounds:
        return None
    return click.IntRange(**bounds) if one.kind is int else click.FloatRange(**bounds)


def _bounds(bound: Any) -> dict[str, Any]:
    from annotated_types import Ge, Gt, Le, Lt

    match bound:
        case Ge(least):
            return {"min": least}
        case Gt(least):
            return {"min": least, "min_open": True}
        case Le(most):
            return {"max": most}
        case Lt(most):
            return {"max": most, "max_open": True}
    return {}


def _is_list(one: Declared) -> bool:
    """Whether the option is repeatable."""
    return one.name == "tools" or (one.info.default in ((), {}) and one.name not in _JSON)


def _read(one: Declared, value: Any) -> Any:
    """What an option's value is in the system."""
    if one.name == "keys":
        return dict(read_keys(value).variables)
    if one.name == "headers":
        return read_headers(value)
    if one.name in _JSON:
        return _read_json(value, one.flag)
    if one.name in ("settings", "role_decoding"):
        return read_settings(value, str(one.flag))
    if one.name == "tools":
        return read_tools(value)
    if one.setting.holds == "folder":
        return str(Path(value))
    return tuple(value) if _is_list(one) else value


def _read_json(text: str, option: str | None) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        remedy = f"""write {option} '{{"top_k": 20}}'"""
        raise InputError(f"is not JSON: {why}", where=option, remedy=remedy) from None
