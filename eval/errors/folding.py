"""Text made comparable without losing where each character stood.

Case, accents and the ways of typing an apostrophe go, words and punctuation stay, so that the
borders of a name can still be judged.
"""

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

# Accents that stand alone, which decompose to a space with an accent on it.
_ALONE = "¨¯¸˘˙˚˛˜˝\u037a\u0384\u0385\u1fbd\u1fbf\u1fc0\u1fc1\u2017‾゛゜￣" + "".join(
    map(chr, (
        *range(0x1FCD, 0x1FD0), *range(0x1FDD, 0x1FE0), 0x1FED, 0x1FEE, 0x1FFD, 0x1FFE,
        *range(0xFC5E, 0xFC64), *range(0xFE49, 0xFE4D), *range(0xFE70, 0xFE7F, 2),
    ))
)  # fmt: skip
_TYPED = str.maketrans(
    dict.fromkeys("’‘‛´`ʼ′", "'")
    | dict.fromkeys("“”„‟«»″〝〞「」『』《》", '"')
    | dict.fromkeys("‐‑−", "-")
    | dict.fromkeys("·‧・･", "\u00b7")
    | dict.fromkeys("™®©℠", "")
    | dict.fromkeys(_ALONE, " ")
)
# Letters with a stroke or of two letters, which have no decomposition in Unicode.
_LETTERS = {
    "ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe",
    "þ": "th", "\u0640": "",
}  # fmt: skip
# Accents of Latin and Greek, stress and the two dots of the Cyrillic ё: й and ї are letters.
_ACCENTS = re.compile(
    r"(?<=[a-z\u0370-\u03ff])[\u0300-\u036f]+|(?<=е)[\u0300\u0301\u0308]+"
    r"|(?<=[аиоуыэюя])[\u0300\u0301]+"
)
# In parts: putting many marks on one letter in order takes time with the square of their number.
_FOREIGN = re.compile(r"[^\x00-\x7f]{1,500}")
_ESCAPED = re.compile(
    r"\\u[0-9a-fA-F]{4}|\\[nrt\"/\\]|&(?:amp|quot|apos|nbsp|lt|gt|#0?39|#x27|#160);"
)
_ENTITIES = {
    "amp": "&", "quot": '"', "apos": "'", "nbsp": " ", "lt": "<", "gt": ">", "#39": "'",
    "#039": "'", "#x27": "'", "#160": " ",
}  # fmt: skip
_CJK = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_CJK_SPACED = re.compile(rf"({_CJK})\s+(?={_CJK})")
_AT = itemgetter(2)
_KEPT_RUN = 16
_LOOSE = str.maketrans("", "", "'-.,")


class Cluster(NamedTuple):
    """Characters that fold together: [start, end) of the text became [at, to) of its fold."""

    start: int
    end: int
    at: int
    to: int


class FoldedText(NamedTuple):
    """`shown`: a text with JSON's and HTML's escapes undone; its fold; where characters came from.
    Between `clusters` a character of the fold stands for one of `shown`. `origins` maps indices of
    `shown` to those of the text as given; None where they agree."""

    shown: str
    fold: str
    clusters: list[Cluster]
    origins: list[int] | None

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where [start, end) of the fold stands in `shown`; None where it splits a character."""
        first, last = self._before(start), self._before(end - 1)
        begin = start if first is None else first.end + start - first.to
        if first is not None and start < first.to:
            if start != first.at:
                return None
            begin = first.start
        if last is None:
            return begin, end
        return (begin, last.end + end - last.to) if end >= last.to else None

    def _before(self, index: int) -> Cluster | None:
        """The last cluster that begins in the fold at or before an index."""
        place = bisect_right(self.clusters, index, key=_AT)
        return self.clusters[place - 1] if place else None

    def given(self, start: int, end: int) -> tuple[int, int]:
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end]


def fold(text: str) -> str:
    """A text without case and accents; punctuation stays. Equals `folded(text).fold`."""
    text = _unescape(text)[0]
    lowered = text.lower()
    if text.isascii():
        return lowered

    return _FOREIGN.sub(
        lambda run: _fold_foreign(run[0], lowered[max(0, run.start() - 1) : run.start()]), lowered
    )


def loose(text: str) -> str:
    """A fold by which two ways of typing a name are one: without apostrophes, hyphens, full stops,
    commas, and spaces between characters of Chinese and Japanese."""
    folded = fold(text).replace("–", "")
    if folded.isascii():
        return folded.translate(_LOOSE)
    for sign in "'-.,":
        folded = folded.replace(sign, "")
    return _CJK_SPACED.sub(r"\1", folded)


def squeezed(text: str) -> str:
    """The letters and digits of a fold alone: whatever is typed between its words, a name is in one
    piece here where a text mentions it."""
    # As bytes, since these are filtered four times as fast; what is beyond ASCII stays whole.
    plain = fold(text).encode("utf-8", "surrogatepass").translate(None, _NO_LETTERS)
    letters = plain.decode("utf-8", "surrogatepass")
    return letters if letters.isalnum() else letters.translate(_ONLY_LETTERS)


def folded(text: str) -> FoldedText:
    """A text's fold with the place of each of its characters."""
    shown, origins = _unescape(text)
    if shown.isascii():
        return FoldedText(shown, shown.lower(), [], origins)
    pieces: list[str] = []
    clusters: list[Cluster] = []
    done, length, last = 0, 0, ""

    def add(piece: str) -> None:
        nonlocal length, last
        pieces.append(piece)
        length, last = length + len(piece), piece[-1:] or last

    for run in _FOREIGN.finditer(shown):
        add(shown[done : run.start()].lower())
        # Cut before each character that does not combine with the one before it.
        starts = [i for i in range(*run.span()) if i == run.start() or not _combines(shown[i])]
        for start, end in pairwise((*starts, run.end())):
            at = length
            add(_fold_foreign(shown[start:end], last))
            clusters.append(Cluster(start, end, at, length))
        done = run.end()
    add(shown[done:].lower())
    return FoldedText(shown, "".join(pieces), clusters, origins)


