"""The documents of a folder, how each is read, and how it is split into passages."""

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.text import encodable, one_line, printable
from branchwise.corpora.html import (
    SourceDocument,
    TextBlock,
    UnreadableDocumentError,
    decoded,
    paragraphs,
    read_html,
)

MAX_DOCUMENT_BYTES = 16 * 2**20
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?\n)?(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"""^title:[ \t]*(["']?)(.+?)\1[ \t]*$""", re.MULTILINE)
OTHER, LINK, DENIED = "other", "link", "denied"
READ_AS = {
    suffix: kind
    for kind, suffixes in {
        "html": (".html", ".htm", ".xhtml"),
        "markdown": (".md", ".markdown", ".mdown"),
        "text": (".txt", ".text", ".rst", ".adoc"),
    }.items()
    for suffix in suffixes
}
Split = Callable[[str, Sequence[TextBlock]], Iterator[tuple[str, str]]]
"""Of a document's title and blocks: title and text of each passage."""
WAYS = ("words:N", "paragraphs", "headings", "whole")
_MOST_WORDS = 100_000
_LONGEST_WORD = 200
# Chinese characters and Japanese kana: their texts have no spaces.
_LETTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD = re.compile(rf"[{_LETTERS}]|[^\s{_LETTERS}]{{1,{_LONGEST_WORD}}}")


class FoundFile(NamedTuple):
    """A name in a folder. `kind`: what it is read as, or OTHER, LINK or DENIED, with the reason."""

    path: Path
    kind: str
    problem: str = ""


def walk(folder: Path) -> Iterator[FoundFile]:
    """The files in a folder and in the folders in it, by name. Links are not followed, hidden names
    are passed over. Memory holds the names of one folder, and of those around it."""
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
    """What a file says, by default titled as it is named. Raises UnreadableDocumentError."""
    document = _READERS[file.kind](_contents(file.path))
    title = document.title or one_line(printable(encodable(file.path.stem)))
    return SourceDocument(title, document.blocks)


def _contents(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            size = os.fstat(descriptor).st_size
            if size <= MAX_DOCUMENT_BYTES:
                return stream.read(size)
    except OSError as error:
        raise UnreadableDocumentError(f"cannot be read ({error.strerror})") from None
    raise UnreadableDocumentError(f"is larger than {MAX_DOCUMENT_BYTES // 2**20} MiB")


def _read_markdown(data: bytes) -> SourceDocument:
    """Markdown by way of HTML. The title is that of the front matter, or else the first heading."""
    from markdown_it import MarkdownIt

    text, title = decoded(data), ""
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        named = _FRONT_TITLE.search(front[1] or "")
        title = one_line(named[2]) if named else ""
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": 100}).enable("table")
    blocks = read_html(parser.render(text).encode()).blocks
    first = next((block.text for block in blocks if block.level), "")
    return SourceDocument(title or one_line(first), blocks)


_READERS: dict[str, Callable[[bytes], SourceDocument]] = {
    "html": read_html,
    "markdown": _read_markdown,
    "text": lambda data: SourceDocument("", tuple(paragraphs(decoded(data)))),
}


def parse_split(given: str) -> Split:
    name, colon, number = given.partition(":")
    if name == "words" and colon and number.isascii() and number.isdigit():
        if 1 <= (words := int(number[:9])) <= _MOST_WORDS:
            return lambda title, blocks: _by_words(title, blocks, words)
        problem = f"must be 1 to {_MOST_WORDS:,} words"
        raise InputError(problem, where=f"--split {given}", remedy="write words:100")
    if given in _NAMED:
        return _NAMED[given]
    remedy = did_you_mean(given, WAYS)
    raise InputError(f"there is no way {given!r} to split", where="--split", remedy=remedy)


def _by_words(title: str, blocks: Sequence[TextBlock], words: int) -> Iterator[tuple[str, str]]:
    # A Chinese or Japanese character counts as a word, and so do each 200 characters unspaced.
    text = "\n".join(block.text for block in _below(title, blocks))
    start = end = count = 0
    for word in _WORD.finditer(text):
        if not count:
            start = word.start()
        end, count = word.end(), count + 1
        if count == words:
            yield title, text[start:end]
            count = 0
    if count:
        yield title, text[start:end]


def _by_paragraphs(title: str, blocks: Sequence[TextBlock]) -> Iterator[tuple[str, str]]:
    section = title
    for block in blocks:
        if block.level:
            section = _section(title, block.text)
        else:
            yield section, block.text


def _by_headings(title: str, blocks: Sequence[TextBlock]) -> Iterator[tuple[str, str]]:
    section, texts = title, list[str]()
    for block in (*blocks, TextBlock("", level=1)):
        if not block.level:
            texts.append(block.text)
            continue
        if texts:
            yield section, "\n\n".join(texts)
        section, texts = _section(title, block.text), []


def _whole(title: str, blocks: Sequence[TextBlock]) -> Iterator[tuple[str, str]]:
    if blocks:
        yield title, "\n\n".join(block.text for block in _below(title, blocks))


def _below(title: str, blocks: Sequence[TextBlock]) -> Sequence[TextBlock]:
    is_title = bool(blocks) and blocks[0].level > 0 and one_line(blocks[0].text) == title
    return blocks[1:] if is_title else blocks


def _section(title: str, heading: str) -> str:
    """The title of the passages below a heading: `Heat (1995 film): Cast`."""
    heading = one_line(heading)
    return f"{title}: {heading}" if title and heading != title else heading or title


_NAMED: dict[str, Split] = {"paragraphs": _by_paragraphs, "headings": _by_headings, "whole": _whole}
