"""What the systems of a study are called, and the names of their folders."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from branchwise.agents.spec import REPLAY, ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import is_mcp, is_plugin, short_spec
from branchwise.base.text import printable
from branchwise.corpora.open import is_plugin_retriever
from branchwise.runs.studies.study import FIELDS, MODEL, MODELS, Value, flat

BASE = "base"
MAX_NAME, MAX_SLUG, _MAX_VALUE = 80, 60, 40


def system_name(
    changes: Mapping[str, Value],
    base: Mapping[str, Value],
    levels: Mapping[str, Sequence[Value]],
    model: str | None = None,
) -> str:
    """What differs from the base: "+expansion, k=15", or "base"; `levels`: all values of each
    factor, which tell how much of one must be said; `model`: the name to begin with."""
    parts = [_change(key, change, base.get(key), levels[key]) for key, change in changes.items()]
    return _bounded(", ".join([model, *parts] if model else parts or [BASE]), MAX_NAME)


def run_name(set: str, system: str, sets: int, systems: int, between: str = ": ") -> str:
    """What the run of a system over a set is called, where there are so many of both: by the set
    where there is one system, by the system where there is one set, else by both."""
    if systems == 1:
        return set
    return system if sets == 1 else f"{set}{between}{system}"


def setting_name(base: Mapping[str, Value], own: Mapping[str, Value]) -> str:
    """In which settings a system differs from its base, in words, the model aside."""
    # A node, or a setting of a plug-in, that one of the two lacks is off there.
    values = {key: (base.get(key, False), own.get(key, False)) for key in {**own, **base}}
    levels = {key: both for key, both in values.items() if both[0] != both[1] and key != MODEL}
    return system_name({key: changed for key, (_, changed) in levels.items()}, base, levels)


def model_names(specs: Sequence[str]) -> list[str]:
    """A short name for each model, with its server where the models' own names are the same."""
    return distinct_names(_bounded(in_short(MODEL, spec, specs), _MAX_VALUE) for spec in specs)


def _change(key: str, value: Value, before: Value, levels: Sequence[Value]) -> str:
    if isinstance(value, bool):
        return f"+{key}" if value else f"-{key}"
    if key == "tools":
        return f"tools: {_bounded(_tools(value, before), _MAX_VALUE + 20)}"
    if isinstance(value, Mapping):
        return f"{key}: {_bounded(flat(value) or _brief(key, None), _MAX_VALUE + 20)}"
    is_named = key == "retriever" and value is not None and is_plugin_retriever(str(value))
    return f"{key}{' ' if is_named else '='}{_bounded(in_short(key, value, levels), _MAX_VALUE)}"


def in_short(key: str, value: Value, levels: Sequence[Value]) -> str:
    """A value in short, or as it is written where another of the levels is the same in short."""
    own = _brief(key, value)
    return own if [_brief(key, level) for level in levels].count(own) == 1 else str(value)


def _tools(value: Value, before: Value) -> str:
    """What is added and taken away, else the whole list."""
    if not isinstance(value, tuple):
        return "all"
    if isinstance(before, tuple):
        added = [f"+{_tool(name)}" for name in value if name not in before]
        gone = [f"-{_tool(name)}" for name in before if name not in value]
        if value and (added or gone) and len(added) + len(gone) <= len(value) + 1:
            return " ".join(added + gone)
    return " ".join(map(_tool, value)) or "none"


def _tool(spec: str) -> str:
    """A tool's name: of a plug-in, what stands behind its file or module."""
    return spec.rpartition(":")[2] if is_plugin(spec) and not is_mcp(spec) else spec


def _brief(key: str, value: Value) -> str:
    """A value as short as it can be read: a model without its server, a path's last part."""
    if key not in FIELDS:
        return str(value)
    if value is None:
        return FIELDS[key].setting.none
    text = str(value)
    if key in MODELS:
        try:
            spec = ModelSpec.parse(text)
            return f"{REPLAY}{spec.run.name}" if spec.provider == "replay" else spec.name
        except InputError:
            return text
    if key == "retriever" and is_plugin_retriever(text):
        return short_spec(text)
    if "://" not in text and FIELDS[key].setting.holds in ("folder", "kg", "retriever"):
        return Path(text).name or text
    return text


def _bounded(text: str, most: int) -> str:
    text = printable(text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2  # both ends: what differs is often at the end
    return f"{text[:half]}…{text[-half:]}"


def distinct_names(
    names: Iterable[str], numbered: Callable[[str, int], str] = "{} ({})".format
) -> list[str]:
    """The names, repeated ones with a number appended."""
    chosen: dict[str, None] = {}
    for name in names:
        number, free = 2, name
        while free in chosen:
            free, number = numbered(name, number), number + 1
        chosen[free] = None
    return list(chosen)


def slugs(names: Iterable[str]) -> list[str]:
    """For each name one of a folder: lower-case letters, digits, . _ and -, each once."""

    def numbered(slug: str, number: int) -> str:
        ending = f"-{number}"
        return slug[: MAX_SLUG - len(ending)] + ending

    def slug(name: str) -> str:
        without = re.sub(r"(^|[ ,])-(?=\w)", r"\1no-", name)
        plain = re.sub(r"[^a-z0-9._]+", "-", without.lower())
        return re.sub(r"\.{2,}", ".", plain)[:MAX_SLUG].strip("-._") or "system"

    return distinct_names(map(slug, names), numbered)
