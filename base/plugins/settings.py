"""A plug-in's own settings: a pydantic model, filled from what the user gave, also as
written on a command line: `NAME.KEY=VALUE`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.text import one_line

Given = Mapping[str, Mapping[str, Any]]
"""Settings as the user gave them, by plug-in name."""
_WRITTEN = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)=(.*)", re.DOTALL)
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def check_settings(
    name: str, model: type[BaseModel] | None, given: Mapping[str, Any] | None
) -> BaseModel | None:
    """The settings of a plug-in, checked; InputError names the first key that does not fit."""
    given = dict(given or {})
    if model is None:
        if given:
            raise InputError(f"{name} has no settings", where=f"{name}.{next(iter(given))}")
        return None
    fields = model.model_fields
    known = {*fields, *(field.alias for field in fields.values() if field.alias)}
    unknown = [key for key in given if key not in known]
    if unknown and model.model_config.get("extra") != "allow":
        raise InputError(
            f"{name} has no setting {unknown[0]!r}",
            where=f"{name}.{unknown[0]}",
            remedy=f"it has {', '.join(sorted(known))}" if known else "it has none",
        )
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([name, *map(str, first["loc"])])
        missing = first["type"] == "missing"
        remedy = f"give it: --set {where}=VALUE" if missing else "see the plug-in's settings"
        raise InputError(str(first["msg"]), where=where, remedy=remedy) from None


def read_settings(texts: Sequence[str], option: str = "--set") -> dict[str, dict[str, Any]]:
    """Settings by plug-in name. VALUE is YAML: `3`, `on`, `[a, b]`, `{key: value}`, or else text.

    Raises InputError for a text of another form, and for a key set twice.
    """
    import yaml

    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        match = _WRITTEN.fullmatch(text)
        if not match:
            what, remedy = f"{text[:200]!r} is not a setting", f"write {option} NAME.KEY=VALUE"
            raise InputError(what, where=option, remedy=remedy)
        name, key, value = match.groups()
        of_name = settings.setdefault(name, {})
        if key in of_name:
            raise InputError(f"{name}.{key} is set twice", where=option, remedy="set it once")
        try:
            of_name[key] = _JSON.validate_python(yaml.safe_load(value))
        except ValidationError:
            of_name[key] = value  # YAML reads dates, which JSON does not have: they stay texts
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(
                f"the value of {text[:200]!r} is not YAML: {one_line(str(error))[:200]}",
                where=option,
                remedy="put a text with special characters in quotation marks",
            ) from None
    return settings
