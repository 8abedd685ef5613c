"""How a document is split into passages (`--split words:100`)."""

import re
from collections.abc import Callable, Iterator, Sequence

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.text import one_line
from branchwise.corpora.documents.blocks import TextBlock

Split = Callable[[str, Sequence[TextBlock]], Iterator[tuple[str, str]]]
"""Of a document's title and blocks: title and text of each passage."""

DEFAULT_SPLIT = "words:100"
WAYS = ("words:N", "paragraphs", "headings", "whole")
_MOST_WORDS = 100_000
_LONGEST_WORD = 200
# Chinese characters and Japanese kana: their texts have no spaces.
_LETTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_WORD = re.compile(rf"[{_LETTERS}]|[^\s{_LETTERS}]{{1,{_LONGEST_WORD}}}")


def parse_split(given: str) -> Split:
    """The way that `--split` names. Raises InputError."""
    name, colon, number = given.partition(":")
    if name == "words" and colon and number.isascii() and number.isdigit():
        if 1 <= (words := int(number[:9])) <= _MOST_WORDS:
            return lambda title, blocks: _by_words(title, blocks, words)
        raise InputError(
            f"must be 1 to {_MOST_WORDS:,} words",
            where=f"--split {given}",
            remedy="write words:100",
        )
    if given in _NAMED:
        return _NAMED[given]
    raise InputError(
        f"there is no way {given!r} to split",
        where="--split",
        remedy=did_you_mean(given, WAYS),
    )


def _by_words(title: str, blocks: Sequence[TextBlock], words: int) -> Iterator[tuple[str, str]]:
    """Passages of so many words, the last one shorter. A Chinese or Japanese character is a word,
    and so is each part of 200 characters of what has no spaces."""
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
    """The blocks without a first heading that is the title."""
    is_title = bool(blocks) and blocks[0].level > 0 and one_line(blocks[0].text) == title
    return blocks[1:] if is_title else blocks


def _section(title: str, heading: str) -> str:
    """The title of the passages below a heading: `Heat (1995 film): Cast`."""
    heading = one_line(heading)
    return f"{title}: {heading}" if title and heading != title else heading or title


_NAMED: dict[str, Split] = {
    "paragraphs": _by_paragraphs,
    "headings": _by_headings,
    "whole": _whole,
}
