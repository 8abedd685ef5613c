"""Text and HTML as blocks of text, without a page's scripts, navigation, header and footer.

lxml parses in a time that grows with the size of the page, whatever is in it, but for elements
with very many attributes, which are refused before.
"""

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from branchwise.base.text import one_line

if TYPE_CHECKING:
    from lxml.etree import _Element

_PARAGRAPH_END = re.compile(r"\n[ \t\r\f\v]*\n")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_OF_LAYOUT = ("div", "h1", "h2", "h3", "p", "table")
"""A table that has one of these arranges blocks."""
_CONTENT = "//main | //*[@role='main'] | //article"
_LEAST_SHARE = 0.3  # of a page's text, in the element that claims to hold its content
_BESIDE_NAMES = "-–—|·:/«»"
"""What stands between a page's and a site's name; nothing ("") is in it, too."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-z0-9_:.-]{1,40})""", re.I)
_CHARSETS = re.compile(
    r"big5|cp\d|euc|gb|hz|iso8859|iso-8859|koi8|mac|shift|utf-?8|utf-?16|windows"
)
_MOST_ATTRIBUTES = 1_000
_ATTRIBUTE = r"""=?[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"'>][^\s>]*+)?+)?+"""
_OPENED = re.compile(rf"<[a-zA-Z][^\s/>]*+((?:[\s/]++|{_ATTRIBUTE})*+)")


class TextBlock(NamedTuple):
    """A paragraph, a list, a table; or a heading, whose `level` is 1 to 6 and not 0."""

    text: str
    level: int = 0


class SourceDocument(NamedTuple):
    """A file as it is split into passages."""

    title: str
    blocks: Sequence[TextBlock]


class UnreadableDocumentError(Exception):
    """A file is left out; the message says why."""


def paragraphs(text: str) -> Iterator[TextBlock]:
    """The blocks of a plain text: blank lines stand between them."""
    start = 0
    for end in _PARAGRAPH_END.finditer(text):
        if block := text[start : end.start()].strip():
            yield TextBlock(block)
        start = end.end()
    if block := text[start:].strip():
        yield TextBlock(block)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BLOCKS = _names(
    "address article aside blockquote body caption center dd details div dl dt fieldset "
    "figcaption figure footer form header hgroup hr legend li main ol p pre section summary table "
    "tbody tfoot thead tr ul"
)
_ONE_BLOCK = _names("dl ol pre ul")
"""One block with all that is in them, their items on lines of their own."""
_CELLS = _names("td th")
_NO_CONTENT = _names(
    "annotation area aside audio button canvas datalist dialog embed footer frameset head iframe "
    "input link map meta nav noembed noframes noscript object option param script select style svg "
    "template textarea title video"
)
_NO_CONTENT_ROLES = _names("alert banner complementary contentinfo dialog menu navigation search")


