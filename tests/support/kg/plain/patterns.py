"""The evaluations of `queries/patterns.yaml`."""

from support.kg.plain.answers import Expected, Row, evaluation
from support.kg.plain.choices import (
    city,
    country,
    director,
    film,
    second_film,
    shared_name,
    shared_person,
    star,
    strangers,
)
from support.kg.plain.kg import FILM, HUMAN, PlainKg, amount, english


def _films_of(g: PlainKg, prop: str = "wdt:P57") -> list[str]:
    return g.subjects(prop, director(g))


@evaluation
def bearers_of_a_shared_name(g: PlainKg) -> Expected:
    bearers = g.subjects("rdfs:label", english(shared_name(g)))
    return [{"item": bearer, "description": g.description(bearer)} for bearer in bearers]


@evaluation
def optional_date_of_death(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for person in g.subjects("wdt:P106", "wd:Q2526255"):
        rows += [{"person": person, "died": day} for day in g.values(person, "wdt:P570")] or [
            {"person": person}
        ]
    return rows


@evaluation
def filter_inside_optional(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for f, _ in g.links("wdt:P57"):
        long = [m for m in g.values(f, "wdt:P2047") if amount(m) > 120]
        rows += [{"film": f, "minutes": minutes} for minutes in long] or [{"film": f}]
    return rows


@evaluation
def nested_optional(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for f in g.all(FILM):
        written = [
            {"film": f, "novel": novel, "author": author}
            for novel in g.things(f, "wdt:P144")
            for author in g.things(novel, "wdt:P50")
        ]
        for row in written or [{"film": f}]:
            author = row.get("author", "")
            places = g.things(author, "wdt:P19") * len(g.values(author, "wdt:P69"))
            rows += [row | {"birthplace": place} for place in places] or [row]
    return rows


@evaluation
def values_of_one_variable(g: PlainKg) -> Expected:
    films = film(g), second_film(g)
    return [{"film": f, "actor": actor} for f in films for actor in g.values(f, "wdt:P161")]


@evaluation
def values_of_several_variables(g: PlainKg) -> Expected:
    roles = {
        "wdt:P57": english("director")._replace(language=""),
        "wdt:P161": english("actor")._replace(language=""),
        "wdt:P86": english("composer"),
    }
    return [
        {"film": f, "role": role, "person": person}
        for f in (film(g), second_film(g))
        for prop, role in roles.items()
        for person in g.values(f, prop)
    ]


@evaluation
def values_after_the_query(g: PlainKg) -> Expected:
    name = english(shared_person(g))
    bearers = [person for person in g.all(HUMAN) if g.label(person) == name]
    return [{"person": person, "name": name} for person in bearers]


@evaluation
def union_of_roles(g: PlainKg) -> Expected:
    roles = {"wdt:P57": "directed", "wdt:P58": "wrote", "wdt:P162": "produced"}
    return [
        {"film": f, "role": english(role)._replace(language="")}
        for prop, role in roles.items()
        for f in _films_of(g, prop)
    ]


@evaluation
def minus_actors_with_a_school(g: PlainKg) -> Expected:
    actors = g.subjects("wdt:P106", "wd:Q33999")
    return [{"actor": actor} for actor in actors if not g.values(actor, "wdt:P69")]


@evaluation
def minus_that_shares_no_variable(g: PlainKg) -> Expected:
    """MINUS takes nothing away where no variable is shared (SPARQL 1.1, 8.3.3)."""
    return [{"film": f} for f in _films_of(g)]


@evaluation
def people_still_alive(g: PlainKg) -> Expected:
    citizens = [p for p in g.subjects("wdt:P27", country(g)) if p in g.all(HUMAN)]
    return [{"person": person} for person in citizens if not g.values(person, "wdt:P570")]


@evaluation
def people_with_a_film_and_an_education(g: PlainKg) -> Expected:
    educated = {person for person, _ in g.pairs("wdt:P69")}
    in_films = {p for prop in ("wdt:P161", "wdt:P57", "wdt:P58") for _, p in g.pairs(prop)}
    return [{"person": person} for person in educated & in_films]


@evaluation
def director_and_actor_of_one_city(g: PlainKg) -> Expected:
    return [
        {"film": f, "director": who, "actor": actor}
        for f, who in g.links("wdt:P57")
        for actor in g.things(f, "wdt:P161")
        for place in g.values(who, "wdt:P19")
        if place in g.values(actor, "wdt:P19") and (place == city(g) or who != actor)
    ]


@evaluation
def co_stars(g: PlainKg) -> Expected:
    films = g.subjects("wdt:P161", star(g))
    others = {actor for f in films for actor in g.values(f, "wdt:P161")} - {star(g)}
    return [{"other": other} for other in others]


@evaluation
def blank_node_in_brackets(g: PlainKg) -> Expected:
    return [
        {"film": f, "country": home}
        for f in g.all(FILM)
        for person in g.things(f, "wdt:P57")
        if "wd:Q6581072" in g.values(person, "wdt:P21")
        for home in g.values(person, "wdt:P27")
    ]


@evaluation
def blank_node_subject(g: PlainKg) -> Expected:
    return [{"studio": studio} for studio in {studio for _, studio in g.pairs("wdt:P272")}]


@evaluation
def a_for_type(g: PlainKg) -> Expected:
    return [
        {"property": prop, "name": g.label(prop)}
        for prop in g.subjects("rdf:type", "wikibase:Property")
    ]


@evaluation
def full_iris(g: PlainKg) -> Expected:
    return [{"film": f} for f in _films_of(g)]


@evaluation
def own_prefixes(g: PlainKg) -> Expected:
    return [{"film": f, "name": g.label(f)} for f in _films_of(g)]


@evaluation
def dollar_variables(g: PlainKg) -> Expected:
    return [
        {"album": album, "performer": performer}
        for album in g.all("wd:Q482994")
        for performer in g.values(album, "wdt:P175")
    ]


@evaluation
def how_two_things_are_related(g: PlainKg) -> Expected:
    cast = g.values(film(g), "wdt:P161")
    return [{"how": p} for s, p, o in g.triples if s == film(g) and o in cast]


@evaluation
def select_everything(g: PlainKg) -> Expected:
    return [
        {"club": club, "ground": ground, "seats": seats}
        for club in g.all("wd:Q476028")
        for ground in g.things(club, "wdt:P115")
        for seats in g.values(ground, "wdt:P1083")
    ]


@evaluation
def a_variable_that_nothing_binds(g: PlainKg) -> Expected:
    return [{"film": f} for f in _films_of(g)]


@evaluation
def nothing_found(g: PlainKg) -> Expected:
    first, second = ({*g.subjects("wdt:P57", who)} for who in strangers(g))
    return [{"film": f, "filmLabel": g.label(f)} for f in first & second]
