"""How names and words are compared: case, accents, punctuation, endings and misspellings.

"owned", "owner" and "owns" are one word. Misspelt words go by symmetric deletion (W. Garbe,
SymSpell, 2012): two words within two edits of each other have a word in common that both become by
deleting at most two of their first seven letters, so a misspelt word is looked up by its deletions.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple
from zlib import crc32

MAX_CHARACTERS = 300
MAX_WORDS = 16
"""Characters compared of a name or of a search text: both come from outside."""

_ARTICLES = frozenset({"the", "a", "an"})
_STOP_LIST = """
a an the of in on at by for to from with and or is are was were be been has have had did do does
who whom whose which what where when why how that this it its he she they
"""
STOPS = frozenset(_STOP_LIST.split())
"""Words that say little: names that share one need not be related."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_WORD = re.compile(r"[^\W_]+(?:[\u0300-\u1aff]*[^\W_]+)*[+#]*")
# Letters that do not decompose into a base letter and an accent.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)
# These vanish inside a word; all other punctuation separates words.
_VANISH = str.maketrans(dict.fromkeys("'’‘‛´`ʼ′.\u00ad\u200b\u200c\u200d\ufeff"))


class NameKey(NamedTuple):
    """A name in its compared form. `key`: its words without a leading article; `squeezed`: the same
    without spaces, so that "Spider-Man" and "Spiderman" meet; `words`: those of `key`."""

    key: str
    squeezed: str
    words: tuple[str, ...]


@lru_cache(maxsize=8_192)
def fold(text: str) -> NameKey:
    """The compared form of a text. A text of signs alone ("!!!") keeps them; blank is empty."""
    text = text[:MAX_CHARACTERS]
    words = _words(text)[:MAX_WORDS]
    if len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    if not words:
        signs = "".join(text.split()).replace("\0", "")
        return NameKey(signs, signs, ())
    return NameKey(" ".join(words), "".join(words), tuple(words))


def telling(words: Iterable[str]) -> list[str]:
    """The significant words, or all if none is."""
    words = list(words)
    return [word for word in words if word not in STOPS] or words


def _words(text: str) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)
        text = unicodedata.normalize("NFD", text)
        text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return _WORD.findall(text.lower().translate(_VANISH).replace("&", " and "))


# Forms that no ending explains, of verbs and of adjectives that measure; the first is the word.
_IRREGULAR = """
act actor actress acting
age old aged
award awarding
bear born birth
become became
begin began begun
bring brought
build built
buy bought
choose chose chosen choice
come came
depth deep
die died death dead deceased
draw drew drawn
drive drove driven
fall fell fallen
find finds
found founded founder founding foundation
fly flew flown
give gave given
go went gone
grow grew grown
height high tall
hold held
keep kept
know knew known
lead led
leave left
length long
lie lay lain lies
live life alive lived living
lose lost loss loses
make made maker
marry married marriage
meet met
publish publication
ride rode ridden
run ran
sell sold sale
sing sang sung singer
speak spoke spoken speech
speed fast
spend spent
succeed success successor
take took taken
teach taught
tell told
weight heavy weigh
width wide
win won winner
write wrote written
"""
_FORMS = {line.split()[0]: tuple(line.split()) for line in _IRREGULAR.strip().splitlines()}
_LEMMAS = {form: lemma for lemma, forms in _FORMS.items() for form in forms}
_ENDINGS = ("ation", "ition", "ment", "ion", "ist", "ee", "er", "or", "at", "it")
_SHORTEST = 3  # letters of a root: fewer say too little
_DOUBLED = frozenset("bdgmnprt")  # before an ending: "run", "runner"


def other_forms(word: str) -> tuple[str, ...]:
    """Forms of a word that do not begin as its root does: "wrote" for "writer"."""
    lemma = _LEMMAS.get(word)
    return _FORMS[lemma] if lemma else ()


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """Its stem by Snowball, one object a call: they are not safe between threads."""
    import Stemmer

    stemmed: str = Stemmer.Stemmer("english").stemWord(word)
    return stemmed


@lru_cache(maxsize=8_192)
def root(word: str) -> str:
    """What the forms of a folded word share, which need not be a word: "composer" is "compos". By
    Snowball's English stemmer, the endings of those who act and of actions, and a list."""
    known = _LEMMAS.get(word)
    bare = known or stem(word)
    for ending in () if known else _ENDINGS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _SHORTEST:
            bare = bare.removesuffix(ending)
            break
    if len(bare) > _SHORTEST and bare[-1] == bare[-2] and bare[-1] in _DOUBLED:
        bare = bare[:-1]
    return bare[:-1] if len(bare) > _SHORTEST and bare.endswith("e") else bare


_PREFIX = 7
_LONG = 8  # letters of a word of which two edits are forgiven: harbor is not horror
_SHORT = 5  # letters of a word that begins as it is misspelt: Kong is not song


def edits_forgiven(word: str) -> int:
    """How many edits a word may be off: numbers and words of two letters, none."""
    if len(word) < 3 or not word.isalpha():
        return 0
    return 2 if len(word) >= _LONG else 1


def begin_alike(left: str, right: str) -> bool:
    """Whether the first letters allow that one is the other misspelt; of long words, any do."""
    if min(len(left), len(right)) > _SHORT:
        return True
    return left[0] == right[0] or left[:2] == right[1::-1]


def deletion_codes(word: str) -> set[int]:
    """Codes (CRC-32) of what the beginning of a word becomes by the deletions forgiven it. Two
    words may share a code by accident: the distance decides."""
    prefix = word[:_PREFIX]
    return {
        crc32("".join(kept).encode("utf-8", "surrogatepass"))
        for deleted in range(edits_forgiven(word) + 1)
        for kept in combinations(prefix, len(prefix) - deleted)
    }


def distance(left: str, right: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours (optimal string alignment) that
    lie between two words; `most + 1` where there are more than `most`."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        earlier, before, row = before, row, [i]
        for j, other in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
