"""The evaluations of `queries/times.yaml`."""

from collections import Counter

from support.kg.plain.answers import Expected, InOrder, OneOf, Row, evaluation
from support.kg.plain.choices import award_year, club, film_year, prize
from support.kg.plain.kg import FILM, HUMAN, Literal, Node, PlainKg, date, integer, text, year


def _films_of_the_year(g: PlainKg) -> Expected:
    return [
        {"film": f, "date": day}
        for f in g.all(FILM)
        for day in g.values(f, "wdt:P577")
        if str(year(day)) == film_year(g)
    ]


def _month_and_day(node: Node) -> tuple[int, int]:
    return int(text(node)[5:7]), int(text(node)[8:10])


@evaluation
def films_of_a_year(g: PlainKg) -> Expected:
    return _films_of_the_year(g)


@evaluation
def between_two_instants(g: PlainKg) -> Expected:
    born = [(person, day) for person in g.all(HUMAN) for day in g.values(person, "wdt:P569")]
    return [{"person": person, "born": day} for person, day in born if 1960 <= year(day) < 1980]


@evaluation
def between_two_days(g: PlainKg) -> Expected:
    """Wikidata's tutorials write "1980-01-01"^^xsd:dateTime, and its service reads it."""
    return _films_of_the_year(g)


@evaluation
def instants_without_a_time_zone(g: PlainKg) -> Expected:
    """UTC is meant; of an award given in some year, the first of January is known."""
    return [
        {"winner": winner, "when": when}
        for winner, statement in g.links("p:P166")
        for when in g.values(statement, "pq:P585")
        if str(year(when)) >= award_year(g)
    ]


@evaluation
def oldest_films(g: PlainKg) -> Expected:
    released = sorted((text(day), f) for f in g.all(FILM) for day in g.values(f, "wdt:P577"))
    return InOrder(
        {"film": f, "filmLabel": g.label(f), "date": Literal(day, "xsd:dateTime")}
        for day, f in released[:5]
    )


@evaluation
def youngest_first(g: PlainKg) -> Expected:
    players = [
        (p, day) for p in g.subjects("wdt:P106", "wd:Q937857") for day in g.values(p, "wdt:P569")
    ]
    players.sort()
    players.sort(key=lambda pair: text(pair[1]), reverse=True)
    return InOrder({"person": person, "born": day} for person, day in players)


@evaluation
def years_of_a_prize(g: PlainKg) -> Expected:
    return [
        {"winner": winner, "winnerLabel": g.label(winner), "year": integer(year(when))}
        for winner, statement in g.links("p:P166")
        for when in g.values(statement, "pq:P585")
        if prize(g) in g.values(statement, "ps:P166")
    ]


@evaluation
def careers_at_a_club(g: PlainKg) -> Expected:
    rows: list[tuple[str, str, Row]] = []
    for player, membership in g.links("p:P54"):
        if club(g) in g.values(membership, "ps:P54"):
            (start,) = g.values(membership, "pq:P580")
            ends = [{"to": day} for day in g.values(membership, "pq:P582")]
            row = {"player": player, "from": start}
            rows += [(text(start), player, row | end) for end in ends or [{}]]
    return InOrder(row for _, _, row in sorted(rows, key=lambda row: row[:2]))


@evaluation
def who_leads_now(g: PlainKg) -> Expected:
    return [
        {"company": company, "boss": boss, "since": since}
        for company, statement in g.links("p:P169")
        for boss in g.values(statement, "ps:P169")
        for since in g.values(statement, "pq:P580")
        if not g.values(statement, "pq:P582")
    ]


@evaluation
def team_mates(g: PlainKg) -> Expected:
    spans = [
        (player, at, year(start), year(end))
        for player, membership in g.links("p:P54")
        for at in g.values(membership, "ps:P54")
        for start in g.values(membership, "pq:P580")
        for end in g.values(membership, "pq:P582")
    ]
    pairs = {
        (one[0], other[0])
        for one in spans
        for other in spans
        if one[1] == other[1] and one[0] < other[0] and one[2] <= other[3] and other[2] <= one[3]
    }
    return [{"one": one, "other": other} for one, other in pairs]


