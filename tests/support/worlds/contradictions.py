"""What a world's passages say that its graph does not, as far as patterns can see."""

import re
from collections import Counter
from collections.abc import Iterator

from support.worlds.cues import GENDERS
from support.worlds.name_finder import MARK, Sentence
from support.worlds.telling import MONTHS
from support.worlds.world_reader import Passage, World, plain

DATE = re.compile(rf"\b(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})\b")
YEAR = re.compile(r"(?<![\d,.])(?:1\d|20)\d\d(?![\d,]*\d)")
NUMBER = re.compile(r"(?<![\d.,])\d+(?:,\d{3})*(?:\.\d+)?")
_ONE = rf"(?:the (?:(?!is|was|has|in|at)[\w-]+ ){{1,5}}?)?{MARK}(?: \([^)]*\))?"
_LIST = rf"{_ONE}(?:(?:, and|,| and) {_ONE})*"
# In an article about a film, names after "directed by" are its directors ...
_OF_SUBJECT = {
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
# ... and in an article about a director, names after "directed" are films of theirs.
_OF_VALUE = {
    "P57": r"(?<!was )direct(?:ed|ing)",
    "P161": r"(?:appear|act|starr)ed in",
    "P50": r"novels include",
    "P112": r"(?<!was )founded",
    "P54": r"squad includes",
    "P175": r"recorded",
    "P184": r"supervised",
    "P166": r"(?:presented|awarded) to",
}


def _patterns(words: dict[str, str]) -> list[tuple[str, re.Pattern[str]]]:
    return [(p, re.compile(rf"\b{w} {_LIST}", re.IGNORECASE)) for p, w in words.items()]


CLAIMS = [(True, *claim) for claim in _patterns(_OF_SUBJECT)]
CLAIMS += [(False, *claim) for claim in _patterns(_OF_VALUE)]


def strange_claims(world: World) -> Iterator[str]:
    """Sentences that name after "directed by" and the like whom the graph does not."""
    for passage, sentence in _sentences(world):
        near = world.told_of(passage, sentence)
        own = {plain(world.kg.label(entity)) for entity in near}  # "Born in X, Mara Voss ..."
        for of_subject, prop, pattern in CLAIMS:
            others = world.kg.of if of_subject else world.kg.having
            held = {plain(world.kg.label(e)) for one in near for e in others(one, prop)}
            if of_subject:
                former = world.former_of(passage, sentence.text)
                held |= {plain(world.kg.label(value)) for _, p, value in former if p == prop}
            for match in pattern.finditer(sentence.masked) if held else ():
                if wrong := _names_in(sentence, match) - held - own:
                    yield f"{prop} of {passage.title} is not {wrong}: {sentence.text}"


def _names_in(sentence: Sentence, match: re.Match[str]) -> set[str]:
    """The names that a match lists. One in a bracket tells another apart: "Malenza (Velmara)",
    "Marlow (city in Velmara)"."""
    first, last = (sentence.masked.count(MARK, 0, at) for at in match.span())
    listed = sentence.apart[first:last]
    brackets = ("(", "(city in ")
    return {m.name for m in listed if not sentence.text[: m.start].endswith(brackets)}


def strange_dates(world: World) -> Iterator[str]:
    """Full dates that are no date of the article's subject."""
    for passage, sentence in _sentences(world):
        known = _values(world, passage, sentence)
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
        years -= {y for y in years if world.former_of(passage, str(y))}
        if unknown := years.difference(*(world.years[entity] for entity in near)):
            yield f"{sorted(unknown)} in {passage.title}: {sentence.text}"


def strange_numbers(world: World) -> Iterator[str]:
    """Numbers, other than dates and years, that are no number of the article's subject."""
    for passage, sentence in _sentences(world):
        rest = YEAR.sub("", DATE.sub("", sentence.masked))
        known = _values(world, passage, sentence)
        for number in NUMBER.findall(rest):
            if number.replace(",", "") not in known:
                yield f"{number} is no number of {passage.title}: {sentence.text}"


def _values(world: World, passage: Passage, sentence: Sentence) -> set[str]:
    held = [world.kg.values[entity] for entity in world.told_of(passage, sentence)]
    former = {value for _, _, value in world.former_of(passage, sentence.text)}
    return former | {value for of_one in held for values in of_one.values() for value in values}


def strange_pronouns(world: World) -> Iterator[str]:
    """Articles about a woman that say "he", and the other way round."""
    for passage in world.passages:
        for gender in world.kg.of(passage.entity, "P21"):
            if found := GENDERS[gender][1].search(passage.text):
                yield f"{found[0]!r} in {passage.title}: {passage.text}"


def strange_descriptions(world: World) -> Iterator[str]:
    """Descriptions that name what the entity has nothing to do with, or are not the same twice."""
    for entity in world.entities:
        for text in world.kg.descriptions.get(entity, ()):
            near = world.kg.related[entity]
            names = [m.name for m in world.finder.mentions(plain(text))]
            strange = [name for name in names if not world.known_as[name] & near]
            years = {int(year) for year in YEAR.findall(text)} - world.own_years[entity]
            if strange or years:
                yield f"{world.title(entity)} is described as {text!r}"
    for bearers in world.shared.values():
        for bearer in bearers:
            if world.kg.descriptions.get(bearer["id"], [""]) != [bearer["description"]]:
                yield f"{bearer['title']} is described in two ways"


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
