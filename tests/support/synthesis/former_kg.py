"""Companies that moved between two cities, small enough to work out by hand who sat where."""

COMPANY, CITY = "Q4830453", "Q515"
STAYS = (  # company, city, first year, last one, whether it is so now
    ("Q1", "Q12", 1990, 2000, False),
    ("Q1", "Q11", 1980, 1990, False),  # and is there again
    ("Q1", "Q11", 2000, None, True),
    ("Q2", "Q11", 1985, 1995, False),
    ("Q2", "Q12", 1995, None, True),
    ("Q3", "Q11", 1970, None, False),  # no end is stated
)
_WIKIDATA = "http://www.wikidata.org"
_XSD = "http://www.w3.org/2001/XMLSchema#dateTime"


def triples() -> str:
    """The graph as N-Triples, in Wikidata's forms."""
    lines = [_direct(f"Q{n}", "P31", COMPANY) for n in (1, 2, 3)]
    lines += [_direct(f"Q{n}", "P31", CITY) for n in (11, 12)]
    for number, (company, city, *years, now) in enumerate(STAYS):
        node = f"<{_WIKIDATA}/entity/statement/{number}>"
        lines += [_direct(company, "P159", city)] * now
        lines.append(f"<{_WIKIDATA}/entity/{company}> <{_WIKIDATA}/prop/P159> {node} .")
        lines.append(f"{node} <{_WIKIDATA}/prop/statement/P159> <{_WIKIDATA}/entity/{city}> .")
        for qualifier, year in zip(("P580", "P582"), years, strict=True):
            if year:
                date = f'"{year}-01-01T00:00:00Z"^^<{_XSD}>'
                lines.append(f"{node} <{_WIKIDATA}/prop/qualifier/{qualifier}> {date} .")
    return "\n".join(lines) + "\n"


def _direct(subject: str, number: str, value: str) -> str:
    entity = f"{_WIKIDATA}/entity/"
    return f"<{entity}{subject}> <{_WIKIDATA}/prop/direct/{number}> <{entity}{value}> ."
