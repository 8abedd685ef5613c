"""Paths in a study file: relative to the file, so that it works from any folder."""

import difflib
from itertools import islice
from pathlib import Path

from branchwise.corpora.graph.open import is_address
from branchwise.corpora.open import needs_corpus

FLASHRAG = "flashrag:"
_PATHS = frozenset({"corpus", "kg", "prompts"})
_MOST_NEIGHBOURS = 2000


def is_elsewhere(key: str, text: str) -> bool:
    """Whether a value of this key is an address, or a retriever that brings its own corpus."""
    if key == "retriever":
        return not needs_corpus(text)
    return key == "kg" and is_address(text)


def resolved(key: str, text: str, folder: Path) -> str:
    """A value with the path in it made absolute, as a system keeps it."""
    if key == "retriever" and text.startswith(FLASHRAG):
        return FLASHRAG + str(absolute(text.removeprefix(FLASHRAG), folder))
    if key not in _PATHS or is_elsewhere(key, text):
        return text
    return str(absolute(text, folder))


def absolute(text: str, folder: Path) -> Path:
    """A path of a study in `folder`; ~ is the user's home."""
    path = Path(text)
    if path.parts[:1] == ("~",):
        path = Path.home().joinpath(*path.parts[1:])
    return (folder / path).resolve()


def near_paths(path: Path, written: str) -> str:
    """A question that names what lies beside a path that is missing and is called nearly so."""
    try:
        names = [entry.name for entry in islice(path.parent.iterdir(), _MOST_NEIGHBOURS)]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {Path(written).with_name(near[0])}?" if near else ""


def question_source(source: str, folder: Path) -> tuple[str, Path | None]:
    """What `load_questions` takes for a source as a study in `folder` writes it, and the file that
    it means (None where it is none here).

    A prefix such as `condambigqa:` stays before the path; what exists as a file is a file.
    """
    whole = absolute(source, folder)
    prefix, colon, rest = source.partition(":")
    if whole.exists() or not (colon and prefix.isidentifier() and len(prefix) > 1):
        return str(whole), whole
    if prefix == "hf" or not rest.strip():
        return source, None
    path = absolute(rest, folder)
    return f"{prefix}:{path}", path
