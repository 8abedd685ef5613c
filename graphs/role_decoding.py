"""Decoding settings of single roles, where they are not the agent's."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import JsonValue, ValidationError
from pydantic_core import PydanticCustomError

from branchwise.agents.decoding import Decoding, RoleSettings
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.plugins.declare import read_settings
from branchwise.base.setting import refused, told, unknown_value

RoleDecoding = Mapping[str, Mapping[str, JsonValue]]
"""By role the decoding settings that it has of its own; null leaves one to the server."""
NO_ROLES: RoleDecoding = MappingProxyType({})
ROLES = ("expander", "extractor", "matcher", "judge")
SCORERS = ("matcher", "judge")
_SETTINGS = tuple(RoleSettings.model_fields)


def checked_roles(given: Any) -> dict[str, dict[str, Any]]:
    """The settings by role, in one order; roles without any are left out, None is no role.

    Raises PydanticCustomError for unknown roles and settings, and for values that the agent's own
    setting would not take.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise refused("is not settings by role", "write extractor: {temperature: 0}")
    for role in given:
        if role not in ROLES:
            raise refused("is not a role with settings of its own", _remedy(role), str(role)[:60])
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
    """The decoding with a role's own settings in it."""
    return Decoding.model_validate({**decoding.model_dump(), **own}) if own else decoding


def _checked(role: str, own: Any) -> dict[str, Any]:
    if own is None:
        return {}
    if not isinstance(own, Mapping):
        raise refused("is not settings by name", "write {temperature: 0}", role)
    if unknown := next((name for name in own if name not in _SETTINGS), None):
        place = str(unknown)[:60]
        raise refused("is not a setting of a role", _setting_remedy(role, place), role, place)
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


def _remedy(role: Any) -> str:
    if role == "agent":
        return "the agent's are the system's own"
    return did_you_mean(str(role), ROLES)


def _setting_remedy(role: str, name: str) -> str:
    if name == "model":
        return f"the setting {role} names its model"
    return did_you_mean(name, _SETTINGS)
