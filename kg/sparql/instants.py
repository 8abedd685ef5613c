"""Instants as Wikidata's query service reads them: midnight and UTC where nothing is said."""

import re

from branchwise.kg.sparql.prefixes import KNOWN

INSTANT, DAY = KNOWN["xsd"] + "dateTime", KNOWN["xsd"] + "date"
_LOOSE = re.compile(r"(['\"])\+?(-?[0-9]{4,}-[0-9]{2}-[0-9]{2})(T[0-9:.]+)?(Z|[+-][0-9:]{5})?\1")


def whole_instant(string: str) -> str:
    """A quoted instant with its time of day and time zone; anything else as it is."""
    match = _LOOSE.fullmatch(string)
    if match is None:
        return string
    _, day, time, zone = match.groups()
    return f'"{day}{time or "T00:00:00"}{zone or "Z"}"'


def is_day(string: str) -> bool:
    """Whether a quoted text is a day without a time."""
    match = _LOOSE.fullmatch(string)
    return match is not None and match[3] is None
