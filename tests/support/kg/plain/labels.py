"""The evaluations of `queries/labels.yaml`."""

from collections import Counter

from support.kg.plain.answers import Expected, InOrder, Joined, Row, evaluation
from support.kg.plain.choices import city, director, film, shared_name
from support.kg.plain.kg import (
    FILM,
    HUMAN,
    NOVEL,
    SONG,
    Literal,
    PlainKg,
    amount,
    english,
    integer,
    text,
)


@evaluation
def label_service_last(g: PlainKg) -> Expected:
    return [{"film": f, "filmLabel": g.label(f)} for f in g.subjects("wdt:P57", director(g))]


@evaluation
def label_service_first(g: PlainKg) -> Expected:
    return [
        {"film": f, "filmLabel": g.label(f), "actor": a, "actorLabel": g.label(a)}
        for f in g.subjects("wdt:P57", director(g))
        for a in g.things(f, "wdt:P161")
    ]


@evaluation
def label_service_in_the_middle(g: PlainKg) -> Expected:
    return [
        {
            "novelLabel": g.label(novel),
            "novelDescription": g.description(novel),
            "publisherLabel": g.label(publisher),
            "pages": pages,
        }
        for novel in g.all(NOVEL)
        for publisher in g.values(novel, "wdt:P123")
        for pages in g.values(novel, "wdt:P1104")
        if amount(pages) > 300
    ]


@evaluation
def label_service_around_a_subquery(g: PlainKg) -> Expected:
    films = Counter(person for f in g.all(FILM) for person in g.things(f, "wdt:P57"))
    first = sorted(films.items(), key=lambda item: (-item[1], item[0]))[:3]
    return InOrder(
        {"director": who, "directorLabel": g.label(who), "count": integer(count)}
        for who, count in first
    )


@evaluation
def label_service_inside_a_subquery(g: PlainKg) -> Expected:
    actors = Counter[Literal]()
    for f in g.subjects("wdt:P57", director(g)):
        actors[g.label(f)] += len(g.values(f, "wdt:P161"))
    return [{"filmLabel": name, "actors": integer(count)} for name, count in actors.items()]


@evaluation
def label_service_in_manual_mode(g: PlainKg) -> Expected:
    return [
        {
            "player": player,
            "name": g.label(player),
            "what": g.description(player),
            "clubName": g.label(club),
        }
        for player, club in g.links("wdt:P54")
    ]


@evaluation
def label_service_with_mul(g: PlainKg) -> Expected:
    genres = {genre for song in g.all(SONG) for genre in g.things(song, "wdt:P136")}
    return [{"genre": genre, "genreLabel": g.label(genre)} for genre in genres]


@evaluation
def label_service_with_english_last(g: PlainKg) -> Expected:
    return [
        {"city": c, "cityLabel": g.label(c), "countryLabel": g.label(country)}
        for c in g.all("wd:Q515")
        for country in g.things(c, "wdt:P17")
    ]


@evaluation
def label_service_without_english(g: PlainKg) -> Expected:
    """Wikidata's service gives the number for a label that is missing, and no description."""
    return [{"city": c, "cityLabel": Literal(c.removeprefix("wd:"))} for c in g.all("wd:Q515")]


@evaluation
def label_without_the_service(g: PlainKg) -> Expected:
    return [
        {"novel": n, "novelLabel": g.label(n), "author": a, "authorLabel": g.label(a)}
        for n in g.all(NOVEL)
        for a in g.things(n, "wdt:P50")
    ]


@evaluation
def label_without_the_service_grouped(g: PlainKg) -> Expected:
    films = Counter(g.label(genre) for f in g.all(FILM) for genre in g.values(f, "wdt:P136"))
    return InOrder(
        {"genreLabel": name, "films": integer(count)}
        for name, count in sorted(films.items(), key=lambda item: (-item[1], item[0].text))
    )


@evaluation
def label_without_the_service_filtered(g: PlainKg) -> Expected:
    named = [(f, g.label(f)) for f in g.all(FILM)]
    return [{"film": f, "filmLabel": name} for f, name in named if name.text.startswith("The ")]


@evaluation
def descriptions_and_aliases_of_the_service(g: PlainKg) -> Expected:
    """Wikidata's service joins several aliases with a comma and a space."""
    rows: list[Row] = []
    for person in g.subjects("wdt:P19", city(g)):
        assert person in g.all(HUMAN)
        name, what = g.label(person), g.description(person)
        row: Row = {"person": person, "personLabel": name, "personDescription": what}
        aliases = tuple(text(alias) for alias in g.values(person, "skos:altLabel"))
        rows.append({**row, "personAltLabel": Joined(aliases, ", ")} if aliases else row)
    return rows


@evaluation
def description_without_the_service(g: PlainKg) -> Expected:
    bearers = g.subjects("rdfs:label", english(shared_name(g)))
    return [{"thing": b, "thingDescription": g.description(b)} for b in bearers]


@evaluation
def labels_of_properties_and_values(g: PlainKg) -> Expected:
    """Wikidata's service gives a literal's text where a label is asked of a literal."""
    return [
        {
            "propertyLabel": g.label(prop),
            "value": value,
            "valueLabel": Literal(value.text) if isinstance(value, Literal) else g.label(value),
        }
        for prop, direct in g.links("wikibase:directClaim")
        for value in g.values(film(g), direct)
    ]


@evaluation
def label_of_what_is_not_there(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for f in g.all(FILM):
        row: Row = {"film": f, "filmLabel": g.label(f)}
        names = [g.label(composer) for composer in g.values(f, "wdt:P86")]
        rows += [{**row, "composerLabel": name} for name in names] or [row]
    return rows


@evaluation
def ordered_by_label(g: PlainKg) -> Expected:
    named = sorted((g.label(f).text, f) for f in g.all(FILM))
    return InOrder({"film": f, "filmLabel": english(name)} for name, f in named)


@evaluation
def names_that_several_things_share(g: PlainKg) -> Expected:
    bearers = Counter(g.label(thing) for thing, _ in g.pairs("wdt:P31"))
    return [
        {"thingLabel": name, "bearers": integer(count)}
        for name, count in bearers.items()
        if count > 3
    ]
