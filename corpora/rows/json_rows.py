"""JSON objects: one on each line, or one array of them, which is read entry by entry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from branchwise.corpora.errors import InputError
from branchwise.corpora.files import (
    MAX_LINE_BYTES,
    open_data,
    parse_object,
    read_lines,
    without_mark,
)
from branchwise.corpora.rows import Row, Wanted

_CHUNK = 2**20
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_BETWEEN = re.compile(rb'[^"\[\]{},]*+(?:' + _TEXT + rb'[^"\[\]{},]*+)*+', re.DOTALL)
"""What stands between entries and their brackets."""
_WITHIN = re.compile(rb'[^"\[\]{}]*+(?:' + _TEXT + rb'[^"\[\]{}]*+)*+', re.DOTALL)
"""What stands between the brackets of one entry."""
_ENTRIES = "write an array of objects"


def read(path: Path, wanted: Wanted = None) -> Iterator[Row]:
    """The rows of a file. Raises InputError.

    Its first character says whether it is an array, whatever its name.
    """
    if _is_array(path):
        for number, entry in enumerate(array_entries(path), start=1):
            where = f"{path}:entry {number}"
            yield Row(where, parse_object(entry, where, _ENTRIES))
    else:
        for number, line in read_lines(path):
            where = f"{path}:{number}"
            yield Row(where, parse_object(line, where))


def _is_array(path: Path) -> bool:
    with open_data(path) as stream:
        start = without_mark(stream.read(_CHUNK), path)
    return start.lstrip().startswith(b"[")


def array_entries(path: Path) -> Iterator[bytes]:
    """The JSON text of each entry of a file that is one array; memory holds one entry.

    Raises InputError where the array has no end, where something follows it, and for an entry of
    more than `MAX_LINE_BYTES`. Whether an entry is JSON, its reader says.
    """
    with open_data(path) as stream:
        text = without_mark(stream.read(_CHUNK), path).lstrip()
        start = position = 1
        number, depth = 1, 0
        while True:
            skipped = (_WITHIN if depth else _BETWEEN).match(text, position)
            position = skipped.end() if skipped else position
            mark = text[position : position + 1]
            if mark in (b"", b'"'):  # what was read ends here, or in a text that begins here
                more = _more(stream, len(text) - start, f"{path}:entry {number}")
                text, position, start = text[start:] + more, position - start, 0
                continue
            if depth == 0 and mark in (b",", b"]"):
                entry, start = text[start:position], position + 1
                if mark == b"," or number > 1 or entry.strip():
                    yield entry
                if mark == b"]":
                    break
                number += 1
            elif mark in (b"{", b"["):
                depth += 1
            elif depth:
                depth -= 1
            position += 1
        _refuse_more(text[start:], stream, path)


def _more(stream: IO[bytes], held: int, where: str) -> bytes:
    if held > MAX_LINE_BYTES:
        raise InputError(f"takes more than {MAX_LINE_BYTES // 2**20} MiB", where=where)
    if more := stream.read(_CHUNK):
        return more
    raise InputError("the JSON array has no end", where=where)


def _refuse_more(text: bytes, stream: IO[bytes], path: Path) -> None:
    while text:
        if text.strip():
            raise InputError("something follows the JSON array", where=str(path))
        text = stream.read(_CHUNK)
