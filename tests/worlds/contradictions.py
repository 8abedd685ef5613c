"""What a world's passages say that its graph does not, as far as patterns can see."""

import re
from collections import Counter
from collections.abc import Iterator

from cues import GENDERS
from name_finder import MARK, Sentence
from telling import MONTHS
from world_reader import Passage, World, plain

DATE = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})\b")
YEAR = re.compile(r"(?<![\d,.])(?:1\d|20)\d\d(?![\d,]*\d)")
NUMBER = re.compile(r"(?<![\d.,])\d+(?:,\d{3})*(?:\.\d+)?")
_ONE = rf"(?:the (?:\w+ ){{1,5}}?)?{MARK}"
_LIST = rf"{_ONE}(?:(?:, and|,| and) {_ONE})*"
# In an article about a film, names after "directed by" are its directors.
_CLAIMS = {
    "P57": r"direct(?:ed|ion) by",
    "P58": r"(?:screenplay|script) (?:(?:was )?written )?by",
    "P50": r"novel (?:written )?by",
    "P161": r"starring",
    "P123": r"published by",
    "P127": r"owned by",
    "P112": r"founded by",
    "P175": r"(?:performed|recorded) by",
    "P19": r"born (?:on \d+ \w+ \d+ )?in",
    "P159": r"(?:based|headquartered) in",
}
CLAIMS = {p: re.compile(rf"\b{words} {_LIST}", re.IGNORECASE) for p, words in _CLAIMS.items()}


def strange_claims(world: World) -> Iterator[str]:
    """Sentences that name after "directed by" and the like whom the graph does not."""
    for passage, sentence in _sentences(world):
        for prop, pattern in CLAIMS.items():
            held = {plain(world.graph.label(v)) for v in world.graph.of(passage.entity, prop)}
            for match in pattern.finditer(sentence.masked) if held else ():
                if wrong := _names_in(sentence, match) - held:
                    yield f"{prop} of {passage.title} is not {wrong}: {sentence.text}"


def _names_in(sentence: Sentence, match: re.Match[str]) -> set[str]:
    first, last = (sentence.masked.count(MARK, 0, at) for at in match.span())
    return {mention.name for mention in sentence.apart[first:last]}


def strange_dates(world: World) -> Iterator[str]:
    """Full dates that are no date of the article's subject."""
    for passage, sentence in _sentences(world):
        known = {v for values in world.graph.values[passage.entity].values() for v in values}
        for day, month, year in DATE.findall(sentence.masked):
            date = f"{int(year):04}-{MONTHS.index(month) + 1:02}-{int(day):02}"
            if date not in known:
                yield f"{date} is no date of {passage.title}: {sentence.text}"


def strange_years(world: World) -> Iterator[str]:
    """Years that no statement of the subject, or of an entity named beside them, holds."""
    for passage, sentence in _sentences(world):
        years = {int(year) for year in YEAR.findall(sentence.masked)}
        if not years:
            continue
        near = {passage.entity}.union(*(world.known_as[m.name] for m in sentence.mentions))
        if unknown := years.difference(*(world.years[entity] for entity in near)):
            yield f"{sorted(unknown)} in {passage.title}: {sentence.text}"


def strange_numbers(world: World) -> Iterator[str]:
    """Numbers, other than dates and years, that are no number of the article's subject."""
    for passage, sentence in _sentences(world):
        rest = YEAR.sub("", DATE.sub("", sentence.masked))
        known = {v for values in world.graph.values[passage.entity].values() for v in values}
        for number in NUMBER.findall(rest):
            if number.replace(",", "") not in known:
                yield f"{number} is no number of {passage.title}: {sentence.text}"


def strange_pronouns(world: World) -> Iterator[str]:
    """Articles about a woman that say "he", and the other way round."""
    for passage in world.passages:
        for gender in world.graph.of(passage.entity, "P21"):
            if found := GENDERS[gender][1].search(passage.text):
                yield f"{found[0]!r} in {passage.title}: {passage.text}"


def repeated_share(world: World, also: re.Pattern[str] | None = None, often: int = 100) -> float:
    """Share of sentences whose masked form stands in the corpus more than so many times."""
    forms = Counter(s.masked for _, s in _sentences(world))
    if also:
        forms = _merged(forms, also)
    return sum(n for n in forms.values() if n > often) / forms.total()


def most_repeated(world: World, number: int = 15) -> list[tuple[str, int]]:
    return Counter(s.masked for _, s in _sentences(world)).most_common(number)


def _merged(forms: Counter[str], also: re.Pattern[str]) -> Counter[str]:
    merged: Counter[str] = Counter()
    for form, count in forms.items():
        merged[also.sub("#", form)] += count
    return merged


def _sentences(world: World) -> Iterator[tuple[Passage, Sentence]]:
    for passage in world.passages:
        for sentence in passage.sentences:
            yield passage, sentence
