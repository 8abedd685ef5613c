"""Reading a made page as a parser does that knows nothing of how it was made."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """`elements`: (tag, attributes) in order; `scripts`, `styles`: what stands in them, with the
    attributes of the scripts; `tables`: by caption, rows of cell texts, the headings first, each
    with the one that stands over it ("over: heading"); `text`: all else."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text = ""
        self._open: list[str] = []
        self._rows: list[list[str]] = []
        self._caption = ""
        self._over: list[int] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self._open.append(tag)
        if tag == "table":
            self._rows, self._caption, self._over = [], "", []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
            if "thead" in self._open:
                self._over.append(int(dict(attrs).get("colspan", "1")))
        elif tag == "script":
            self.scripts.append((dict(attrs), ""))
        elif tag == "style":
            self.styles.append("")

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, tag
        if tag == "table":
            self.tables[self._caption] = self._rows
        elif tag == "thead" and len(self._rows) == 2:
            over, below = self._rows
            wide = [words for words, n in zip(over, self._over, strict=False) for _ in range(n)]
            pairs = zip(wide, below, strict=True)
            self._rows = [[": ".join(filter(None, pair)) for pair in pairs]]

    def handle_data(self, data):
        if "script" in self._open:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = (attributes, before + data)
        elif "style" in self._open:
            self.styles[-1] += data
        elif "caption" in self._open:
            self._caption += data
        elif "td" in self._open or "th" in self._open:
            # What stands smaller below a number comes after a bar.
            self._rows[-1][-1] += f"|{data}" if "small" in self._open else data
        else:
            self.text += data

    def attribute(self, name):
        return [found[name] for _, found in self.elements if name in found]


def words(text):
    return " ".join(text.split())
