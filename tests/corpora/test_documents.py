"""Documents as blocks of text: what of a page is its content, and how it is split."""

import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.corpora.documents import FoundFile, parse_split, read_document
from branchwise.corpora.html import (
    SourceDocument,
    TextBlock,
    UnreadableDocumentError,
    decoded,
    paragraphs,
    read_html,
)

PAGE = """<!DOCTYPE html>
<html><head><title>Etna – The Encyclopedia</title><style>p { color: red }</style></head>
<body>
<header><a href="/">The Encyclopedia</a></header>
<nav><ul><li>Home</li><li>Random page</li></ul></nav>
<div class="body">
  <h1>Etna</h1>
  <p>Etna is a <b>volcano</b> on
     <a href="sicily">Sicily</a>.<br>It is active.<script>track("x")</script></p>
  <h2>Names</h2>
  <ul><li>Mongibello</li><li>Mons <i>Gibel</i><ul><li>in Arabic</li></ul></li></ul>
  <table><tr><th>Height</th><td>3,357 m</td></tr>
    <tr><th>Type</th><td>Stratovolcano</td></tr></table>
  <pre>
first line
  second &lt;line&gt;
</pre>
  <p hidden>not shown</p><p style="display: none">not shown</p><div aria-hidden="true">icon</div>
  <aside>See also: Stromboli</aside>
</div>
<div role="navigation">Up</div>
<footer>Imprint</footer>
</body></html>
"""


def test_a_page_is_its_content_without_what_is_around_it() -> None:
    assert read_html(PAGE.encode()) == SourceDocument(
        "Etna",
        (
            TextBlock("Etna", level=1),
            TextBlock("Etna is a volcano on Sicily.\nIt is active."),
            TextBlock("Names", level=2),
            TextBlock("Mongibello\nMons Gibel\nin Arabic"),
            TextBlock("Height 3,357 m\nType Stratovolcano"),
            TextBlock("first line\n  second <line>"),
        ),
    )


def blocks(html: str) -> list[str]:
    return [block.text for block in read_html(html.encode()).blocks]


def test_the_element_that_holds_the_content_is_taken_alone() -> None:
    around = "<div>Menu</div>{}<div>Menu</div>"
    main = "<main><header>By A. Uthor</header><p>A long enough text.</p></main>"
    assert blocks(around.format(main)) == ["By A. Uthor", "A long enough text."]
    assert blocks(around.format(main.replace("main", "article"))) == blocks(around.format(main))
    two = "<article>First one.</article><article>Second one.</article>"
    assert blocks(around.format(two)) == ["Menu", "First one.", "Second one.", "Menu"]
    assert blocks("<main>x</main><p>Most of the text is not in it.</p>")[0] == "x"


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Etna - Wiki</title><h1>Etna</h1>", "Etna"),
        ("<title>Wiki | Etna</title><h2>Etna</h2>", "Etna"),
        ("<title>Names of Etna</title><h2>Names</h2>", "Names of Etna"),
        ("<title>Etna</title><h1>Welcome</h1>", "Etna"),
        ("<title> Mount\n Etna </title><p>x", "Mount Etna"),
        ("<h1>Etna</h1>", "Etna"),
        ("<p>x", ""),
        ("", ""),
    ],
)
def test_the_title_is_the_pages_own(html: str, title: str) -> None:
    assert read_html(html.encode()).title == title


@pytest.mark.parametrize(
    "data",
    [
        "café".encode(),
        codecs.BOM_UTF8 + "café".encode(),
        codecs.BOM_UTF16_LE + "café".encode("utf-16-le"),
        codecs.BOM_UTF16_BE + "café".encode("utf-16-be"),
        b'<meta charset="iso-8859-1">caf\xe9',
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1252">caf\xe9',
        b'<meta charset="utf-16">caf\xc3\xa9',
        b'<meta charset="zlib">caf\xc3\xa9',
        b'<meta charset="unicode_escape">caf\xc3\xa9',
        b'<meta charset="gb-none">caf\xc3\xa9',
        b"caf\xe9",
    ],
)
def test_encodings_are_told_by_marks_declarations_or_the_bytes(data: bytes) -> None:
    assert decoded(data).endswith("café")


def test_broken_encodings_lose_single_characters() -> None:
    assert decoded(b'<meta charset="utf-8">a\xff\xfeb').endswith("a��b")
    with pytest.raises(UnreadableDocumentError, match="is not text"):
        decoded(b"\x7fELF\x02\x01\x01\0\0\0")


