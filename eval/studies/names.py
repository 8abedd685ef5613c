"""What the systems of a study are called, and the names of their folders."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from branchwise.agents.spec import REPLAY, ModelSpec
from branchwise.corpora.errors import InputError
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.plugins.specs import is_mcp, is_plugin, short_spec
from branchwise.corpora.text import printable
from branchwise.eval.studies.settings import FIELDS, MODELS, Value, flat

BASE = "base"
MAX_NAME, MAX_SLUG, _MAX_VALUE = 80, 60, 40


def system_name(
    changes: Mapping[str, Value], base: Mapping[str, Value], levels: Mapping[str, Sequence[Value]]
) -> str:
    """What differs from the base, in words: "+expansion, k=15"; "base" if nothing does.

    `base`: its value of each factor; `levels`: all values of each factor, which tell how much of
    one must be said.
    """
    parts = [_change(key, value, base[key], levels[key]) for key, value in changes.items()]
    return _bounded(", ".join(parts), MAX_NAME) if parts else BASE


def _change(key: str, value: Value, before: Value, levels: Sequence[Value]) -> str:
    if isinstance(value, bool):
        return f"+{key}" if value else f"-{key}"
    if key == "tools":
        return f"tools: {_bounded(_tools(value, before), _MAX_VALUE + 20)}"
    if isinstance(value, Mapping):
        return f"{key}: {_bounded(flat(value) or FIELDS[key].setting.none, _MAX_VALUE + 20)}"
    brief = [_brief(key, one) for one in levels]
    own = _brief(key, value)
    said = own if brief.count(own) == 1 else str(value)
    is_named = key == "retriever" and value is not None and is_plugin_retriever(str(value))
    return f"{key}{' ' if is_named else '='}{_bounded(said, _MAX_VALUE)}"


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
    if "://" not in text and FIELDS[key].setting.holds in ("folder", "graph", "retriever"):
        return Path(text).name or text
    return text


def _bounded(text: str, most: int) -> str:
    """Printable, and its two ends where it is too long: what differs is often at the end."""
    text = printable(text)
    if len(text) <= most:
        return text
    half = (most - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names, repeated ones with a number appended."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, chosen = 2, name
        while chosen in taken:
            chosen, number = f"{name} ({number})", number + 1
        taken.add(chosen)
        found.append(chosen)
    return found


def slugs(names: Iterable[str]) -> list[str]:
    """For each name one of a folder: lower-case letters, digits, . _ and -, each once, also where
    case does not tell files apart.
    """
    taken: set[str] = set()
    found = []
    for name in names:
        slug = _slug(name)
        number, chosen = 2, slug
        while chosen in taken:
            ending = f"-{number}"
            chosen, number = slug[: MAX_SLUG - len(ending)] + ending, number + 1
        taken.add(chosen)
        found.append(chosen)
    return found


def _slug(name: str) -> str:
    without = re.sub(r"(^|[ ,])-(?=\w)", r"\1no-", name)
    slug = re.sub(r"[^a-z0-9._]+", "-", without.lower())
    return re.sub(r"\.{2,}", ".", slug)[:MAX_SLUG].strip("-._") or "system"
