"""A plug-in's own settings: a pydantic model, filled from what the user gave."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from branchwise.corpora.errors import InputError

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
