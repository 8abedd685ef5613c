"""The evaluations of `queries/label_corners.yaml`."""

from collections import Counter

from support.kg.plain.answers import Expected, InOrder, Joined, Row, evaluation
from support.kg.plain.choices import director, film, star
from support.kg.plain.kg import FILM, NOVEL, SONG, Literal, PlainKg, integer, text, year


def _films(g: PlainKg) -> list[str]:
    return g.subjects("wdt:P57", director(g))


def _named(g: PlainKg, row: Row, variable: str, things: list[str]) -> list[Row]:
    """The row with each thing's label in turn, or as it is where there is no thing."""
    return [{**row, variable: g.label(thing)} for thing in things] or [row]


@evaluation
def labels_in_two_branches(g: PlainKg) -> Expected:
    roles = {"wdt:P57": "directorLabel", "wdt:P58": "writerLabel"}
    return [
        {"film": f, role: g.label(person)}
        for f in g.subjects("wdt:P161", star(g))
        for prop, role in roles.items()
        for person in g.values(f, prop)
    ]


@evaluation
def label_of_what_may_be_missing(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for who in g.subjects("wdt:P106", "wd:Q2526255"):
        died = [{"director": who, "died": day} for day in g.values(who, "wdt:P570")]
        schools = [
            {"schoolLabel": g.label(school), "schoolDescription": g.description(school)}
            for school in g.values(who, "wdt:P69")
        ]
        rows += [
            {**row, **school} for row in died or [{"director": who}] for school in schools or [{}]
        ]
    return rows


@evaluation
def labels_of_nested_optionals(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for f in g.all(FILM):
        sources = g.things(f, "wdt:P144")
        for source in sources:
            row: Row = {"filmLabel": g.label(f), "sourceLabel": g.label(source)}
            dead = [a for a in g.things(source, "wdt:P50") if g.values(a, "wdt:P570")]
            rows += _named(g, row, "authorLabel", dead)
        rows += [] if sources else [{"filmLabel": g.label(f)}]
    return rows


@evaluation
def label_service_in_an_optional(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for f in g.subjects("wdt:P161", star(g)):
        rows += _named(g, {"film": f}, "composerLabel", g.things(f, "wdt:P86"))
    return rows


@evaluation
def manual_label_of_what_may_be_missing(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for song in g.all(SONG):
        rows += _named(g, {"song": song}, "writer", g.things(song, "wdt:P676"))
    return rows


@evaluation
def label_of_an_undefined_value(g: PlainKg) -> Expected:
    first = {"n": integer(1), "thingLabel": g.label(film(g))}
    return [first, {"n": integer(2)}, {"n": integer(3), "thingLabel": g.label(director(g))}]


@evaluation
def label_of_a_value_bound_late(g: PlainKg) -> Expected:
    return [
        {"film": f, "sexLabel": g.label(gender)}
        for f, who in g.links("wdt:P57")
        for gender in g.values(who, "wdt:P21")
    ]


@evaluation
def own_label_is_left_alone(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for country in g.all("wd:Q6256"):
        row: Row = {"country": country, "countryLabel": g.label(country)}
        rows += _named(g, row, "capitalLabel", g.things(country, "wdt:P36"))
    return rows


@evaluation
def own_label_in_an_optional(g: PlainKg) -> Expected:
    return label_service_in_an_optional(g)


@evaluation
def own_variable_named_like_a_label(g: PlainKg) -> Expected:
    return [
        {"label": g.label(album), "recordLabel": company}
        for album in g.all("wd:Q482994")
        for company in g.values(album, "wdt:P264")
    ]


@evaluation
def count_beside_the_service(g: PlainKg) -> Expected:
    composers = [g.values(f, "wdt:P86") for f in g.all(FILM)]
    rows = sum(max(1, len(of)) for of in composers)
    return [{"films": integer(rows), "composers": integer(sum(map(len, composers)))}]


@evaluation
def labels_in_aggregates(g: PlainKg) -> Expected:
    genres: dict[str, set[str]] = {}
    for f, who in g.links("wdt:P57"):
        names = {text(g.label(genre)) for genre in g.values(f, "wdt:P136")}
        genres[who] = genres.get(who, set()) | names
    return [
        {"director": who, "name": g.label(who), "genres": Joined(tuple(names), "; ")}
        for who, names in genres.items()
        if names
    ]


@evaluation
def label_under_another_name(g: PlainKg) -> Expected:
    return [{"film": f, "title": g.label(f)} for f in _films(g)]


@evaluation
def label_in_an_expression(g: PlainKg) -> Expected:
    dated = [(f, day) for f in _films(g) for day in g.values(f, "wdt:P577")]
    return [{"text": Literal(f"{text(g.label(f))} ({year(day)})")} for f, day in dated]


@evaluation
def order_by_a_label_that_is_not_shown(g: PlainKg) -> Expected:
    ordered = sorted(sorted(_films(g)), key=lambda f: text(g.label(f)), reverse=True)
    return InOrder({"film": f} for f in ordered)


@evaluation
def label_outside_of_a_subquery(g: PlainKg) -> Expected:
    films = Counter(actor for _, actor in g.links("wdt:P161"))
    busy = [(actor, count) for actor, count in films.items() if count > 4]
    busy.sort(key=lambda pair: (text(g.label(pair[0])), pair[0]))
    return InOrder({"actorLabel": g.label(a), "films": integer(count)} for a, count in busy)


@evaluation
def labels_inside_and_outside(g: PlainKg) -> Expected:
    return [
        {"filmLabel": g.label(f), "directorLabel": g.label(who)}
        for f in g.subjects("wdt:P161", star(g))
        for who in g.values(f, "wdt:P57")
    ]


@evaluation
def name_tests_in_having(g: PlainKg) -> Expected:
    films = Counter(genre for f in g.all(FILM) for genre in g.things(f, "wdt:P136"))
    named = [(genre, n) for genre, n in films.items() if "film" in text(g.label(genre))]
    return [{"genre": genre, "films": integer(n)} for genre, n in named]


@evaluation
def not_exists_beside_labels(g: PlainKg) -> Expected:
    filmed = {novel for _, novel in g.pairs("wdt:P144")}
    without = [n for n in g.all(NOVEL) if n not in filmed and not g.values(n, "wdt:P166")]
    return [{"novelLabel": g.label(novel)} for novel in without]


@evaluation
def construct_names(g: PlainKg) -> Expected:
    return {(actor, "rdfs:label", g.label(actor)) for actor in g.things(film(g), "wdt:P161")}
