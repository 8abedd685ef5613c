"""Errors in a study file, each in one line: where, what, and the nearest valid name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.setting import words_of
from branchwise.base.yaml_lines import KeyPath, line_of, shown
from branchwise.runs.studies.study import FACTORS, FIELDS, MODEL_LIST, Questions, Study


class StudyError(Exception):
    """An error in a study that its author can fix; `place`: the wrong value."""

    def __init__(self, what: str, place: KeyPath, remedy: str | None = None) -> None:
        super().__init__(what)
        self.what, self.place, self.remedy = what, place, remedy

    def located(self, where: str) -> InputError:
        return InputError(self.what, where=where, remedy=self.remedy)


def first_error(
    error: ValidationError, lines: Mapping[KeyPath, int], nodes: Iterable[str] = ()
) -> StudyError:
    """The first error to show of pydantic's: a misspelt key before a missing one, then by line."""
    found = error.errors(include_url=False)
    order = [(one["type"] == "missing", line_of(lines, _place(one["loc"]))) for one in found]
    problem = found[order.index(min(order))]
    place, kind = _place(problem["loc"]), problem["type"]
    if kind == "extra_forbidden":
        return _unknown(place, list(nodes))
    if kind == "missing":
        name = str(place[-1])
        return StudyError(f"{name} is missing", place[:-1], _MISSING.get(name))
    if kind in ("study", "setting"):
        place = (*place, *problem["ctx"].get("place", ()))
        said = str(problem["msg"])
        mark = ":" if said.startswith("unknown ") else ""
        return StudyError(f"{_named(place)}{mark} {said}", place, problem["ctx"]["remedy"])
    value = shown(problem["input"])
    remedy = _wanted(place, kind, problem["input"], problem.get("ctx", {}))
    return StudyError(f"{_named(place)} is {value}", place, remedy)


_MISSING = {
    "name": "write name: and a short one",
    "questions": "write questions: and the file that `branchwise run --questions` takes",
    "source": "write source: and the file of the questions",
    "factors": "write what is varied, as in factors: {expansion: [off, on]}",
}
_WHOLE = "write a whole number"
_TYPES = {
    "bool_type": "write on or off",
    "int_type": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": "write a number",
    "finite_number": "write a finite number",
    "string_pattern_mismatch": "write letters, digits, - _ . and begin with a letter or digit",
    "model_type": "write keys and values below it",
    "dict_type": "write keys and values below it",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def _place(loc: Sequence[int | str]) -> KeyPath:
    """Where in the file; pydantic names the alternatives of a union in between."""
    if loc[:2] == ("questions", "ids"):
        return (*loc[:2], *(part for part in loc[2:] if isinstance(part, int)))
    return tuple(loc)


def _named(place: KeyPath) -> str:
    keys = [part for part in place if isinstance(part, str)]
    return str(keys[-1]) if keys else "the file"


def _unknown(place: KeyPath, nodes: Sequence[str]) -> StudyError:
    section, name = place[:-1], str(place[-1])
    what, known = "unknown key", list(Study.model_fields)
    if section == ("base",):
        known = [*FIELDS, MODEL_LIST, *nodes]
    elif section == ("factors",):
        what, known = "unknown factor", [*FACTORS, *nodes]
    elif section == ("questions",):
        known = list(Questions.model_fields)
    remedy = _elsewhere(section, name) or did_you_mean(_as_written(name), known)
    return StudyError(f"{what} {shown(name)}", place, remedy)


def _as_written(name: str) -> str:
    """An option of the command line as a key: --max-turns is max_turns here."""
    return name.lstrip("-").replace("-", "_")


def _elsewhere(section: KeyPath, name: str) -> str | None:
    if section == ("factors",) and name in FIELDS and name not in FACTORS:
        return "all systems are scored alike: write it at the top of the file"
    if section in (("base",), ("factors",)) and name in Study.model_fields:
        return "write it at the top of the file"
    if name in Questions.model_fields and section != ("questions",):
        return "write it below questions"
    if name == MODEL_LIST and section != ("base",):
        return "write it below base"
    return "write it below base" if not section and name in FIELDS else None


def _wanted(place: KeyPath, kind: str, value: Any, context: Mapping[str, Any]) -> str:
    if bound := _BOUNDS.get(kind):
        return f"write {bound[1]} {context[bound[0]]:,}".removesuffix(".0")
    if kind == "string_too_long":
        return f"write at most {context['max_length']} characters"
    if kind == "string_type":
        return "put it in quotes" if not isinstance(value, dict | list | None) else "write a text"
    if kind == "tuple_type":
        return _list_wanted(place, value)
    if kind == "literal_error":
        words = words_of({"ctx": context})
        return did_you_mean(str(value), words, else_=f"write {' or '.join(words)}")
    return _TYPES.get(kind, "see examples/studies")


def _list_wanted(place: KeyPath, value: Any) -> str:
    is_plain = isinstance(value, bool | str | int | float)
    example = value if isinstance(value, str) else shown(value) if is_plain else "..."
    if value == "none":
        return "write [] for no tools"
    if place[0] == "factors":
        if len(place) > 2:
            return f"each value of tools is a list of tools: write [[{example[:40]}], [...]]"
        return f"write a list of values, as in [{example[:40]}, ...]"
    return f"write a list, as in [{example[:40]}]"
