"""Paths in a study file: relative to the file, so that it works from any folder."""

import stat
from itertools import islice
from pathlib import Path
from typing import Literal

from branchwise.agents.spec import REPLAY, ModelSpec, is_replay, located
from branchwise.base.errors import nearest
from branchwise.corpora.kinds import FLASHRAG
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.loaders.source import HUB
from branchwise.corpora.open import absolute_name, is_plugin_retriever, needs_corpus
from branchwise.kg.open import is_address
from branchwise.runs.studies.settings import FIELDS

_MOST_NEIGHBOURS = 2000


def is_elsewhere(key: str, text: str) -> bool:
    """Whether a value of this key is an address, or a retriever that brings its own corpus."""
    holds = FIELDS[key].setting.holds
    if holds == "retriever":
        return not needs_corpus(text)
    try:
        return holds == "kg" and is_address(text)
    except ValueError:  # an address with brackets that do not close
        return True


def resolved(key: str, text: str, folder: Path) -> str:
    """A value with the path in it made absolute, as a system keeps it."""
    holds = FIELDS[key].setting.holds
    if holds == "model" and is_replay(text):
        return f"{REPLAY}{absolute(str(ModelSpec.parse(text).run), folder)}"
    if holds == "model":
        return located(text)
    if holds == "retriever" and text.startswith(FLASHRAG):
        return FLASHRAG + str(absolute(text.removeprefix(FLASHRAG), folder))
    if holds == "retriever" and is_plugin_retriever(text):
        return absolute_name(text, folder)
    if holds in ("value", "retriever") or is_elsewhere(key, text):
        return text
    return str(absolute(text, folder))


def absolute(text: str, folder: Path) -> Path:
    """A path of a study in `folder`; ~ is the user's home."""
    path = Path(text)
    if path.parts[:1] == ("~",):
        path = Path.home().joinpath(*path.parts[1:])
    try:
        return (folder / path).resolve()
    except OSError:  # a folder on the way may not be read
        return folder / path


def kind_of(path: Path) -> Literal["file", "folder", "neither"] | None:
    """What a path leads to; None if nothing is there or it may not be seen."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "neither"


def near_paths(path: Path, written: str) -> str:
    """The remedy for a missing path: a similar name in its folder, else where it was looked for."""
    whole = f"paths are relative to the study file: {str(path)[:300]}"
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), _MOST_NEIGHBOURS)]
    except OSError:
        return whole
    others = [name for name in names if name != path.name]
    near = nearest(path.name, others)
    return f"did you mean {Path(written).with_name(near[0])}?" if near else whole


def question_source(source: str, folder: Path) -> tuple[str, Path | None]:
    """What `load_questions` takes for a source as a study in `folder` writes it, and the file that
    it means (None where it is none here).

    A prefix such as `condambigqa:` stays before the path, and a split behind it; what exists as a
    file is a file.
    """
    whole = absolute(source, folder)
    prefix, colon, rest = source.partition(":")
    if kind_of(whole) or not (colon and prefix.isalnum() and len(prefix) > 1):
        return str(whole), whole
    if prefix not in FORMS or HUB in (prefix, rest.partition(":")[0]) or not rest.strip():
        return source, None
    path, outer = absolute(rest, folder), absolute(rest.rpartition(":")[0], folder)
    is_split = not kind_of(path) and kind_of(outer) == "file"
    return f"{prefix}:{path}", outer if is_split else path
