"""The keys that a run names, chosen by its author."""

from collections.abc import Mapping
from typing import Any

from branchwise.base.errors import InputError, warn
from branchwise.base.keys import Keys


def with_kept_keys(given: Keys, system: Mapping[str, Any], where: str) -> Keys:
    """The keys that are given now, which take precedence over those that the run names.

    Raises InputError where the record cannot be read.
    """
    kept = system.get("keys") or {}
    if not isinstance(kept, Mapping) or not all(isinstance(name, str) for name in kept.values()):
        raise InputError("the keys that the run names cannot be read", where=where)
    return given.over(kept)


def tell_kept_keys(keys: Keys, given: Keys, where: str) -> None:
    """Warn, before they are sent, of keys that were named by the run and not given now.

    Warns once per process: a command may open a run several times.
    """
    for host, name in keys.variables.items():
        if host not in given.variables:
            warn(f"{where}: the run sends {name} to {host}")
