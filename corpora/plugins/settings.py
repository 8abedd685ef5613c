"""A plug-in's own settings: a pydantic model, filled from what the user gave, also as
written on a command line: `NAME.KEY=VALUE`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from branchwise.corpora.errors import InputError
from branchwise.corpora.text import one_line

Given = Mapping[str, Mapping[str, Any]]
"""Settings as the user gave them, by plug-in name."""


def check_settings(
    name: str, model: type[BaseModel] | None, given: Mapping[str, Any] | None
) -> BaseModel | None:
    """The settings of a plug-in, checked; InputError names the first key that does not fit."""
    if model is None:
        if given:
            raise InputError(f"{name} has no settings", where=f"{name}.{next(iter(given))}")
        return None
    unknown = [key for key in given or () if key not in _keys(model)]
    if unknown and model.model_config.get("extra") != "allow":
        known = ", ".join(sorted(_keys(model)))
        raise InputError(
            f"{name} has no setting {unknown[0]!r}",
            where=f"{name}.{unknown[0]}",
            remedy=f"it has {known}" if known else "it has none",
        )
    try:
        return model.model_validate(dict(given or {}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([name, *map(str, first["loc"])])
        missing = first["type"] == "missing"
        remedy = f"give it: --set {where}=VALUE" if missing else "see the plug-in's settings"
        raise InputError(str(first["msg"]), where=where, remedy=remedy) from None


def _keys(model: type[BaseModel]) -> set[str]:
    fields = model.model_fields
    return {*fields, *(f.alias for f in fields.values() if f.alias)}


_WRITTEN = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)=(.*)", re.DOTALL)


def read_settings(texts: Sequence[str], option: str = "--set") -> dict[str, dict[str, Any]]:
    """Settings by plug-in name. VALUE is YAML: `3`, `on`, `[a, b]`, `{key: value}`, or else text.

    Raises InputError for a text of another form, and for a key set twice.
    """
    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        match = _WRITTEN.fullmatch(text)
        if not match:
            raise InputError(
                f"{text[:200]!r} is not a setting",
                where=option,
                remedy=f"write {option} NAME.KEY=VALUE",
            )
        name, key, value = match.groups()
        of_name = found.setdefault(name, {})
        if key in of_name:
            raise InputError(f"{name}.{key} is set twice", where=option, remedy="set it once")
        of_name[key] = _value(value, text, option)
    return found


def _value(value: str, text: str, option: str) -> Any:
    import yaml

    try:
        read = yaml.safe_load(value)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = one_line(str(error))
        raise InputError(
            f"the value of {text[:200]!r} is not YAML: {line[:200]}",
            where=option,
            remedy="put a text with special characters in quotation marks",
        ) from None
    # YAML reads dates, which JSON does not have: a date stays the written text.
    return read if _is_json(read) else value


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int | float | bool)
