"""How varied a text is: words, and sentences that come again once names are masked."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from pydantic import BaseModel, ConfigDict

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
    sentences = Counter(sentence for text in texts for sentence in _masked_sentences(text, names))
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


def _masked_sentences(text: str, names: Collection[str]) -> Iterable[str]:
    return _SENTENCE_END.split(" ".join(_masked(text.split(), names)))


def _masked(words: list[str], names: Collection[str]) -> Iterator[str]:
    """The words with each longest name replaced by a mark; what clings to it stays."""
    place = 0
    while place < len(words):
        length = 0
        if words[place].lstrip(_EDGES)[:1].isupper():
            length = _name_length(words, place, names)
        if not length:
            yield words[place]
            place += 1
            continue
        yield _MARK + _clinging(words[place + length - 1])
        place += length


def _name_length(words: list[str], place: int, names: Collection[str]) -> int:
    for length in range(min(_LONGEST_NAME, len(words) - place), 0, -1):
        text = " ".join(words[place : place + length]).strip(_EDGES)
        if text in names or text.removesuffix("'s") in names:
            return length
    return 0


def _clinging(word: str) -> str:
    """What follows a name without a space: a full stop, a comma, 's."""
    bare = word.rstrip(_EDGES)
    return ("'s" if bare.endswith("'s") else "") + word[len(bare) :]
