"""matplotlib's figures as parts of a page: SVG in the page's colours and letters."""

import re
from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from branchwise.report.html.text import short
from branchwise.report.plots.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    TIP,
    VERMILION,
    YELLOW,
    Drawing,
    saved,
)

_SVG = "{http://www.w3.org/2000/svg}"
_WIDTH = 3.0
"""Inches. Less than on paper: letters are larger where a figure is as wide as a telephone."""
_COLOURS = {
    BLACK: "ink",
    BLUE: "blue",
    VERMILION: "vermilion",
    GREEN: "green",
    PURPLE: "purple",
    ORANGE: "orange",
    SKY: "sky",
    YELLOW: "yellow",
    "#ffffff": "paper",
    "#e6e6e6": "rule",
    "#d3d3d3": "rule",
    "#b2b2b2": "soft",
    "#999999": "soft",
    "#696969": "soft",
}
"""A colour of the drawing to the variable of the style sheet that has it in light and in dark."""
_VARIABLES = {colour.lower(): f"var(--{name})" for colour, name in _COLOURS.items()}


def inlined(drawing: Drawing, report: str, title: str, description: str) -> Markup:
    """The drawing without its titles, which the page has, with a name for screen readers.

    It refers to its own parts alone, by ids that no other title or report has. Its tips become
    titles, which browsers show where a pointer rests.
    """
    figure = drawing.figure
    figure.set_figwidth(_WIDTH)
    figure.patch.set_visible(False)
    for axes in figure.axes:
        axes.patch.set_visible(False)
        axes.set_title("")
    named = replace(drawing, name=short(f"{title} of {report}"))
    root = ElementTree.fromstring(saved(named, "svg"))  # noqa: S314 (made by matplotlib)
    box = root.attrib["viewBox"]
    made = Element("svg", {"viewBox": box, "role": "img", "stroke-linejoin": "round"})
    SubElement(made, "title").text = short(title)
    SubElement(made, "desc").text = short(description)
    parts = [one for one in root if one.tag in (f"{_SVG}g", f"{_SVG}defs")]
    made.extend(one for one in parts if one.find(f"{_SVG}style") is None)
    for one in [*made.iter()][3:]:
        _become_part(one)
    return Markup(ElementTree.tostring(made, encoding="unicode"))  # noqa: S704 (escaped by it)


def _become_part(one: Element) -> None:
    """Take an element's style, names and white space from it; give it its title."""
    one.tag, one.tail = one.tag.removeprefix(_SVG), None
    if one.tag != "text":
        one.text = None
    tips = []
    if one.tag == "g":
        tips = one.attrib.pop("id", "").split(TIP)[1:]
    for key, value in [*one.attrib.items()]:
        if key.endswith("}href"):
            one.attrib["href"] = one.attrib.pop(key)
        elif value in _VARIABLES:
            one.set(key, _VARIABLES[value])
        elif key in ("d", "x", "y"):
            one.attrib[key] = re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.2f}", value)
    for key, value in re.findall(r"([\w-]+): ([^;]*)", one.attrib.pop("style", "")):
        if not key.startswith("font"):
            one.set(key, _VARIABLES.get(value, value))
        elif size := re.search(r"([\d.]+)px", value):
            one.set("font-size", size[1])
    marks = [*one.iter(f"{_SVG}use")] if len(tips) > 1 else [one]
    for mark, words in zip(marks, tips, strict=False):
        title = Element("title")
        title.text = words
        mark.insert(0, title)