def read_html(data: bytes) -> SourceDocument:
    """The content of a page, its title perhaps "". Raises UnreadableDocumentError."""
    from lxml import etree

    text = decoded(data)
    for tag in _OPENED.finditer(text):
        if tag.end() - tag.start() > 2 * _MOST_ATTRIBUTES:
            count = sum(1 for _ in re.finditer(_ATTRIBUTE, tag[1]))
            if count > _MOST_ATTRIBUTES:
                raise UnreadableDocumentError(f"has an element with {count:,} attributes")
    bare = {"remove_comments": True, "remove_pis": True}
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, **bare)
    try:
        page = etree.fromstring(text.encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:  # of a page that is empty
        page = None
    if any(entry.level_name == "FATAL" for entry in parser.error_log):
        raise UnreadableDocumentError("is nested too deeply")
    if page is None:
        return SourceDocument("", ())
    content, claims = page, page.xpath(_CONTENT)
    outer = [claim for claim in claims[:50] if not any(a in claims for a in claim.iterancestors())]
    # The only element that claims to be the content, if it holds enough of the text.
    if len(outer) == 1:
        length, whole = (element.xpath("string-length()") for element in (outer[0], page))
        content = outer[0] if length >= _LEAST_SHARE * whole else page
    blocks = tuple(_blocks(content))
    return SourceDocument(_title(page, blocks), blocks)


def decoded(data: bytes) -> str:
    """The text of a page or a file: as its mark or its `<meta charset>` says, UTF-8, or else
    Windows-1252. Raises UnreadableDocumentError for what is not text."""
    if (name := _declared(data)) is not None:
        text = data.decode(name, "replace")
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("windows-1252", "replace")
    text = text.removeprefix("\ufeff")
    if "\0" in text[:8192]:
        raise UnreadableDocumentError("is not text")
    return text


def _declared(data: bytes) -> str | None:
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            return name
    declared = _CHARSET.search(data[:4096])
    name = declared[1].decode().lower() if declared else ""
    if not _CHARSETS.match(name) or name.startswith(("utf-16", "utf16")):
        return None  # a page that can be read so far is not in UTF-16, whatever it says
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


def _title(page: "_Element", blocks: tuple[TextBlock, ...]) -> str:
    """The page's title; without the site's name, where it has the first heading beside that."""
    title = one_line(page.findtext(".//title") or "")
    heading = next((one_line(block.text) for block in blocks if block.level), "")
    if not title or not heading:
        return title or heading
    before, part, after = title.partition(heading)
    ends = before.rstrip()[-1:], after.lstrip()[:1]
    return heading if part and all(end in _BESIDE_NAMES for end in ends) else title


def _blocks(content: "_Element") -> Iterator[TextBlock]:
    from lxml import etree

    text = _Gathered()
    left_out = None
    walk = etree.iterwalk(content, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            if element is not content and _is_no_content(element):
                left_out = element
                walk.skip_subtree()
            else:
                yield from text.begin(element)
                text.pieces.append(element.text or "")
            continue
        if element is not left_out:
            yield from text.end(element)
        if element is not content:
            text.pieces.append(element.tail or "")
    yield from text.rest()


def _is_no_content(element: "_Element") -> bool:
    tag = element.tag
    if tag in _NO_CONTENT:
        return True
    if element.attrib and (
        element.get("hidden") is not None
        or element.get("aria-hidden") == "true"
        or element.get("role") in _NO_CONTENT_ROLES
        or _HIDDEN.search(element.get("style", ""))
    ):
        return True
    return tag == "header" and next(element.iterancestors("article", "main"), None) is None


class _Gathered:
    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._lines: list[str] = []
        self._level = self._groups = self._as_written = 0

    def begin(self, element: "_Element") -> Iterator[TextBlock]:
        tag = element.tag
        if tag in _HEADINGS and not self._groups:
            yield from self.rest()
            self._level = _HEADINGS[tag]
        elif _is_group(element):
            if not self._groups:
                yield from self.rest()
            self._end_line()
            self._groups += 1
            self._as_written += tag == "pre"
        elif tag == "br":
            self._end_line()
        elif tag in _BLOCKS:
            yield from self._end_block()

    def end(self, element: "_Element") -> Iterator[TextBlock]:
        tag = element.tag
        if tag in _CELLS:
            self.pieces.append(" ")
        elif _is_group(element):
            self._end_line()
            self._groups -= 1
            self._as_written -= tag == "pre"
            if not self._groups:
                yield from self.rest()
        elif tag in _HEADINGS and not self._groups:
            yield from self.rest()
        elif tag in _BLOCKS:
            yield from self._end_block()

    def rest(self) -> Iterator[TextBlock]:
        self._end_line()
        if self._lines:
            yield TextBlock("\n".join(self._lines), self._level)
        self._lines, self._level = [], 0

    def _end_block(self) -> Iterator[TextBlock]:
        if self._groups or self._level:
            self._end_line()
        else:
            yield from self.rest()

    def _end_line(self) -> None:
        text = "".join(self.pieces)
        text = text.strip("\r\n") if self._as_written else one_line(text)
        if text.strip():
            self._lines.append(text)
        self.pieces = []


def _is_group(element: "_Element") -> bool:
    """Whether it is one block, its items on lines: a list, or a table that is not for layout."""
    if element.tag == "table":
        return next(element.iterdescendants(*_OF_LAYOUT), None) is None
    return element.tag in _ONE_BLOCK