@evaluation
def later_winners(g: PlainKg) -> Expected:
    return [
        {"nominee": nominee, "winner": winner, "year": integer(year(won))}
        for nominee, nomination in g.links("p:P1411")
        for winner, award in g.links("p:P166")
        for nominated in g.values(nomination, "pq:P585")
        for won in g.values(award, "pq:P585")
        if g.values(nomination, "ps:P1411") == g.values(award, "ps:P166")
        and year(nominated) <= year(won)
    ]


@evaluation
def age_of_directors(g: PlainKg) -> Expected:
    return [
        {"film": f, "director": who, "age": integer(year(released) - year(born))}
        for f, who in g.links("wdt:P57")
        for released in g.values(f, "wdt:P577")
        for born in g.values(who, "wdt:P569")
        if year(released) - year(born) < 40
    ]


@evaluation
def born_in_a_month(g: PlainKg) -> Expected:
    return [
        {
            "person": p,
            "month": integer(_month_and_day(day)[0]),
            "day": integer(_month_and_day(day)[1]),
        }
        for p in g.subjects("wdt:P106", "wd:Q33999")
        for day in g.values(p, "wdt:P569")
        if 6 <= _month_and_day(day)[0] <= 8
    ]


@evaluation
def who_died_old(g: PlainKg) -> Expected:
    ages = [
        (year(born) - year(died) + (_month_and_day(died) < _month_and_day(born)), person)
        for person, died in g.pairs("wdt:P570")
        for born in g.values(person, "wdt:P569")
    ]
    old = sorted(pair for pair in ages if -pair[0] >= 75)
    return InOrder({"person": person, "years": integer(-negative)} for negative, person in old)


@evaluation
def by_decade(g: PlainKg) -> Expected:
    films = Counter(year(day) // 10 * 10 for f in g.all(FILM) for day in g.values(f, "wdt:P577"))
    return InOrder({"decade": integer(d), "films": integer(n)} for d, n in sorted(films.items()))


@evaluation
def year_as_text(g: PlainKg) -> Expected:
    return [
        {"album": album, "year": Literal(str(year(day)))}
        for album in g.all("wd:Q482994")
        for day in g.values(album, "wdt:P577")
        if year(day) >= 2000
    ]


@evaluation
def label_of_a_date(g: PlainKg) -> Expected:
    """Wikidata's service gives a literal's text where a label is asked of a literal."""
    return [
        {"personLabel": g.label(person), "bornLabel": Literal(text(day))}
        for person in g.subjects("wdt:P106", "wd:Q2526255")
        for day in g.values(person, "wdt:P569")
    ]


@evaluation
def first_and_last_film(g: PlainKg) -> Expected:
    days: dict[str, list[str]] = {}
    for f, who in g.links("wdt:P57"):
        days.setdefault(who, []).extend(text(day) for day in g.values(f, "wdt:P577"))
    return [
        {
            "director": who,
            "first": Literal(min(released), "xsd:dateTime"),
            "last": integer(int(max(released)[:4])),
        }
        for who, released in days.items()
    ]


@evaluation
def days_in_values(g: PlainKg) -> Expected:
    """A variable that is bound to a day shows it as the query wrote it, or as an instant."""
    this = int(film_year(g))
    days = {this: _either(this), this + 1: OneOf(frozenset({date(f"{this + 1}-01-01T00:00:00Z")}))}
    return [
        {"film": f, "from": cell}
        for f in g.all(FILM)
        for day in g.values(f, "wdt:P577")
        for start, cell in days.items()
        if year(day) >= start
    ]


def _either(start: int) -> OneOf:
    return OneOf(frozenset({date(f"{start}-01-01"), date(f"{start}-01-01T00:00:00Z")}))


@evaluation
def a_day_that_is_cast(g: PlainKg) -> Expected:
    days = [(f, day) for f in g.all(FILM) for day in g.values(f, "wdt:P577")]
    return [{"film": f} for f, day in days if year(day) == int(film_year(g))]


@evaluation
def the_day_itself(g: PlainKg) -> Expected:
    return [
        {"winner": winner}
        for winner, statement in g.links("p:P166")
        for when in g.values(statement, "pq:P585")
        if text(when).startswith(f"{award_year(g)}-01-01")
    ]


@evaluation
def days_against_instants(g: PlainKg) -> Expected:
    """Comparing a day with an instant is an error in SPARQL; the day's first instant is meant."""
    return a_day_that_is_cast(g)
