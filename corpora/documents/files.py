"""The documents of a folder: which files are read, and as what."""

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from branchwise.base.text import encodable, one_line, printable
from branchwise.corpora.documents.blocks import (
    SourceDocument,
    UnreadableDocumentError,
    paragraphs,
)
from branchwise.corpora.documents.html import decoded, read_html

MAX_DOCUMENT_BYTES = 16 * 2**20
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"""^title:[ \t]*(["']?)(.+?)\1[ \t]*$""", re.MULTILINE)


class FoundFile(NamedTuple):
    """A name in a folder. `kind`: what it is read as, or OTHER, LINK or DENIED, with the reason."""

    path: Path
    kind: str
    problem: str = ""


OTHER, LINK, DENIED = "other", "link", "denied"


def walk(folder: Path) -> Iterator[FoundFile]:
    """The files in a folder and in the folders in it, by name.

    Links are not followed, hidden names are passed over. Memory holds the names of one folder, and
    of those around it.
    """
    waiting = [_names(folder)]
    while waiting:
        if not (name := next(waiting[-1], None)):
            waiting.pop()
            continue
        try:
            mode = name.lstat().st_mode
            if stat.S_ISDIR(mode):
                waiting.append(_names(name))
            elif stat.S_ISLNK(mode):
                yield FoundFile(name, LINK)
            else:
                kind = READ_AS.get(name.suffix.lower(), OTHER) if stat.S_ISREG(mode) else OTHER
                yield FoundFile(name, kind)
        except OSError as error:
            yield FoundFile(name, DENIED, f"cannot be read ({error.strerror})")


def _names(folder: Path) -> Iterator[Path]:
    names = sorted(os.listdir(folder))  # noqa: PTH208 - without a Path for each
    return (folder / name for name in names if not name.startswith("."))


def read_document(file: FoundFile) -> SourceDocument:
    """What a file says. Without a title of its own it has the name of the file, without its end.

    Raises UnreadableDocumentError, which says why.
    """
    document = _READERS[file.kind](_contents(file.path))
    title = document.title or one_line(printable(encodable(file.path.stem)))
    return SourceDocument(title, document.blocks)


def _contents(path: Path) -> bytes:
    """The bytes of a file that is no link, and not too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            size = os.fstat(descriptor).st_size
            if size <= MAX_DOCUMENT_BYTES:
                return stream.read(size)
    except OSError as error:
        raise UnreadableDocumentError(f"cannot be read ({error.strerror})") from None
    raise UnreadableDocumentError(f"is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")


def _read_text(data: bytes) -> SourceDocument:
    return SourceDocument("", tuple(paragraphs(decoded(data))))


def _read_markdown(data: bytes) -> SourceDocument:
    """Markdown by way of HTML. The title is that of the front matter, or else the first heading."""
    from markdown_it import MarkdownIt

    text, title = decoded(data), ""
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        found = _FRONT_TITLE.search(front[1] or "")
        title = one_line(found[2]) if found else ""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable("table")
    blocks = read_html(parser.render(text).encode()).blocks
    first = next((block.text for block in blocks if block.level), "")
    return SourceDocument(title or one_line(first), blocks)


READ_AS = {
    suffix: kind
    for kind, suffixes in {
        "html": (".html", ".htm", ".xhtml"),
        "markdown": (".md", ".markdown", ".mdown"),
        "text": (".txt", ".text", ".rst", ".adoc"),
    }.items()
    for suffix in suffixes
}
_READERS: dict[str, Callable[[bytes], SourceDocument]] = {
    "html": read_html,
    "markdown": _read_markdown,
    "text": _read_text,
}
