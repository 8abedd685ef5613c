"""The evaluations of `queries/groups.yaml`."""

from collections import Counter, defaultdict
from decimal import Decimal

from support.kg.plain.answers import Expected, InOrder, Joined, OneOf, Row, evaluation
from support.kg.plain.choices import director, strangers
from support.kg.plain.kg import FILM, Node, PlainKg, amount, decimal, integer, text

ENTITY = "http://www.wikidata.org/entity/"


def _most_first(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _released(g: PlainKg) -> list[tuple[str, str]]:
    return sorted((text(day), f) for f in g.all(FILM) for day in g.values(f, "wdt:P577"))


def _grouped(pairs: list[tuple[str, Node]]) -> dict[str, list[Node]]:
    groups: dict[str, list[Node]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


@evaluation
def films_per_director(g: PlainKg) -> Expected:
    films = Counter(who for f in g.all(FILM) for who in g.things(f, "wdt:P57"))
    return InOrder(
        {"director": who, "directorLabel": g.label(who), "count": integer(count)}
        for who, count in _most_first(films)
    )


@evaluation
def busy_actors(g: PlainKg) -> Expected:
    films = Counter(actor for _, actor in g.links("wdt:P161"))
    return [{"actor": actor, "films": integer(n)} for actor, n in films.items() if n >= 4]


@evaluation
def how_many_films(g: PlainKg) -> Expected:
    return [{"films": integer(len(g.all(FILM)))}]


@evaluation
def how_many_of_nothing(g: PlainKg) -> Expected:
    """Without GROUP BY there is one group, even of no rows (SPARQL 1.1, 18.5.1)."""
    first, second = ({*g.subjects("wdt:P57", who)} for who in strangers(g))
    assert not first & second
    return [{"films": integer(0)}]


@evaluation
def genres_per_type(g: PlainKg) -> Expected:
    genres = _grouped(
        [(kind, o) for s, o in g.links("wdt:P136") for kind in g.things(s, "wdt:P31")]
    )
    return [
        {"class": kind, "all": integer(len(of)), "different": integer(len(set(of)))}
        for kind, of in genres.items()
    ]


@evaluation
def directors_as_one_text(g: PlainKg) -> Expected:
    names = _grouped([(f, g.label(who)) for f, who in g.links("wdt:P57")])
    return [
        {"film": f, "directors": Joined(tuple({text(name) for name in of}), ", ")}
        for f, of in names.items()
    ]


@evaluation
def labels_as_one_text(g: PlainKg) -> Expected:
    casts = {f: g.values(f, "wdt:P161") for f in g.subjects("wdt:P57", director(g))}
    return [
        {"film": f, "cast": Joined(tuple(text(g.label(actor)) for actor in cast), " / ")}
        for f, cast in casts.items()
        if cast
    ]


@evaluation
def entities_and_numbers_as_one_text(g: PlainKg) -> Expected:
    """As Wikidata's service does it; SPARQL 1.1 alone gives no value."""
    rows: list[Row] = []
    for f in g.subjects("wdt:P57", director(g)):
        actors, minutes = g.things(f, "wdt:P161"), [text(m) for m in g.values(f, "wdt:P2047")]
        iris = tuple(actor.replace("wd:", ENTITY) for actor in set(actors))
        long = Joined(tuple(minutes * len(actors)), " ")
        if iris and minutes:
            rows.append({"film": f, "cast": Joined(iris, " "), "long": long})
    return rows


@evaluation
def any_film_of_each_studio(g: PlainKg) -> Expected:
    return [
        {"studio": studio, "one": OneOf(frozenset(g.subjects("wdt:P272", studio)))}
        for studio in {studio for _, studio in g.links("wdt:P272")}
    ]


@evaluation
def durations_per_genre(g: PlainKg) -> Expected:
    pairs = [(genre, m) for f, m in g.pairs("wdt:P2047") for genre in g.things(f, "wdt:P136")]
    rows: list[Row] = []
    for genre, minutes in _grouped(pairs).items():
        of = [amount(m) for m in minutes]
        mean = decimal(Decimal(sum(of)) / len(of))
        shortest, longest = decimal(min(of)), decimal(max(of))
        rows.append({"genre": genre, "shortest": shortest, "longest": longest, "mean": mean})
    return rows


@evaluation
def pages_per_novelist(g: PlainKg) -> Expected:
    totals = Counter[str]()
    for novel, novelist in g.links("wdt:P50"):
        totals[novelist] += sum(int(amount(pages)) for pages in g.values(novel, "wdt:P1104"))
    return InOrder(
        {"novelist": who, "total": decimal(total)}
        for who, total in _most_first(totals)
        if total > 500
    )


@evaluation
def longer_than_the_mean(g: PlainKg) -> Expected:
    durations = g.pairs("wdt:P2047")
    total = sum(amount(m) for _, m in durations)
    return [{"film": f, "minutes": m} for f, m in durations if amount(m) * len(durations) > total]


@evaluation
def longest_film_of_each_director(g: PlainKg) -> Expected:
    pairs = [(who, m) for f, who in g.links("wdt:P57") for m in g.values(f, "wdt:P2047")]
    most = {who: max(of, key=amount) for who, of in _grouped(pairs).items()}
    return [
        {"director": who, "film": f, "most": most[who]}
        for f, who in g.links("wdt:P57")
        if who in most and most[who] in g.values(f, "wdt:P2047")
    ]


@evaluation
def prizes_even_if_none(g: PlainKg) -> Expected:
    return [
        {"novelist": who, "prizes": integer(len(g.values(who, "wdt:P166")))}
        for who in g.subjects("wdt:P106", "wd:Q6625963")
    ]


@evaluation
def most_films_first(g: PlainKg) -> Expected:
    films = Counter(actor for _, actor in g.links("wdt:P161"))
    return InOrder({"actor": actor} for actor, _ in _most_first(films)[:4])


@evaluation
def films_per_year(g: PlainKg) -> Expected:
    films = Counter(int(day[:4]) for day, _ in _released(g))
    return InOrder({"year": integer(y), "films": integer(n)} for y, n in sorted(films.items()))


@evaluation
def casts_of_the_first_films(g: PlainKg) -> Expected:
    first = [f for _, f in _released(g)[:4]]
    return [{"film": f, "actor": actor} for f in first for actor in g.values(f, "wdt:P161")]


@evaluation
def a_subquery_in_a_subquery(g: PlainKg) -> Expected:
    births = Counter(city for person, city in g.pairs("wdt:P19") if g.values(person, "wdt:P106"))
    return [{"most": integer(max(births.values()))}]


@evaluation
def shares_of_men_and_women(g: PlainKg) -> Expected:
    rows: list[Row] = []
    for gender, people in _grouped([(text(g.label(o)), s) for s, o in g.pairs("wdt:P21")]).items():
        dead = sum(bool(g.values(person, "wdt:P570")) for person in people)
        percent = decimal(int(Decimal(100 * dead) / len(people) + Decimal("0.5")))
        number = {"male": "wd:Q6581097", "female": "wd:Q6581072"}[gender]
        count = integer(len(people))
        rows.append({"gender": number, "people": count, "percentDead": percent})
    return rows


@evaluation
def having_by_the_name_of_a_count(g: PlainKg) -> Expected:
    """Wikidata's service knows the names of SELECT in HAVING."""
    films = Counter(actor for _, actor in g.links("wdt:P161"))
    return InOrder(
        {"actor": actor, "films": integer(count)}
        for actor, count in _most_first(films)
        if count > 4
    )


@evaluation
def having_by_the_names_of_two_aggregates(g: PlainKg) -> Expected:
    pairs = [(who, m) for f, who in g.links("wdt:P57") for m in g.values(f, "wdt:P2047")]
    totals = {
        who: (len(of), sum(map(amount, of), Decimal())) for who, of in _grouped(pairs).items()
    }
    return [
        {"director": who, "films": integer(count), "mean": decimal(total / count)}
        for who, (count, total) in totals.items()
        if count > 1 and total > 60 * count
    ]
