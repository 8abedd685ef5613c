"""YAML as plain values with line numbers: bounded, and without constructing Python objects."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.base.errors import InputError
from branchwise.base.files import open_data
from branchwise.base.text import cut

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 2**20
MAX_VALUES = 50_000
MAX_DEPTH = 20

KeyPath = tuple[str | int, ...]
"""Keys and numbers of list entries, from the outside in: ("factors", "k", 1)."""

_TAG = "tag:yaml.org,2002:"
_MAP, _LIST, _TEXT, _MERGE = f"{_TAG}map", f"{_TAG}seq", f"{_TAG}str", f"{_TAG}merge"
_BEGUN = {
    "while scanning a simple key",
    "while scanning a quoted scalar",
    "while parsing a flow sequence",
    "while parsing a flow mapping",
}
_SHORT = {f"{_TAG}{kind}" for kind in ("int", "float", "bool", "null", "timestamp")}


@dataclass(frozen=True)
class Document:
    """A YAML file: its values, and the line (from 1) of every key and list entry by its place."""

    value: Any
    lines: Mapping[KeyPath, int]


def line_of(lines: Mapping[KeyPath, int], place: KeyPath) -> int:
    """The line of the deepest part of a place that the file has; 1 where it has none."""
    for end in range(len(place), 0, -1):
        if (line := lines.get(place[:end])) is not None:
            return line
    return 1


def read_document(path: Path, *, wanted: str, remedy: str) -> Document:
    """Read a file of one YAML document. `wanted`: what the file should be; `remedy`: what helps.

    Texts, numbers, booleans, null, dates, lists and mappings by text keys; anchors and aliases as
    far as they come to `MAX_VALUES` values when written out. Raises InputError, naming file and
    line, for anything else: invalid YAML, a repeated key, a tag, a merge key, nesting deeper
    than `MAX_DEPTH`, more than `MAX_BYTES`.
    """
    import yaml

    def not_yaml(problem: str, where: str) -> InputError:
        return InputError(f"is not YAML ({problem})", where=where, remedy=remedy)

    text = _text(path, wanted)
    try:
        loader = _loader(text)
        root = loader.get_single_node()
        reading = _Reading(path, loader)
        value = None if root is None else reading.value(root, ())
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position or 0) + 1
        raise not_yaml("a character that YAML does not allow", f"{path}:{line}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.context in _BEGUN and error.context_mark:
            # An unclosed construct is noticed lines later, but must be fixed where it begins.
            mark = error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        raise not_yaml(error.problem or error.context or "", where) from None
    except RecursionError:
        raise not_yaml("nested too deeply", f"{path}:1") from None
    return Document(value, reading.lines)


def _loader(text: str) -> "yaml.SafeLoader":
    """One that stops at the first value too many, so that a large file does not take long."""
    import yaml

    class Loader(yaml.SafeLoader):
        count = 0

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            self.count += 1
            if self.count > MAX_VALUES:
                mark: yaml.Mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                problem = f"more than {MAX_VALUES:,} values"
                raise yaml.MarkedYAMLError(None, None, problem, mark)
            return super().compose_node(parent, index)

    return Loader(text)


def _text(path: Path, wanted: str) -> str:
    with open_data(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError("is larger than 1 MiB", where=str(path), remedy=f"name {wanted}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8 text", where=f"{path}:{line}") from None


@dataclass
class _Reading:
    """Turns nodes into values. An alias is expanded, and counted, where it is used: so exponential
    expansion ends at the bound."""

    path: Path
    loader: "yaml.SafeLoader"
    lines: dict[KeyPath, int] = field(default_factory=dict)
    count: int = 0

    def value(self, node: "yaml.Node", place: KeyPath) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._refusal(node, f"holds more than {MAX_VALUES:,} values", "shorten it")
        if len(place) > MAX_DEPTH:
            raise self._refusal(node, "is nested too deeply", "write it flatter")
        if node.tag == _MAP:
            return {k: self.value(inner, (*place, k)) for k, inner in self._pairs(node, place)}
        if node.tag != _LIST:
            return self._scalar(node)
        values = []
        for n, inner in enumerate(node.value):
            self.lines[*place, n] = inner.start_mark.line + 1
            values.append(self.value(inner, (*place, n)))
        return values

    def _pairs(self, node: "yaml.Node", place: KeyPath) -> "Iterator[tuple[str, yaml.Node]]":
        seen: dict[str, int] = {}
        for key_node, inner in node.value:
            key, line = self._key(key_node), key_node.start_mark.line + 1
            if (first := seen.setdefault(key, line)) != line or (*place, key) in self.lines:
                where = f", first in line {first}" if first != line else ""
                what = f"{shown(key)} is repeated here{where}"
                raise self._refusal(key_node, what, "keep one of them")
            self.lines[*place, key] = line
            yield key, inner

    def _key(self, node: "yaml.Node") -> str:
        if node.tag == _MERGE:
            raise self._refusal(node, "merge keys (<<) are not read", "write the keys out")
        key = self._scalar(node) if not isinstance(node.value, list) else None
        if not isinstance(key, str):
            raise self._refusal(node, "a key is not text", 'put it in quotes, as in "on": ...')
        if any("\ud800" <= character <= "\udfff" for character in key):
            raise self._refusal(node, f"the key {shown(key)} holds a lone surrogate", "mend it")
        return key

    def _scalar(self, node: "yaml.Node") -> Any:
        """A text, number, boolean, null or date; anything else in YAML is refused."""
        import yaml

        is_scalar = isinstance(node, yaml.ScalarNode)
        # The time to read a number grows with the square of its length.
        if is_scalar and (node.tag == _TEXT or (node.tag in _SHORT and len(node.value) < 100)):
            try:
                return self.loader.construct_object(node)
            except (yaml.YAMLError, ValueError, OverflowError):
                pass  # a date such as 2026-13-45
        what = f"{shown(node.value if is_scalar else node.tag)} cannot be read as a value"
        raise self._refusal(node, what, "put it in quotes if it is a text")

    def _refusal(self, node: "yaml.Node", what: str, remedy: str) -> InputError:
        return InputError(what, where=f"{self.path}:{node.start_mark.line + 1}", remedy=remedy)


def shown(value: object) -> str:
    """A key or value for a message, short, on one line: a text quoted, a boolean as on or off."""
    if value is None or isinstance(value, bool):
        return {None: "empty", True: "on", False: "off"}[value]
    if isinstance(value, dict | list | tuple):
        return "a list" if not isinstance(value, dict) else "keys and values"
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a very long number"
    return cut(text, 80)
