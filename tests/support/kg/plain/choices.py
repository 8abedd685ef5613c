"""Which entities of a world the queries are about: `%name%` in a query is `name(graph)` here."""

from collections import Counter
from functools import cache
from itertools import combinations

from support.kg.plain.kg import FILM, HUMAN, PlainKg, text, year


def _commonest(things: list[str]) -> str:
    """The one that comes most often; of several, the first by number."""
    return min(Counter(things).items(), key=lambda item: (-item[1], item[0]))[0]


@cache
def director(g: PlainKg) -> str:
    """Who directed most films."""
    return _commonest([person for _, person in g.links("wdt:P57")])


@cache
def second_director(g: PlainKg) -> str:
    return _commonest([p for _, p in g.links("wdt:P57") if p != director(g)])


@cache
def strangers(g: PlainKg) -> tuple[str, str]:
    """The first two directors who never directed a film together."""
    directors = sorted({person for _, person in g.links("wdt:P57")})
    return next(
        (a, b)
        for a, b in combinations(directors, 2)
        if not {*g.subjects("wdt:P57", a)} & {*g.subjects("wdt:P57", b)}
    )


@cache
def stranger(g: PlainKg) -> str:
    return strangers(g)[0]


@cache
def other_stranger(g: PlainKg) -> str:
    return strangers(g)[1]


@cache
def star(g: PlainKg) -> str:
    """Who is in the cast of most films."""
    return _commonest([person for _, person in g.links("wdt:P161")])


@cache
def film(g: PlainKg) -> str:
    """The film with most cast members."""
    return _commonest([film for film, _ in g.links("wdt:P161")])


@cache
def second_film(g: PlainKg) -> str:
    return _commonest([other for other, _ in g.links("wdt:P161") if other != film(g)])


@cache
def novelist(g: PlainKg) -> str:
    return _commonest([person for _, person in g.links("wdt:P50")])


@cache
def club(g: PlainKg) -> str:
    """The club most players played for."""
    return _commonest([club for _, club in g.links("wdt:P54")])


@cache
def country(g: PlainKg) -> str:
    """The country most people are citizens of."""
    return _commonest([country for _, country in g.links("wdt:P27")])


@cache
def city(g: PlainKg) -> str:
    """The city most people were born in."""
    return _commonest([city for _, city in g.links("wdt:P19")])


@cache
def prize(g: PlainKg) -> str:
    """The award given most often."""
    return _commonest([award for _, award in g.links("wdt:P166")])


@cache
def student(g: PlainKg) -> str:
    """The scientist with the longest line of doctoral advisors."""

    def ancestors(person: str) -> int:
        return sum(1 + ancestors(advisor) for advisor in g.things(person, "wdt:P184"))

    return max(sorted({person for person, _ in g.links("wdt:P184")}), key=ancestors)


@cache
def film_year(g: PlainKg) -> str:
    """The year in which most films came out."""
    return _commonest([str(year(day)) for f in g.all(FILM) for day in g.values(f, "wdt:P577")])


@cache
def next_year(g: PlainKg) -> str:
    return str(int(film_year(g)) + 1)


@cache
def award_year(g: PlainKg) -> str:
    """The year in which most awards were given."""
    statements = [statement for _, statement in g.links("p:P166")]
    return _commonest([str(year(day)) for s in statements for day in g.values(s, "pq:P585")])


@cache
def shared_name(g: PlainKg) -> str:
    """The name that most entities bear."""
    return _commonest([text(name) for _, name in g.pairs("rdfs:label")])


@cache
def shared_person(g: PlainKg) -> str:
    """The name that most people bear."""
    return _commonest([text(g.label(person)) for person in g.all(HUMAN)])


@cache
def alias(g: PlainKg) -> str:
    """The alias that most people have."""
    return _commonest([text(a) for p in g.all(HUMAN) for a in g.values(p, "skos:altLabel")])


@cache
def accented_name(g: PlainKg) -> str:
    """A name with letters beyond ASCII."""
    names = sorted(text(g.label(person)) for person in g.all(HUMAN))
    return next(name for name in names if not name.isascii())


@cache
def accented_name_escaped(g: PlainKg) -> str:
    """The same with \\uXXXX for each such letter."""
    return "".join(c if c.isascii() else f"\\u{ord(c):04x}" for c in accented_name(g))
