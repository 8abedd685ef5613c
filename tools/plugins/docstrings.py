"""What a docstring says about a function and its parameters.

Parameters are described as `` `title`: words `` in the text, or in a section: Google's `Args:`,
NumPy's `Parameters` with its underline, or Sphinx's `:param title: words`.
"""

import inspect
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from branchwise.corpora.text import one_line

_INLINE = r"(?:^[ \t]*[-*][ \t]+)?`{1,2}(%s)`{1,2}:[ \t]*"
_SPHINX = re.compile(r"^:param(?:\s+[^:]+?)?\s+(\w+):\s*(.*)$")
_GOOGLE = re.compile(r"^(?:Args|Arguments|Parameters):$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")


@dataclass
class Described:
    """`text`: about the function; `parameters`: descriptions by name; `unknown`: other names."""

    text: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def read_docstring(doc: str, parameters: Collection[str]) -> Described:
    """Divide a docstring. A name in a section that is not a parameter is kept as `unknown`."""
    found = Described()
    lines = _without_sections(inspect.cleandoc(doc).splitlines(), found)
    text = _without_inline("\n".join(lines), parameters, found)
    found.text = re.sub(r"\n{3,}", "\n\n", text).strip()
    found.unknown = [name for name in found.parameters if name not in parameters]
    return found


def _without_inline(text: str, parameters: Collection[str], found: Described) -> str:
    """Take out `` `name`: words ``, each up to the next one or the end of its paragraph."""
    if not parameters:
        return text
    names = re.compile(_INLINE % "|".join(map(re.escape, parameters)), re.MULTILINE)
    paragraphs = re.split(r"\n[ \t]*\n", text)
    kept = []
    for paragraph in paragraphs:
        first, *rest = names.split(paragraph)
        for name, words in zip(rest[::2], rest[1::2], strict=True):
            found.parameters.setdefault(name, one_line(words))
        kept.append(first.rstrip())
    return "\n\n".join(part for part in kept if part)


def _without_sections(lines: Sequence[str], found: Described) -> list[str]:
    kept: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        if match := _SPHINX.match(line):
            end = _indented_end(lines, at + 1, _indent(lines[at]))
            _add(found, match[1], [match[2], *lines[at + 1 : end]])
        elif _GOOGLE.match(line) and _indent(lines[at]) == 0:
            end = _indented_end(lines, at + 1, 0)
            _read_google(lines[at + 1 : end], found)
        elif line == "Parameters" and at + 1 < len(lines) and set(lines[at + 1].strip()) == {"-"}:
            end = _numpy_end(lines, at + 2)
            _read_numpy(lines[at + 2 : end], found)
        else:
            kept.append(lines[at])
            end = at + 1
        at = end
    return kept


def _read_google(lines: Sequence[str], found: Described) -> None:
    written = [line for line in lines if line.strip()]
    depth = min(map(_indent, written), default=0)
    name, words = "", list[str]()
    for line in written:
        match = _GOOGLE_ITEM.match(line.strip()) if _indent(line) == depth else None
        if match:
            _add(found, name, words)
            name, words = match[1], [match[2]]
        else:
            words.append(line)
    _add(found, name, words)


def _read_numpy(lines: Sequence[str], found: Described) -> None:
    names, words = list[str](), list[str]()
    for line in [*filter(str.strip, lines), ""]:
        match = _NUMPY_ITEM.match(line) if _indent(line) == 0 else None
        if match or not line:
            for name in names:
                _add(found, name, words)
            names = re.split(r"\s*,\s*", match[1]) if match else []
            words = []
        else:
            words.append(line)


def _add(found: Described, name: str, words: Sequence[str]) -> None:
    if name:
        found.parameters.setdefault(name, one_line(" ".join(words)))


def _indented_end(lines: Sequence[str], start: int, depth: int) -> int:
    """Where a section ends: at the first non-empty line that is not indented deeper."""
    end = start
    for at in range(start, len(lines)):
        if lines[at].strip() and _indent(lines[at]) <= depth:
            break
        end = at + 1
    return end


def _numpy_end(lines: Sequence[str], start: int) -> int:
    """Where NumPy's section ends: at the next underlined heading."""
    for at in range(start, len(lines) - 1):
        under = lines[at + 1].strip()
        if lines[at].strip() and len(under) > 2 and set(under) == {"-"}:
            return at
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
