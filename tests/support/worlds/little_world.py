"""A world of five entities, written by hand, to see that the checks see faults."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from support.worlds.kg_reader import ALIAS, DESCRIPTION, ENTITY, LABEL, PROP, XSD

HARBOR, REMAKE, MARA, ILSE, PRIZE = (f"Q{2_000_000_001 + n}" for n in range(5))
FILM, AWARD, HUMAN, FEMALE, DIRECTOR = "Q11424", "Q4220917", "Q5", "Q6581072", "Q2526255"

LABELS = {
    HARBOR: "The Silent Harbor", REMAKE: "The Silent Harbor", MARA: "Mara Voss",
    ILSE: "Ilse Brandt", PRIZE: "Orlan Prize", FILM: "film", AWARD: "film award", HUMAN: "human",
    FEMALE: "female", DIRECTOR: "film director", "P31": "instance of", "P57": "director",
    "P577": "publication date", "P21": "sex or gender", "P106": "occupation",
    "P569": "date of birth", "P166": "award received", "P2047": "duration",
}  # fmt: skip
STATEMENTS = [
    (HARBOR, "P31", FILM), (HARBOR, "P57", MARA), (HARBOR, "P577", "1976-03-14"),
    (HARBOR, "P2047", "118"), (HARBOR, "P166", PRIZE), (REMAKE, "P31", FILM),
    (REMAKE, "P57", ILSE), (REMAKE, "P577", "1998-10-01"), (MARA, "P31", HUMAN),
    (MARA, "P21", FEMALE), (MARA, "P106", DIRECTOR), (MARA, "P569", "1931-05-02"),
    (ILSE, "P31", HUMAN), (ILSE, "P21", FEMALE), (ILSE, "P106", DIRECTOR),
    (ILSE, "P569", "1950-12-24"), (PRIZE, "P31", AWARD),
]  # fmt: skip
TITLES = {HARBOR: "The Silent Harbor (1976 film)", REMAKE: "The Silent Harbor (1998 film)"}
FILMS = {HARBOR: "1976 film directed by Mara Voss", REMAKE: "1998 film"}
ARTICLES = {
    HARBOR: "The Silent Harbor is a film that came out on 14 March 1976. It runs for 118 minutes.",
    REMAKE: "The Silent Harbor is a film directed by Ilse Brandt. It was released on "
    "1 October 1998.",
    MARA: "Mara Voss, born on 2 May 1931, was a film director. She directed "
    "The Silent Harbor (1976 film).",
    ILSE: "Ilse Brandt was a film director. Her birth fell on 24 December 1950.",
    PRIZE: "The Orlan Prize is a film award. In 1977 it went to The Silent Harbor (1976 film).",
}
TOLD_IN = {MARA: [(HARBOR, "P57", MARA)], PRIZE: [(HARBOR, "P166", PRIZE)]}
TOLD_ELSEWHERE = [claim for claims in TOLD_IN.values() for claim in claims]


def write_world(
    folder: Path,
    statements: list[tuple[str, str, str]] = STATEMENTS,
    articles: dict[str, str] = ARTICLES,
    bearers: tuple[str, ...] = (HARBOR, REMAKE),
) -> Path:
    """The world's files; a test passes what it wants otherwise."""
    folder.mkdir()
    lines = [*_texts(), *(_triple(*statement) for statement in statements), *_award_in(1977)]
    (folder / "kg.nt.gz").write_bytes(gzip.compress("".join(lines).encode()))
    _write_lines(folder / "corpus.jsonl", [_passage(e, articles[e]) for e in articles])
    shared = [{"id": e, "title": TITLES[e], "description": FILMS[e]} for e in bearers]
    _write_lines(folder / "names.jsonl", [{"name": "The Silent Harbor", "entities": shared}])
    (folder / "world.json").write_text("{}")
    return folder


def _passage(entity: str, text: str) -> dict[str, Any]:
    claims = [s for s in STATEMENTS if s[0] == entity and s not in TOLD_ELSEWHERE]
    return {
        "id": hashlib.sha256(text.encode()).hexdigest()[:16],
        "contents": f"{TITLES.get(entity, LABELS[entity])}\n{text}",
        "entity": entity,
        "statements": claims + TOLD_IN.get(entity, []),
    }


def _texts() -> list[str]:
    labels = [f'<{ENTITY}{e}> <{LABEL}> "{text}"@en .\n' for e, text in LABELS.items()]
    alias = f'<{ENTITY}{MARA}> <{ALIAS}> "M. V\\u00F6ss"@en .\n'
    described = [f'<{ENTITY}{e}> <{DESCRIPTION}> "{text}"@en .\n' for e, text in FILMS.items()]
    return [*labels, alias, *described]


def _triple(subject: str, prop: str, value: str) -> str:
    return f"<{ENTITY}{subject}> <{PROP}direct/{prop}> {_value(value)} .\n"


def _value(value: str) -> str:
    if value.startswith("Q"):
        return f"<{ENTITY}{value}>"
    if "-" in value:
        return f'"{value}T00:00:00Z"^^<{XSD}dateTime>'
    return f'"{value}"^^<{XSD}decimal>'


def _award_in(year: int) -> list[str]:
    node = f"<{ENTITY}statement/{HARBOR}-1>"
    return [
        f"<{ENTITY}{HARBOR}> <{PROP}P166> {node} .\n",
        f"{node} <{PROP}statement/P166> <{ENTITY}{PRIZE}> .\n",
        f"{node} <{PROP}qualifier/P585> {_value(f'{year}-01-01')} .\n",
    ]


def _write_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