DEEP = 1_500
HOSTILE = {
    "nested": "<div>" * DEEP + "x" + "</div>" * DEEP + "y",
    "inline": "<b><i><u>" * 400 + "x",
    "lists": "<ul><li>" * 700 + "x",
    "unclosed": "<p>x" * 20_000,
    "comments": "<!--" * 100_000 + "x",
    "brackets": "<" * 200_000,
    "entities": "&amp;" * 200_000 + "&#xD800;&#0;&#x110000;&nosuch;",
    "declared": '<!DOCTYPE html [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><p>&b;',
    "included": '<p xmlns:xi="x"><xi:include href="file:///etc/passwd"/>x',
    "one word": "<p>" + "w" * 2**21,
    "tag": '<div class="' + "x " * 2**19 + '">x',
    "nul": "<p>a\0b",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_pages_are_read_or_refused(kind: str) -> None:
    try:
        read = read_html(HOSTILE[kind].encode())
    except UnreadableDocumentError as error:
        assert str(error) in ("is nested too deeply", "is not text")  # noqa: PT017
        return
    for block in read.blocks:
        block.text.encode("utf-8")
        assert "root:" not in block.text


@pytest.mark.parametrize(
    "attributes",
    [
        " ".join(f"a{n}=1" for n in range(5_000)),
        " ".join(f"a{n}" for n in range(5_000)),
        "/".join(f"a{n}" for n in range(5_000)),
        "".join(f'a{n}="1"' for n in range(5_000)),
        'x=">" ' + " ".join(f"a{n}='<'" for n in range(5_000)),
    ],
)
def test_elements_with_very_many_attributes_are_refused(attributes: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=r"has an element with 5,00\d attributes"):
        read_html(f"<p>a</p><div {attributes}>x</div>".encode())


MARKDOWN = """---
title: "Volcanoes: a guide"
tags: [a]
---
# Etna

Etna is a *volcano* on [Sicily](https://example.org/a_b).
It is **active**.

## Names

- Mongibello
- Mons `Gibel`

| a | b |
|---|---|
| 1 | 2 |

```
# no heading
```

<script>alert(1)</script>
"""


def document(path: Path, content: str | bytes, kind: str) -> SourceDocument:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_document(FoundFile(path, kind))


def test_markdown_is_read_without_its_marks(tmp_path: Path) -> None:
    read = document(tmp_path / "f.md", MARKDOWN, "markdown")
    assert read.title == "Volcanoes: a guide"
    assert read.blocks == (
        TextBlock("Etna", level=1),
        TextBlock("Etna is a volcano on Sicily. It is active."),
        TextBlock("Names", level=2),
        TextBlock("Mongibello\nMons Gibel"),
        TextBlock("a b\n1 2"),
        TextBlock("# no heading"),
    )
    without = document(
        tmp_path / "f.md", MARKDOWN.partition("---\n# ")[2].join(("# ", "")), "markdown"
    )
    assert without.title == "Etna"


def test_a_document_without_a_title_has_its_files_name(tmp_path: Path) -> None:
    assert document(tmp_path / "Mount Etna.txt", "x", "text").title == "Mount Etna"
    assert document(tmp_path / "a\x1b[31mb.html", "<p>x", "html").title == "a�[31mb"


def test_text_is_split_at_blank_lines() -> None:
    found = paragraphs("\n one\n  two\n \t\r\n\n\nthree\n")
    assert [block.text for block in found] == ["one\n  two", "three"]


BLOCKS = (
    TextBlock("Etna", level=1),
    TextBlock("one two"),
    TextBlock("three"),
    TextBlock("Names", level=2),
    TextBlock("Empty", level=2),
    TextBlock("four five"),
)


@pytest.mark.parametrize(
    ("way", "passages"),
    [
        ("whole", [("Etna", "one two\n\nthree\n\nNames\n\nEmpty\n\nfour five")]),
        ("paragraphs", [("Etna", "one two"), ("Etna", "three"), ("Etna: Empty", "four five")]),
        ("headings", [("Etna", "one two\n\nthree"), ("Etna: Empty", "four five")]),
        ("words:3", [("Etna", "one two\nthree"), ("Etna", "Names\nEmpty\nfour"), ("Etna", "five")]),
        ("words:100", [("Etna", "one two\nthree\nNames\nEmpty\nfour five")]),
    ],
)
def test_ways_to_split(way: str, passages: list[tuple[str, str]]) -> None:
    assert [*parse_split(way)("Etna", BLOCKS)] == passages
    assert [*parse_split(way)("Etna", ())] == []


def test_languages_without_spaces_are_split_by_characters() -> None:
    (text,) = paragraphs("富士山は日本の山です。Fuji is 3,776 m.")
    found = [part for _, part in parse_split("words:5")("", (text,))]
    assert found == ["富士山は日", "本の山です", "。Fuji is 3,776 m."]
    (long,) = paragraphs("x" * 450)
    assert [len(part) for _, part in parse_split("words:1")("", (long,))] == [200, 200, 50]


@given(text=st.text(), words=st.integers(1, 9))
def test_splitting_by_words_loses_nothing_but_space(text: str, words: int) -> None:
    parts = [part for _, part in parse_split(f"words:{words}")("", (*paragraphs(text),))]
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part == part.strip() and part for part in parts)


@pytest.mark.parametrize("way", ["words", "words:", "words:-1", "words:1e3", "word:3", "", "Whole"])
def test_a_way_that_there_is_not_is_refused(way: str) -> None:
    with pytest.raises(InputError, match="--split: there is no way"):
        parse_split(way)
