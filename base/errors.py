"""Input that the user can mend, as one line: errors, missing extras, warnings."""

import difflib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import NoReturn

_LONGEST = 1_000
_SHORT = 3
"""Letters that may stand for the name that they begin."""
_MOST_NAMED = 60
"""Known names that a refusal lists."""
_OPTIONS = {"role_decoding": "role", "tools": "tool"}
"""Options that are not called as their fields are."""


class InputError(Exception):
    """Bad input: a file, an option, a spec. The command line prints it and exits with 2.

    The message is one line: where, what is wrong, what to do about it, each of bounded length.
    """

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        super().__init__()
        self._tell(_cut(what), where and _cut(where), remedy and _cut(remedy))

    def put(self, words: Callable[[str], str]) -> None:
        """Say the same in other words."""
        where, remedy = self.where and words(self.where), self.remedy and words(self.remedy)
        self._tell(words(self.what), where, remedy)

    def _tell(self, what: str, where: str | None, remedy: str | None) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        parts = f"{where}: {what}" if where else what
        self.args = (" ".join(f"{parts}; {remedy}".split() if remedy else parts.split()),)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of our frames, which say nothing of an input."""
        return [f"{type(self).__name__}: {self}"]


class DamagedDataError(InputError):
    """What is searched (a corpus, an index, a graph) is not what was built: a pass over questions
    ends, since what its other searches found could be wrong as well."""


Refuse = Callable[[str, InputError], None]
"""Takes bad input behind the kind of mistake that it is ("not-json"): raises it, or notes it."""


def raising(kind: str, error: InputError) -> NoReturn:
    """Refuse by raising: the first mistake ends the reading."""
    raise error


class SettingNames:
    """How a place writes the settings of these fields: as the command line, or as a subclass."""

    def name(self, setting: str) -> str:
        """The setting itself: `--corpus`."""
        return f"--{_OPTIONS.get(setting, setting)}".replace("_", "-")

    def add(self, setting: str, value: str = "") -> str:
        """What to do where it is missing: `add --corpus DIR`."""
        return f"add {self.name(setting)} {value}".rstrip()


FLAGS = SettingNames()


class SettingError(InputError):
    """A setting that does not fit the others, or what it names; `setting`: its field's name."""

    def __init__(
        self, setting: str, what: str, *, where: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(what, where=where, remedy=remedy)
        self.setting = setting


def _cut(text: str) -> str:
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"


def did_you_mean(
    name: str, known: Iterable[str], *, else_: str = "", most: int = 1, cutoff: float = 0.6
) -> str:
    """The nearest known names as a question, or the one it begins; else `else_`, or all of them, of
    many the first."""
    names = list(dict.fromkeys(known))
    near = nearest(name, names, most, cutoff)
    if not near and len(name) >= _SHORT:
        longer = [other for other in names if other.casefold().startswith(name.casefold())]
        near = longer if len(longer) == 1 else []
    if near:
        return f"did you mean {' or '.join(near)}?"
    listed = [repr(name) if ", " in name else name for name in names]
    if not else_ and len(names) > _MOST_NAMED:
        else_ = f"there are {len(names):,}, the first are {', '.join(listed[:3])}"
    return else_ or f"known are {', '.join(listed)}"


def nearest(name: str, known: Iterable[str], most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Up to `most` known names of a likeness (`difflib`, 0 to 1) of `cutoff`, in any case."""
    folded = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(name[:200].casefold(), folded, n=most, cutoff=cutoff)
    return [folded[other] for other in near]


_MODULES: Mapping[str, tuple[str, ...]] = {
    "local": ("sentence_transformers", "faiss"),
    "flashrag": ("flashrag",),
    "mcp": ("mcp", "langchain_mcp_adapters", "starlette", "uvicorn"),
    "serve": ("starlette", "uvicorn"),
    "parquet": ("pyarrow",),
    "datasets": ("datasets",),
    "notebook": ("pandas",),
    "ray": ("ray",),
}


def missing(modules: Iterable[str]) -> list[str]:
    """Those of the modules that are not installed."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


def require(
    extra: str, doing: str, where: str | None = None, modules: tuple[str, ...] = ()
) -> None:
    """Raise InputError where one of `modules`, by default of `extra`, is missing for `doing`."""
    lacking = missing(modules or _MODULES[extra])
    if lacking:
        names = " and ".join(filter(None, (", ".join(lacking[:-1]), lacking[-1])))
        raise InputError(
            f"{doing} needs {names}, which {'is' if len(lacking) == 1 else 'are'} not installed",
            where=where,
            remedy=f"pip install 'branchwise[{extra}]'",
        )


_OURS = "branchwise"


class StoppedWarning(UserWarning):
    """A run stopped before its end. Commands say so in their own way."""


def warn(message: str, category: type[UserWarning] = UserWarning) -> None:
    """Warn of something that is not refused; in Python at the line that called the package."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
