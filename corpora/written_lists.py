"""Several values where a reader expects one: a list that is written as text, a key that repeats.

Lists are written so by `str` of Python's and NumPy's (https://numpy.org/doc/stable/reference/
generated/numpy.array2string.html), which pandas does when it saves a table, and by models that put
JSON into a text. What only begins with a bracket is a text.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any

import orjson

MAX_WRITTEN = 100_000
"""Characters of a text that may be a list."""
_AROUND = re.compile(
    r"(?:(?:np\.|numpy\.)?array|list|tuple|set)\((.*?)(?:,\s*dtype=[^)]*)?\)", re.DOTALL
)
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ITEM = re.compile(
    rf"(?:np\.\w+\()?(?P<quoted>{_QUOTED})\)?|(?:np\.\w+\()?(?P<number>-?\d+(?:\.\d+)?)\)?"
    r"|(?P<nothing>None|null|nan|NaN)",
    re.DOTALL,
)
_BETWEEN = re.compile(r"(\s*,\s*)|\s+")
_CLOSES = {"[": "]", "(": ")", "{": "}"}


def written_list(text: str) -> list[Any] | None:
    """The members of the list that a text is, texts, numbers or lists of them; None of any other.
    As JSON or Python write it, or as NumPy does, without commas; a tuple or a set where its members
    are quoted. Nothing (None, nan) is no member. In time linear in the length of the text."""
    text = text.strip()
    if not text or len(text) > MAX_WRITTEN or text[-1] not in "])}":
        return None
    if text[0] not in _CLOSES:
        around = _AROUND.fullmatch(text)
        text = around[1].strip() if around else ""
    if not text or _CLOSES.get(text[0]) != text[-1]:
        return None
    if text[0] == "[":
        try:
            listed = orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
        else:
            return [member for member in listed if member is not None]
    flat = _flat(text)
    return _nested(text) if flat is None and text[0] == "[" else flat


def members(value: Any) -> list[Any]:
    """The members of a list, also written as a text or in its texts; else the value alone."""
    if isinstance(value, str):
        listed = written_list(value)
        return [value] if listed is None else listed
    if not isinstance(value, list):
        return [value]
    parts = (members(part) if isinstance(part, str) else [part] for part in value)
    return [member for part in parts for member in part]


def joined(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An `object_pairs_hook` for `json`: what repeated keys hold becomes one list or object."""
    merged: dict[str, Any] = {}
    for key, value in pairs:
        merged[key] = _both(merged[key], value) if key in merged else value
    return merged


def _both(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return joined([*first.items(), *second.items()])
    if first == second or second is None:
        return first
    if not first:
        return second
    both = (value if isinstance(value, list) else [value] for value in (first, second))
    return [member for members in both for member in members]


def _flat(text: str) -> list[Any] | None:
    """Members between brackets, with commas or, in square ones, with spaces between them."""
    end, flat, has_comma = len(text) - 1, list[Any](), False
    at = len(text) - len(text[1:].lstrip())
    while at < end:
        item = _ITEM.match(text, at, end)
        if item is None:
            return None
        if item["quoted"]:
            try:
                flat.append(ast.literal_eval(item["quoted"]))
            except (ValueError, SyntaxError):
                return None
        elif item["number"]:
            flat.append(orjson.loads(item["number"]) if text[0] == "[" else item["number"])
        at = item.end()
        between = _BETWEEN.match(text, at, end)
        if between is None:
            if at < end:
                return None
            break
        has_comma = has_comma or bool(between[1])
        at = between.end()
    if text[0] == "[":
        return flat
    is_quoted = bool(flat) and all(isinstance(member, str) for member in flat)
    return flat if is_quoted and (has_comma or text[0] == "{") else None


def _nested(text: str) -> list[Any] | None:
    # Python joins texts without a comma between them, where NumPy means two.
    if re.search(r"""['"]\s+['"]|\]\s*\[""", text):
        return None
    try:
        listed = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    return [member for member in listed if member is not None] if isinstance(listed, list) else None