def is_word(character: str) -> bool:
    """Whether a character is part of a word: a letter, a digit, or a mark on one."""
    return character.isalnum() or (
        not character.isascii() and bool(character) and unicodedata.category(character)[0] == "M"
    )


def _unescape(text: str) -> tuple[str, list[int] | None]:
    """A text with escapes undone, and where each character (and the end) stood before."""
    if ("\\" not in text and "&" not in text) or not _ESCAPED.search(text):
        return text, None
    pieces: list[str] = []
    origins: list[int] = []
    done = 0
    for escape in _ESCAPED.finditer(text):
        code = escape[0]
        if code[0] == "&":
            character = _ENTITIES[code[1:-1]]
        elif code[1] == "u":
            character = chr(int(code[2:], 16))
        else:
            character = {"n": "\n", "r": "\n", "t": "\t"}.get(code[1], code[1])
        pieces += [text[done : escape.start()], character]
        origins.extend(range(done, escape.start() + 1))
        done = escape.end()
    pieces.append(text[done:])
    origins.extend(range(done, len(text) + 1))
    return "".join(pieces), origins


@lru_cache(maxsize=4_096)
def _combines(character: str) -> bool:
    decomposed = unicodedata.normalize("NFKD", character)
    return unicodedata.combining(decomposed[0]) != 0


def _fold_foreign(text: str, before: str) -> str:
    """The fold of characters beyond ASCII that follow the folded character `before`."""
    return _kept_fold(text, before) if len(text) <= _KEPT_RUN else _fold_characters(text, before)


def _fold_characters(text: str, before: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_TYPED)).casefold()
    plain = unicodedata.normalize("NFKD", decomposed).translate(_PLAIN)
    return _ACCENTS.sub("", before + plain)[len(before) :]


_kept_fold = lru_cache(maxsize=16_384)(_fold_characters)


class _Plain(dict[int, str]):
    """What becomes of a decomposed character. Filled as characters are met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        joins = category == "Cf" or 0xFE00 <= code <= 0xFE0F  # soft hyphens, variants, too
        vowel = category == "Mn" and 0x0590 <= code <= 0x0670  # Hebrew points, Arabic signs
        kept = str(unicodedata.decimal(character)) if category == "Nd" else character
        self[code] = "" if joins or vowel else kept
        return self[code]


_PLAIN = _Plain({ord(k): v for k, v in _LETTERS.items()} | _TYPED)


class _OnlyLetters(dict[int, int | None]):
    """Keeps letters and digits. Filled as characters are met."""

    def __missing__(self, code: int) -> int | None:
        self[code] = kept = code if chr(code).isalnum() else None
        return kept


_ONLY_LETTERS = _OnlyLetters({code: code if chr(code).isalnum() else None for code in range(128)})
_NO_LETTERS = bytes(code for code in range(128) if _ONLY_LETTERS[code] is None)
