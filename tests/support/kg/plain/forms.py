"""The evaluations of `queries/forms.yaml`."""

from support.kg.plain.answers import Expected, InOrder, Row, evaluation
from support.kg.plain.choices import director, film, novelist, shared_name, star
from support.kg.plain.kg import FILM, HUMAN, PlainKg, english, text, year

CLUB = "wd:Q476028"


def _labelled(g: PlainKg, variable: str, things: list[str]) -> list[Row]:
    return [{variable: thing, f"{variable}Label": g.label(thing)} for thing in things]


def _films(g: PlainKg) -> list[str]:
    return g.subjects("wdt:P57", director(g))


def _latest_first(g: PlainKg, films: list[str]) -> list[str]:
    dates = {f: text(day) for f in films for day in g.values(f, "wdt:P577")}
    return sorted(sorted(dates), key=dates.__getitem__, reverse=True)


@evaluation
def ask_what_is_so(g: PlainKg) -> Expected:
    return bool(g.values(film(g), "wdt:P161", "wdt:P569"))


@evaluation
def ask_what_is_not_so(g: PlainKg) -> Expected:
    return False


@evaluation
def construct_statements(g: PlainKg) -> Expected:
    directed = [(f, who) for f in g.subjects("wdt:P161", star(g)) for who in g.things(f, "wdt:P57")]
    names = {(who, "rdfs:label", g.label(who)) for _, who in directed}
    return names | {(f, "wdt:P57", who) for f, who in directed}


@evaluation
def construct_what_matches(g: PlainKg) -> Expected:
    homes = [(club, home) for club in g.all(CLUB) for home in g.values(club, "wdt:P115")]
    kinds = {(club, "wdt:P31", CLUB) for club, _ in homes}
    return kinds | {(club, "wdt:P115", home) for club, home in homes}


@evaluation
def construct_with_labels(g: PlainKg) -> Expected:
    return {(club, "rdfs:label", g.label(club)) for club in g.all(CLUB)}


@evaluation
def describe_one(g: PlainKg) -> Expected:
    """What a description holds is left to the server; here, all that is said of the thing."""
    return {triple for triple in g.triples if triple[0] == film(g)}


@evaluation
def describe_what_matches(g: PlainKg) -> Expected:
    return {triple for triple in g.triples if triple[0] in _films(g)}


@evaluation
def comments_and_a_view(g: PlainKg) -> Expected:
    return _labelled(g, "film", g.subjects("wdt:P161", star(g)))


@evaluation
def windows_line_ends(g: PlainKg) -> Expected:
    return _labelled(g, "film", _films(g))


@evaluation
def tabs(g: PlainKg) -> Expected:
    return InOrder({"film": f, "name": g.label(f)} for f in sorted(_films(g)))


@evaluation
def lower_case(g: PlainKg) -> Expected:
    works = {*_films(g), *g.subjects("wdt:P58", director(g))}
    dated = [f for f in works if any(year(day) > 1900 for day in g.values(f, "wdt:P577"))]
    return InOrder(_labelled(g, "film", _latest_first(g, dated)[:10]))


@evaluation
def in_a_code_fence(g: PlainKg) -> Expected:
    return _labelled(g, "film", _films(g))


@evaluation
def on_one_line(g: PlainKg) -> Expected:
    latest = _latest_first(g, _films(g))[:3]
    return InOrder({"film": f, "date": day} for f in latest for day in g.values(f, "wdt:P577"))


@evaluation
def without_where(g: PlainKg) -> Expected:
    return [{"novel": novel} for novel in g.subjects("wdt:P50", novelist(g))]


@evaluation
def second_page(g: PlainKg) -> Expected:
    return InOrder(_labelled(g, "person", sorted(g.all(HUMAN))[10:20]))


@evaluation
def distinct_countries(g: PlainKg) -> Expected:
    return [{"country": country} for country in {country for _, country in g.pairs("wdt:P27")}]


@evaluation
def all_prefixes_declared(g: PlainKg) -> Expected:
    bearers = g.subjects("rdfs:label", english(shared_name(g)))
    named = zip(_labelled(g, "item", bearers), bearers, strict=True)
    return [{**row, "itemDescription": g.description(bearer)} for row, bearer in named]


@evaluation
def only_the_label(g: PlainKg) -> Expected:
    names = {text(g.label(f)) for f in g.all(FILM)}
    return InOrder({"filmLabel": english(name)} for name in sorted(names))
