"""What a run that goes on has in common with its beginning: its system, its keys, its price."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.headers import headers_over
from branchwise.agents.spec import ModelSpec, is_replay, located
from branchwise.base.errors import InputError, warn
from branchwise.base.keys import Keys
from branchwise.base.plugins.specs import absolute_spec
from branchwise.corpora.open import absolute_name
from branchwise.graphs.system import MODULES, SETTINGS, System
from branchwise.kg.open import is_address
from branchwise.runs.store.connection import reading

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent

_MAY_MOVE = {
    "corpus": ("corpus", "retriever"),
    "kg": ("graph", "kg"),
    "reranker": ("cross-encoder", "retriever"),
}
"""Options of `resume` that say where a folder is now: what it is, and what differs in another."""


def check_not_moved(
    command: str, begun: Mapping[str, Any], moved: Mapping[str, str | None]
) -> None:
    """Refuse a run whose corpus or graph is gone, unless `moved` says where that is now."""
    for option, (part, _) in _MAY_MOVE.items():
        was = begun.get(option)
        can_be_named = option in moved and not moved[option]
        if was and can_be_named and not is_address(was) and not Path(was).exists():
            remedy = f"say where it is now: `{command} --{option} DIR`"
            raise InputError(f"the {part} of this run no longer exists", where=was, remedy=remedy)


def continued_system(
    path: Path,
    begun: Mapping[str, Any],
    moved: Mapping[str, str | None],
    roles: Mapping[str, str | None],
    keys: Keys,
    headers: Sequence[str],
) -> System:
    """The system of a run with what moved of it, and its modules' models by `roles`, where they are
    now. Raises InputError for a role that no module of it asks, and for what would change its
    cost."""
    with reading(path):
        before = System.model_validate(begun)
    settings = before.model_dump(mode="json") | {key: new for key, new in moved.items() if new}
    given = {role: spec for role, spec in roles.items() if spec}
    for role in given:
        if not settings.get(MODULES[role]):
            problem = f"this run was started without --{MODULES[role]} and uses no {role}"
            raise InputError(problem, where=str(path), remedy=f"leave out --{role}")
    settings["roles"] = {**settings.get("roles", {}), **given}
    kept = with_kept_keys(keys, begun, str(path))
    tell_kept_keys(kept, keys, str(path))
    settings["keys"] = dict(kept.variables)
    settings["headers"] = headers_over(headers, before.headers)
    _check_as_paid_for(path, begun, settings)
    return System.model_validate(settings)


def _check_as_paid_for(path: Path, begun: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with a replay as paid for, or the other way: both have one identity, and the
    run's cost could no longer be told. Nor has a run other replies than its own."""
    for role in ("model", *MODULES):
        was = begun.get(role) or begun.get("roles", {}).get(role) or begun["model"]
        spec = now.get(role) or now.get("roles", {}).get(role) or now["model"]
        option = "--" + role
        if is_replay(was) != is_replay(spec):
            how = "started as a replay" if is_replay(was) else "not started as a replay"
            problem = f"this run was {how}, and {spec} would change what it cost"
            raise InputError(problem, where=option, remedy="start a new run with it")
        if is_replay(spec) and ModelSpec.parse(spec).run.resolve() == path.resolve():
            raise InputError(
                "a run cannot replay itself", where=option, remedy="name the run that it replays"
            )


def with_kept_keys(given: Keys, system: Mapping[str, Any], where: str) -> Keys:
    """The keys that are given now, before those that the run names. Raises InputError."""
    kept = system.get("keys") or {}
    if not isinstance(kept, Mapping) or not all(isinstance(name, str) for name in kept.values()):
        raise InputError("the keys that the run names cannot be read", where=where)
    return given.over(kept)


def tell_kept_keys(keys: Keys, given: Keys, where: str) -> None:
    """Warn, before they are sent, of keys that the run names and the user did not."""
    for host, name in keys.variables.items():
        if host not in given.variables:
            warn(f"{where}: the run sends {name} to {host}")


def check_same_system(path: Path, meta: Mapping[str, Any], agent: "Agent") -> None:
    """Raise InputError where the agent is not the one that began the run, by what differs."""
    if agent.digest != meta["system_digest"]:
        was, now = meta["identity"], dict(agent.identity)
        changed = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
        problem = f"the system is not the one that started this run (changed: {', '.join(changed)})"
        raise InputError(problem, where=str(path), remedy=_remedy(path, changed, agent))
    if meta["version"] != (now_version := version("branchwise")):
        warn(f"{path}: begun by branchwise {meta['version']}, continued by {now_version}")


def _remedy(path: Path, changed: Sequence[str], agent: "Agent") -> str:
    if "prompts" in changed:
        return (
            f"its prompts are not those of the set {agent.prompts.of}: name the set that it began "
            f"with (`branchwise resume {path} --prompt-set NAME`), or start a new run with "
            "`branchwise run`"
        )
    for option, (part, key) in _MAY_MOVE.items():
        if list(changed) == [key]:
            return (
                f"if the {part} of this run has moved: `branchwise resume {path} "
                f"--{option} DIR`; for another one start a new run"
            )
    return "restore it, or start a new run with `branchwise run`"


def with_absolute_paths(system: System) -> System:
    """The system, named so that the run can be resumed from any folder."""
    paths = {
        setting.name: str(Path(value).resolve())
        for setting in SETTINGS
        if setting.setting.holds in ("folder", "kg")
        and (value := getattr(system, setting.name)) is not None
        and not is_address(value)
    }
    if system.retriever:
        paths["retriever"] = absolute_name(system.retriever)
    roles = {role: located(spec) for role, spec in system.roles if spec is not None}
    models = {"model": located(system.model), "roles": system.roles.model_copy(update=roles)}
    specs = {
        name: tuple(absolute_spec(spec) for spec in named)
        for name in ("tools", "nodes")
        if (named := getattr(system, name)) is not None
    }
    return system.model_copy(update=paths | models | specs)
