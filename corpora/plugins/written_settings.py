"""Settings of plug-ins as written on a command line: `NAME.KEY=VALUE`."""

import re
from collections.abc import Sequence
from typing import Any

from branchwise.corpora.errors import InputError

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
        line = " ".join(str(error).split())
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
