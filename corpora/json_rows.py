"""Rows of JSON files: an object on each line, or the entries of one array.

An array is read entry by entry: in memory is one entry, and a megabyte of the file.
"""

import codecs
import gc
import json
import re
from collections import Counter
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NoReturn, cast

import orjson

from branchwise.base import files
from branchwise.base.errors import InputError, Refuse
from branchwise.base.files import json_kind, lines_of, open_data
from branchwise.corpora.rows import DataRow

_CHUNK = 2**20
_ESCAPE = 16
"""Characters within which a value that the chunk cuts off may fail: two escapes, a literal."""
_SPACE = re.compile(r"[ \t\r\n]*")
_SAVE = "save it as UTF-8"
_LOOKED_AT = 65_536
_NAME = "write one object per line, or name its form (`branchwise questions forms`)"
_LINES = "write one object per line"


class _RepeatedKeyError(Exception):
    """An object has this key twice."""

    def at(self, where: str) -> InputError:
        problem = f"has the key {str(self)!r} twice in one object"
        return InputError(problem, where=where, remedy="merge what they hold, or rename one")


def json_rows(path: Path, refuse: Refuse, *, strict: bool) -> Iterator[DataRow]:
    """The objects of a file. Refuses lines and entries that are none; `strict`: and those with a
    key that is repeated in an object, of which readers of JSON keep the last and say nothing."""
    with open_data(path) as stream:
        head = cast(BufferedReader, stream).peek(64)[:64]
        if head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
            text = _Window(stream, path, strict=strict)
            text.next()
            text.skip("[")
            number = 0
            while text.next() != "]":
                if number:
                    text.skip(",")
                    text.next()
                number += 1
                line = f", line {text.line}" if text.line > 1 else ""
                where = f"{path}:entry {number}{line}"
                try:
                    value = text.value()
                except _RepeatedKeyError as error:
                    refuse("repeated-key", error.at(where))
                    continue
                if isinstance(value, dict):
                    yield DataRow(where, value)
                else:
                    refuse("not-an-object", InputError(_no_object(value), where=where))
            text.skip("]")
            if text.next():
                raise text.wrong("more text behind the array")
        else:
            yield from _lines(stream, path, refuse, strict=strict)


