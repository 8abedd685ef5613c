"""The evaluations of `queries/expressions.yaml`."""

import re
from itertools import combinations

from support.kg.plain.answers import Expected, Row, evaluation
from support.kg.plain.choices import accented_name, director, film, shared_name, stranger
from support.kg.plain.kg import (
    FILM,
    HUMAN,
    NOVEL,
    SONG,
    Literal,
    Node,
    PlainKg,
    amount,
    decimal,
    english,
    integer,
    text,
    year,
)


def _boolean(value: bool) -> Literal:
    return Literal(str(value).lower(), "xsd:boolean")


def _named(g: PlainKg, things: list[str]) -> list[tuple[str, str]]:
    return [(thing, text(g.label(thing))) for thing in things]


@evaluation
def long_and_short_films(g: PlainKg) -> Expected:
    return [
        {"film": f, "length": Literal("long" if amount(m) > 120 else "short")}
        for f, m in g.pairs("wdt:P2047")
    ]


@evaluation
def the_first_that_is_known(g: PlainKg) -> Expected:
    return [
        {"person": person, "end": end}
        for person in g.subjects("wdt:P106", "wd:Q2526255")
        for end in [integer(year(day)) for day in g.values(person, "wdt:P570")]
        or [Literal("alive")]
    ]


@evaluation
def names_that_contain(g: PlainKg) -> Expected:
    return [
        {"item": item, "label": name}
        for item, name in g.pairs("rdfs:label")
        if "the " in text(name).lower() and len(text(name)) > 14
    ]


@evaluation
def names_that_match(g: PlainKg) -> Expected:
    return [
        {"person": person, "name": g.label(person)}
        for person, name in _named(g, g.all(HUMAN))
        if name[0] in "TKtk" and re.fullmatch(r"[A-Za-z]+", name.rsplit(" ", 1)[1])
    ]


@evaluation
def names_that_end(g: PlainKg) -> Expected:
    named = _named(g, g.all(FILM))
    chosen = [f for f, name in named if name.endswith("s") or " " not in name]
    return [{"film": f, "name": g.label(f)} for f in chosen]


@evaluation
def one_of_a_list(g: PlainKg) -> Expected:
    listed = {director(g), stranger(g)}
    return [{"film": f} for who in listed for f in g.subjects("wdt:P57", who)]


@evaluation
def none_of_a_list(g: PlainKg) -> Expected:
    return [
        {"song": song, "genre": genre}
        for song in g.all(SONG)
        for genre in g.values(song, "wdt:P136")
        if genre not in {"wd:Q37073", "wd:Q11399", "wd:Q8341"}
    ]


@evaluation
def durations_in_a_range(g: PlainKg) -> Expected:
    durations = g.pairs("wdt:P2047")
    return [{"film": f, "minutes": m} for f, m in durations if 100 <= amount(m) <= 120]


@evaluation
def hours_and_minutes(g: PlainKg) -> Expected:
    return [
        {"film": f, "hours": decimal(amount(m) // 60), "rest": decimal(amount(m) % 60)}
        for f, m in g.pairs("wdt:P2047")
    ]


@evaluation
def casts_between_types(g: PlainKg) -> Expected:
    return [
        {
            "film": f,
            "whole": integer(int(amount(m))),
            "text": Literal(text(m)),
            "long": _boolean(amount(m) > 120),
        }
        for f, m in g.pairs("wdt:P2047")
    ]


@evaluation
def day_of_an_instant(g: PlainKg) -> Expected:
    """A cast to a date keeps the time zone (XPath functions, 19.2)."""
    return [
        {"novel": novel, "day": Literal(text(day)[:10] + "Z")}
        for novel in g.all(NOVEL)
        for day in g.values(novel, "wdt:P577")
    ]


@evaluation
def numbers_as_text(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for album, title in _named(g, g.all("wd:Q482994")):
        number = album.removeprefix("wd:")
        sentence = f"{title.upper()} is {number}"
        rows.append({"number": Literal(number), "sentence": Literal(sentence)})
    return rows


@evaluation
def what_kind_of_value(g: PlainKg) -> Expected:
    return [{"value": o, "kind": Literal(_kind(o))} for s, _, o in g.triples if s == film(g)]


def _kind(node: Node) -> str:
    if isinstance(node, str):
        return "thing"
    if node.datatype == "xsd:decimal":
        return "number"
    if node.language:
        return "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
    return node.datatype.replace("xsd:", "http://www.w3.org/2001/XMLSchema#")


@evaluation
def not_bound(g: PlainKg) -> Expected:
    return [{"film": f} for f in g.all(FILM) if not g.values(f, "wdt:P86")]


@evaluation
def films_with_the_name_of_a_novel(g: PlainKg) -> Expected:
    return [
        {"film": f, "novel": novel, "name": g.label(f)}
        for f in g.all(FILM)
        for novel in g.all(NOVEL)
        if g.label(f) == g.label(novel)
    ]


@evaluation
def pairs_of_one_name(g: PlainKg) -> Expected:
    people = combinations(sorted(g.all(HUMAN)), 2)
    return [{"a": a, "b": b} for a, b in people if g.label(a) == g.label(b)]


@evaluation
def text_with_quotes(g: PlainKg) -> Expected:
    labels = [(item, text(name)) for item, name in g.pairs("rdfs:label")]
    return [{"item": item} for item, name in labels if "'s " in name or name == shared_name(g)]


@evaluation
def exists_in_a_test(g: PlainKg) -> Expected:
    return [{"film": f, "adapted": _boolean(bool(g.values(f, "wdt:P144")))} for f in g.all(FILM)]


@evaluation
def surname(g: PlainKg) -> Expected:
    actors = _named(g, g.subjects("wdt:P106", "wd:Q33999"))
    return [{"actor": a, "surname": Literal(name.rsplit(" ", 1)[1])} for a, name in actors]


@evaluation
def letters_beyond_ascii(g: PlainKg) -> Expected:
    return [{"person": who} for who in g.subjects("rdfs:label", english(accented_name(g)))]


@evaluation
def escaped_letters(g: PlainKg) -> Expected:
    return letters_beyond_ascii(g)
