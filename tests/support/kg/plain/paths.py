"""The evaluations of `queries/paths.yaml`."""

from collections.abc import Callable, Iterable

from support.kg.plain.answers import Expected, evaluation
from support.kg.plain.choices import alias, director, film, prize, star, student
from support.kg.plain.kg import FILM, PlainKg, english, integer


def _reach(start: str, step: Callable[[str], Iterable[str]]) -> set[str]:
    """What can be reached in one step or more."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = {*step(waiting.pop())} - reached
        reached |= new
        waiting += new
    return reached


def _co_stars(g: PlainKg, person: str) -> set[str]:
    """Who is in the cast of a film with this person, the person included."""
    films = g.subjects("wdt:P161", person)
    return {actor for f in films for actor in g.things(f, "wdt:P161")}


@evaluation
def path_of_two_steps(g: PlainKg) -> Expected:
    return [
        {"film": f, "country": country}
        for f, person in g.links("wdt:P57")
        for country in g.values(person, "wdt:P27")
    ]


@evaluation
def path_to_a_label(g: PlainKg) -> Expected:
    return [{"film": f, "director": g.label(who)} for f, who in g.links("wdt:P57")]


@evaluation
def path_backwards(g: PlainKg) -> Expected:
    return [{"film": f} for f in g.subjects("wdt:P57", director(g))]


@evaluation
def path_of_alternatives(g: PlainKg) -> Expected:
    pairs = {pair for prop in ("wdt:P57", "wdt:P58", "wdt:P162") for pair in g.links(prop)}
    return [{"work": work, "person": person} for work, person in pairs]


@evaluation
def instance_of_a_subclass(g: PlainKg) -> Expected:
    assert not g.pairs("wdt:P279")
    films = [f for f in g.subjects("wdt:P161", star(g)) if f in g.all(FILM)]
    return [{"film": f, "filmLabel": g.label(f)} for f in films]


@evaluation
def one_or_more_steps(g: PlainKg) -> Expected:
    return [
        {"student": someone, "teacher": teacher}
        for someone in {person for person, _ in g.links("wdt:P184")}
        for teacher in _reach(someone, lambda who: g.things(who, "wdt:P184"))
    ]


@evaluation
def zero_or_more_steps(g: PlainKg) -> Expected:
    line = {student(g)} | _reach(student(g), lambda who: g.things(who, "wdt:P184"))
    return [{"ancestor": who, "ancestorLabel": g.label(who)} for who in line]


@evaluation
def at_most_one_step(g: PlainKg) -> Expected:
    return [
        {"place": place}
        for city in g.things(student(g), "wdt:P19")
        for place in {city, *g.things(city, "wdt:P17")}
    ]


@evaluation
def everyone_within_reach(g: PlainKg) -> Expected:
    return [{"count": integer(len(_reach(star(g), lambda who: _co_stars(g, who))))}]


@evaluation
def two_handshakes(g: PlainKg) -> Expected:
    near = _co_stars(g, star(g)) | {star(g)}
    far = {other for one in near for other in _co_stars(g, one)}
    return [{"other": other} for other in far - near]


@evaluation
def by_label_or_alias(g: PlainKg) -> Expected:
    name = english(alias(g))
    found = {*g.subjects("rdfs:label", name), *g.subjects("skos:altLabel", name)}
    return [{"person": person} for person in found]


@evaluation
def anything_but(g: PlainKg) -> Expected:
    """A negated set with an inverse in it holds the inverse statements, too (SPARQL 1.1, 9.1)."""
    left_out = "wdt:P161", "rdfs:label", "schema:description"
    said = [o for s, p, o in g.triples if s == film(g) and p not in left_out]
    of_it = [s for s, p, o in g.triples if o == film(g) and p != "wdt:P144"]
    return [{"value": value} for value in said + of_it]


@evaluation
def through_statements(g: PlainKg) -> Expected:
    return [
        {"winner": winner, "prize": won}
        for winner, statement in g.links("p:P166")
        for won in g.values(statement, "ps:P166")
        if won == prize(g)
    ]


@evaluation
def spaces_in_a_path(g: PlainKg) -> Expected:
    return one_or_more_steps(g)


@evaluation
def path_in_a_path(g: PlainKg) -> Expected:
    pairs = {
        (studio, artist)
        for studio in g.all("wd:Q1762059")
        for f in g.subjects("wdt:P272", studio)
        for prop in ("wdt:P57", "wdt:P86", "wdt:P161")
        for artist in g.things(f, prop)
    }
    return [{"studio": studio, "artist": artist} for studio, artist in pairs]