def json_object(path: Path, most: int, remedy: str | None = None) -> dict[str, Any]:
    """The object that a file of at most `most` bytes is. Raises InputError."""
    with open_data(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise InputError(f"is larger than {most // 2**20} MiB", where=str(path))
    try:
        value = orjson.loads(data.removeprefix(codecs.BOM_UTF8))
    except orjson.JSONDecodeError as error:
        where = f"{path}:{error.lineno}"
        raise InputError(f"not valid JSON ({error.msg})", where=where) from None
    if not isinstance(value, dict):
        raise InputError(_no_object(value), where=str(path), remedy=remedy)
    return value


def _no_object(value: Any) -> str:
    return f"expected a JSON object, found {json_kind(value)}"


def _deep(where: str) -> InputError:
    return InputError("is nested too deeply", where=where, remedy="reduce the nesting")


def _lines(stream: IO[bytes], path: Path, refuse: Refuse, *, strict: bool) -> Iterator[DataRow]:
    for number, line in lines_of(stream, path, refuse):
        where = f"{path}:{number}"
        if number == 1 and line.strip() == b"{":
            problem, remedy = "is one JSON object over several lines", _NAME
            if b'"evaluations"' in line + stream.read(_LOOKED_AT):
                problem = "has the answers that CondAmbigQA's authors published, and no questions"
                remedy = f"branchwise score condambigqa-runs:{path}"
            raise InputError(problem, where=where, remedy=remedy)
        try:
            value = _decoded(line, strict=strict)
        except UnicodeDecodeError:
            refuse("not-utf8", InputError("is not UTF-8 text", where=where, remedy=_SAVE))
        except _RepeatedKeyError as error:
            refuse("repeated-key", error.at(where))
        except RecursionError:
            refuse("too-deep", _deep(where))
        except (json.JSONDecodeError, orjson.JSONDecodeError) as error:
            problem = f"not valid JSON ({error.msg}, column {error.colno})"
            refuse("not-json", InputError(problem, where=where, remedy=_LINES))
        else:
            if isinstance(value, dict):
                yield DataRow(where, value)
            else:
                wrong = InputError(_no_object(value), where=where, remedy=_LINES)
                refuse("not-an-object", wrong)


def _decoded(data: bytes, *, strict: bool) -> Any:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        data.decode("utf-8")  # which tells better what is wrong
        raise
    if strict:
        try:
            is_as_we_write = orjson.dumps(value) == data.rstrip()
        except TypeError:  # it is nested more deeply than we can write
            is_as_we_write = False
        if not is_as_we_write:
            _check(value, data.decode("utf-8"), strict)
    return value


class _Window:
    """What of a JSON text is in memory; `line` (from 1) is where the part before `_at` ends."""

    def __init__(self, stream: IO[bytes], path: Path, *, strict: bool) -> None:
        self._stream, self._path, self._strict = stream, path, strict
        self._decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self._text, self._at, self._end = "", 0, False
        self.line = 1

    def next(self) -> str:
        """The character behind white space, which stays to be read; "" at the end."""
        while True:
            end = cast("re.Match[str]", _SPACE.match(self._text, self._at)).end()
            if end > self._at:
                self._go(end)
            if end < len(self._text):
                return self._text[end]
            if not self._more():
                return ""

    def skip(self, character: str) -> None:
        """Step over this character. Raises InputError where another one is next."""
        if not self._text.startswith(character, self._at):
            other = self._text[self._at : self._at + 1]
            raise self.wrong(f"expected {character!r}, found {other!r}" if other else "it ends")
        self._at += 1

    def value(self) -> Any:
        """Step over the next value. Raises InputError, and _RepeatedKeyError behind it."""
        while True:
            where = f"{self._path}:{self.line}"
            try:
                value, end = _scan(self._text, self._at)
            except json.JSONDecodeError as error:
                # More of the text may mend what the chunk cuts off.
                is_cut = error.pos >= len(self._text) - _ESCAPE
                is_cut = is_cut or error.msg.startswith("Unterminated string")
                if is_cut and self._more():
                    continue
                raise self.wrong(error.msg, error.pos) from None
            except RecursionError:
                raise _deep(where) from None
            except ValueError:  # of an integer with thousands of digits
                problem = "holds a number of thousands of digits"
                raise InputError(problem, where=where, remedy="shorten it") from None
            # A number at the end may go on.
            if end < len(self._text) or not self._more():
                break
        begin, written = self._at, self._text[self._at : end]
        self._go(end)
        try:
            _check(value, written, self._strict)
        except (json.JSONDecodeError, orjson.JSONDecodeError) as error:
            self._at = begin
            raise self.wrong(error.msg, begin + error.pos) from None
        return value

    def wrong(self, why: str, at: int | None = None) -> InputError:
        """The error for what is at this character of the window, by default the next."""
        line = self.line + self._text.count("\n", self._at, self._at if at is None else at)
        where, remedy = f"{self._path}:{line}", "write one JSON array of objects"
        return InputError(f"not valid JSON ({why})", where=where, remedy=remedy)

    def _go(self, at: int) -> None:
        self.line += self._text.count("\n", self._at, at)
        self._at = at

    def _more(self) -> bool:
        if self._end:
            return False
        rest, where = self._text[self._at :], f"{self._path}:{self.line}"
        if len(rest) > files.MAX_LINE_BYTES:
            problem = f"the entry is longer than {files.MAX_LINE_BYTES // 2**20} MiB"
            raise InputError(problem, where=where)
        data = self._stream.read(max(_CHUNK, len(rest)))
        self._end = not data
        try:
            self._text, self._at = rest + self._decode(data, self._end), 0
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", where=where, remedy=_SAVE) from None
        return not self._end


def _no_number(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is no JSON number", name, 0)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(counts.most_common(1)[0][0])
    return members


_decoder = json.JSONDecoder(parse_constant=_no_number)
_scan_unique = json.JSONDecoder(object_pairs_hook=_unique).decode


def _scan(text: str, at: int) -> tuple[Any, int]:
    # A search for cycles needs a stack, which a deeply nested text may have used up.
    searching = gc.isenabled()
    gc.disable()
    try:
        return _decoder.raw_decode(text, at)
    finally:
        if searching:
            gc.enable()


def _check(value: Any, written: str, strict: bool) -> None:
    """Raise JSONDecodeError for lone surrogates, and _RepeatedKeyError if `strict`."""
    if "\\u" in written:
        orjson.loads(written)
    # As many keys are written as were read, or the slow reader says which one is repeated.
    unusual = " :" in written or "\t:" in written
    if strict and (unusual or written.count('":') != _keys(value)):
        _scan_unique(written)


def _keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(_keys, value.values()))
    return sum(map(_keys, value)) if isinstance(value, list) else 0
