"""The shape of a world: degrees, passages and ambiguity, measured from its files."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict

from branchwise.base.files import open_data, parse_object, read_lines
from branchwise.base.process import Progress, silent
from branchwise.corpora.folder import CORPUS_FILE
from branchwise.kg.world_folder import KG_FILE, NAMES_FILE, check_files, read_description
from branchwise.worlds.draws import Ints
from branchwise.worlds.population import FIRST_NUMBER

OFTEN = 100
"""A sentence that comes more often than this counts as repeated."""

_LONGEST_NAME = 10  # words
_MARK = "•"
_SENTENCE_END = re.compile(r"(?<=[.!?]) +")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_EDGES = ".,;:!?()'’\""


class Language(BaseModel):
    """Of some passages: words with and without repeats, sentences with names masked.

    `repeated` is the share of sentences whose masked form comes more than 100 times.
    """

    model_config = ConfigDict(frozen=True)

    passages: int
    words: int
    vocabulary: int
    type_token_ratio: float
    sentences: int
    distinct_sentences: int
    repeated: float
    commonest: list[tuple[str, int]]


def measure(texts: Collection[str], names: Collection[str]) -> Language:
    """Measure passages. `names`: of entities, to be masked in sentences."""
    words = Counter(word.lower() for text in texts for word in _WORD.findall(text))
    sentences = Counter(
        sentence
        for text in texts
        for sentence in _SENTENCE_END.split(" ".join(_masked(text.split(), names)))
    )
    total, count = words.total(), sentences.total()
    often = sum(times for times in sentences.values() if times > OFTEN)
    return Language(
        passages=len(texts),
        words=total,
        vocabulary=len(words),
        type_token_ratio=len(words) / max(1, total),
        sentences=count,
        distinct_sentences=len(sentences),
        repeated=often / max(1, count),
        commonest=sentences.most_common(5),
    )


def _masked(words: list[str], names: Collection[str]) -> Iterator[str]:
    """The words with each longest name replaced by a mark; a full stop, a comma, 's stay."""
    place = 0
    while place < len(words):
        length = 0
        if words[place].lstrip(_EDGES)[:1].isupper():
            lengths = range(min(_LONGEST_NAME, len(words) - place), 0, -1)
            texts = (" ".join(words[place : place + n]).strip(_EDGES) for n in lengths)
            named = (t in names or t.removesuffix("'s") in names for t in texts)
            length = next((n for n, is_name in zip(lengths, named, strict=True) if is_name), 0)
        if not length:
            yield words[place]
            place += 1
            continue
        last = words[place + length - 1]
        bare = last.rstrip(_EDGES)
        genitive = "'s" if bare.endswith("'s") else ""
        yield f"{_MARK}{genitive}{last[len(bare) :]}"
        place += length


SAMPLE = 5_000
"""Entities over whose passages language is measured: longer texts would repeat more."""

_LINK = re.compile(
    rb"<http://www\.wikidata\.org/entity/Q(\d+)> <http://www\.wikidata\.org/prop/direct/P\d+> "
    rb"<http://www\.wikidata\.org/entity/Q(\d+)>"
)
_NAME = re.compile(rb'<http://www\.wikidata\.org/entity/Q\d+> <[^>]*#(?:label|altLabel)> "(.*)"@en')
_REPORT_EVERY = 100_000


class Distribution(NamedTuple):
    mean: float
    median: float
    p99: float
    max: float


class WorldSurvey(BaseModel):
    """The shape of a world. `links`: of an entity, to and from other entities of the world."""

    model_config = ConfigDict(frozen=True)

    entities: int
    links: Distribution
    passages_per_entity: Distribution
    words_per_passage: Distribution
    shared_names: int
    share_of_names_shared: float
    bearers: dict[int, int]  # how many names are shared by so many entities
    language: Language


def survey(folder: Path, progress: Progress = silent) -> WorldSurvey:
    """Measure a world from its files, in 150 bytes an entity. Raises InputError if there is no
    complete world, and for files that differ from those it was made with."""
    folder = Path(folder)
    description = read_description(folder)
    check_files(folder, description)
    entities = description.entities
    links, names = _read_kg(folder / KG_FILE, entities, progress)
    passages, words, sample = _read_corpus(folder / CORPUS_FILE, entities)
    path = folder / NAMES_FILE
    shared_names = (parse_object(line, f"{path}:{n}") for n, line in read_lines(path))
    sizes = Counter(len(name.get("entities", ())) for name in shared_names)
    bearers = dict(sorted(sizes.items()))
    shared, sharing = sum(bearers.values()), sum(n * count for n, count in bearers.items())
    return WorldSurvey(
        entities=entities,
        links=_spread(links),
        passages_per_entity=_spread(passages),
        words_per_passage=_spread(words),
        shared_names=shared,
        share_of_names_shared=shared / max(1, entities - sharing + shared),
        bearers=bearers,
        language=measure(sample, names),
    )


def _read_kg(path: Path, entities: int, progress: Progress) -> tuple[Ints, set[str]]:
    links = np.zeros(entities, np.int64)
    names: set[str] = set()
    number = 0
    with open_data(path) as stream:
        for number, line in enumerate(stream, start=1):
            if link := _LINK.match(line):
                ends = int(link[1]) - FIRST_NUMBER, int(link[2]) - FIRST_NUMBER
                if all(0 <= end < entities for end in ends):
                    links[ends[0]] += 1
                    links[ends[1]] += 1
            elif name := _NAME.match(line):
                names.add(name[1].decode())
            if number % _REPORT_EVERY == 0:
                progress(number, 0)
    progress(number, number)
    return links, names


def _read_corpus(path: Path, entities: int) -> tuple[Ints, Ints, list[str]]:
    passages = np.zeros(entities, np.int64)
    words: list[int] = []
    sample: list[str] = []
    seen, last = 0, ""
    for number, line in read_lines(path):
        fields = parse_object(line, f"{path}:{number}")
        text = str(fields.get("contents", "")).partition("\n")[2]
        entity = str(fields.get("entity", ""))
        seen += entity != last
        last = entity
        if 0 <= (index := int(entity[1:] or 0) - FIRST_NUMBER) < entities:
            passages[index] += 1
        words.append(len(text.split()))
        if seen <= SAMPLE:
            sample.append(text)
    return passages, np.array(words), sample


def _spread(values: Ints) -> Distribution:
    if not len(values):
        return Distribution(0, 0, 0, 0)
    median, p99 = (float(value) for value in np.percentile(values, [50, 99]))
    return Distribution(float(values.mean()), median, p99, float(values.max()))
