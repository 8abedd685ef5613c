"""Events are read as typed bodies: outside records and views, `data` is only passed on."""

import re

import pytest

from support.rooms import ROOT, product_files

_DATA = r"(?<!info)\.data\b"
LOOKS_IN = re.compile(rf"{_DATA}(?:\[|\.\w)|\*\*\w[\w.]*{_DATA}|\bin \w[\w.\[\]]*{_DATA}(?!\()")
"""An event's `data` is subscripted, asked for a member, unpacked, searched or walked through."""
TAKES = re.compile(
    r"def (?!(?:event|_?read)\b)\w+\([^)]*\bdata: (?:Data|(?:Mapping|dict)\[str, Any\])[,)=\s]"
)
"""A journal's `event` is given data to write, a record's `read` makes fields of them."""
VIEW = re.compile(
    r"^class \w*_?View\b.*?(?=^\S|\Z)|^class \w+\([^)]*_View\b.*?(?=^\S|\Z)", re.M | re.S
)
"""What reads a record that may be anyone's: its `data` is its own."""


def raw_uses(source: str) -> list[str]:
    source = VIEW.sub("", source)
    looked = (
        [] if "import numpy" in source else LOOKS_IN.findall(source)
    )  # an array's is its buffer
    return [*looked, *TAKES.findall(source)]


@pytest.mark.parametrize(
    "source",
    [
        'event.data["how"]', 'self.event.data.get("how")', "[*trace.events[0].data.values()]",
        "{**event.data, 'edited': True}", "'how' in event.data", "[key for key in event.data]",
        "def shown(data: Mapping[str, Any]):",
        "class Shown:\n    def f(self): return self.data['how']",
    ],
)  # fmt: skip
def test_looking_into_an_events_data_is_seen(source: str) -> None:
    assert len(raw_uses(source)) == 1


def test_passing_data_on_and_views_are_fine() -> None:
    assert raw_uses("Event(1, kind, 0.0, event.data); shown(event.data)") == []
    assert raw_uses("class Shown(_View):\n    def f(self): return self.data['how']") == []


@pytest.mark.long
def test_no_file_looks_into_an_events_data() -> None:
    found = {file: raw_uses(file.read_text("utf-8")) for file in product_files()}
    assert {str(file.relative_to(ROOT)): uses for file, uses in found.items() if uses} == {}
