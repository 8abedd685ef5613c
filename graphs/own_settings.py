"""Settings within a system's: those of tasks, and the decoding of single roles."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError, create_model
from pydantic_core import PydanticCustomError

from branchwise.agents.decoding import Decoding, RoleSettings
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.declare import read_settings
from branchwise.base.registry import Registry
from branchwise.base.setting import Declared, Setting, declared, refused, told, unknown_value

PROTOCOL, DEFAULT_PROTOCOL = "protocol", "default"
"""The setting that every task has, and its value for a task's own way to put its questions."""
_HELP = (
    "How a question is put where its task has several ways. Free text: default (the model writes "
    "conditions), standard, guided by the gold conditions, closed book. Ambiguity and questions "
    "back: whether all answers are listed first to tell it, for the question back or for both, or "
    "are the gold ones; the gold question as part of the question or as a dialogue."
)
_PROTOCOLS: Registry[str] = Registry()
_OF_TASKS: Registry[Declared] = Registry()


def register_settings(protocols: Iterable[str], settings: type[BaseModel] | None) -> None:
    for name in protocols:
        _PROTOCOLS.register(name, name)
    for setting in declared(settings) if settings else ():
        _OF_TASKS.register(setting.name, setting)


@cache
def asking_settings() -> Mapping[str, Declared]:
    """Those of all tasks, by their names; the protocol is the first."""
    words: Any = Literal.__getitem__((DEFAULT_PROTOCOL, *_PROTOCOLS))
    hint: Any = Annotated[words, Setting(_HELP, "Model", of_task=True)]
    model = create_model("_Protocol", protocol=(hint, DEFAULT_PROTOCOL))
    return {setting.name: setting for setting in declared(model)} | dict(_OF_TASKS)


@cache
def _model() -> type[BaseModel]:
    fields: dict[str, Any] = {
        name: (Annotated[(setting.info.annotation, *setting.info.metadata)], setting.info.default)
        for name, setting in asking_settings().items()
    }
    return create_model("_Asking", __config__=ConfigDict(frozen=True, extra="forbid"), **fields)


def checked_asking(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is set of tasks' settings, defaults left out. Raises the refusal of the first value that
    is none of its setting's."""
    if not values:
        return {}
    try:
        made = _model().model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, what = str(first["loc"][0]), str(first["msg"])
        if name not in asking_settings():
            known = ", ".join(asking_settings())
            raise refused("unknown setting", f"known are {known}", name) from None
        if first["type"] == "literal_error":
            raise refused(*unknown_value(first), name) from None
        context = {"what": f"{what} ({values[name]!r:.60})", "place": (name,)}
        raise PydanticCustomError("setting", "{what}", context) from None
    return made.model_dump(exclude_defaults=True)


RoleDecoding = Mapping[str, Mapping[str, JsonValue]]
"""By role the decoding settings that it has of its own; null leaves one to the server."""
NO_ROLES: RoleDecoding = MappingProxyType({})
ROLES = ("expander", "extractor", "checker", "matcher", "judge")
SCORERS = ("matcher", "judge")
_SETTINGS = tuple(RoleSettings.model_fields)


def checked_roles(given: Any) -> dict[str, dict[str, Any]]:
    """The settings by role, in one order; roles without any are left out, None is no role. Raises
    PydanticCustomError for unknown roles and settings, and for values that the agent's own setting
    would not take."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused("is not settings by role", "write extractor: {temperature: 0}")
    for role in given:
        if role not in ROLES:
            own = "the agent's are the system's own"
            remedy = own if role == "agent" else did_you_mean(str(role), ROLES)
            raise refused("is not a role with settings of its own", remedy, str(role)[:60])
    read = {role: _checked(role, given[role]) for role in ROLES if role in given}
    return {role: own for role, own in read.items() if own}


def asked_by(api: str | None, roles: RoleDecoding) -> RoleDecoding:
    """The settings of matcher and judge, by a protocol where they name none; None: by no certain
    one."""
    if api is None:
        return roles
    return {role: {"api": api, **roles.get(role, {})} for role in SCORERS}


def read_scorers(texts: Sequence[str], option: str = "--role") -> RoleDecoding:
    """Read ROLE.KEY=VALUE of those who score. Raises InputError, also for another role."""
    try:
        read = checked_roles(read_settings(texts, option))
    except PydanticCustomError as error:
        raise told(error, option) from None
    if other := next((role for role in read if role not in SCORERS), None):
        raise InputError(
            f"{other} takes no part in scoring", where=option, remedy=f"set {' or '.join(SCORERS)}"
        )
    return read


def decoding_with(decoding: Decoding, own: Mapping[str, Any]) -> Decoding:
    return Decoding.model_validate({**decoding.model_dump(), **own}) if own else decoding


def _checked(role: str, own: Any) -> dict[str, Any]:
    if own is None:
        return {}
    if not isinstance(own, Mapping):
        raise refused("is not settings by name", "write {temperature: 0}", role)
    if unknown := next((name for name in own if name not in _SETTINGS), None):
        name = str(unknown)[:60]
        is_model = f"the setting {role} names its model"
        remedy = is_model if name == "model" else did_you_mean(name, _SETTINGS)
        raise refused("is not a setting of a role", remedy, role, name)
    try:
        read = RoleSettings.model_validate(dict(own), strict=True).model_dump(mode="json")
    except ValidationError as error:
        raise _refusal(role, error) from None
    return {name: read[name] for name in _SETTINGS if name in own}


def _refusal(role: str, error: ValidationError) -> Exception:
    first = error.errors(include_url=False)[0]
    place = (role, *map(str, first["loc"]), *first.get("ctx", {}).get("place", ()))
    if first["type"] == "setting":
        return refused(first["msg"], first["ctx"]["remedy"], *place)
    if first["type"] == "literal_error":
        return refused(*unknown_value(first), *place)
    given, wanted = first["input"], first["msg"]
    what = f"is {given}" if isinstance(given, int | float) else "is not what it can be"
    return refused(what[:80], wanted[:1].lower() + wanted[1:], *place)
