"""Whether a text mentions an answer: a passage, a row of a query, what a model wrote.

A mention writes one of the answer's forms out, as words of their own:

* Case, accents, apostrophes, hyphens, line ends and the stops of initials do not matter; "&" is
  "and"; escapes of JSON and HTML are undone.
* A leading article may be left out, and a trailing disambiguator, unless the text gives another
  one right there: "King Kong (1933 film)" does not mention "King Kong (1976 film)".
* A single word needs its capital and must not be a part of a longer name ("Heat Wave", "Prince
  Edward"), nor an ordinary word that begins a sentence. So do names that are ordinary phrases
  ("Taxi Driver"). A text that is a field (a cell, a quoted text, a line) needs none of it.
* "John Smith Jr." is not John Smith, "Toy Story 2" not Toy Story, "New York Times" not New York.
  A surname alone, or a name with another initial, is not a mention.
* Numbers and dates are values (`name_forms`). Scripts without spaces have no word borders, except
  between katakana; a Korean name may carry a particle.

Text is data: it is searched, never evaluated. Patterns have no unbounded repetition, so time grows
linearly with the text.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache
from typing import NamedTuple

from branchwise.eval.errors import name_context as context
from branchwise.eval.errors.folding import FoldedText, fold, folded, squeezed
from branchwise.eval.errors.name_forms import NameForm, name_forms
from branchwise.eval.word_lists import COMMON_WORDS, FUNCTION_WORDS

TextSpan = tuple[int, int]
_ORDINARY = COMMON_WORDS - FUNCTION_WORDS
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n")
_TITLE_CHARACTERS = 300
_SOLID = re.compile(r"""[^\s"'“”‘’()\[\]]""")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_GRAM = 5  # characters: long enough that few names begin alike
_FEW = 100  # anchors are looked for one by one sooner than all the n-grams of a text are made


class Mentions:
    """Finds which of several answers a text mentions, each given as its text and aliases."""

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        named = (_Names.of(index, name_forms(texts)) for index, texts in enumerate(answers))
        self._names = [(names.shared, names) for names in named]

    def find(self, text: str, among: Iterable[int] | None = None) -> dict[int, list[TextSpan]]:
        """Where each answer is mentioned: its index to spans [start, end) of the text as given, in
        order, without those that lie in or overlap a longer one before them; nothing of an answer
        without a mention. `among`: the only answers to look for."""
        spans: dict[int, set[TextSpan]] = {}
        for number, read, mentions in self._tried(text, among):
            if given := {read.given(*span) for span in mentions}:
                spans.setdefault(number, set()).update(given)
        longest: dict[int, list[TextSpan]] = {}
        for number, own in spans.items():
            kept = longest[number] = []
            for span in sorted(own, key=lambda span: (span[0], -span[1])):
                if not kept or span[0] >= kept[-1][1]:
                    kept.append(span)
        return longest

    def present(self, text: str, among: Iterable[int] | None = None) -> set[int]:
        """The indices of the answers that a text mentions: the keys of `find`, sooner."""
        numbers: set[int] = set()
        for number, _, mentions in self._tried(text, among):
            if number not in numbers and next(mentions, None):
                numbers.add(number)
        return numbers

    def _tried(
        self, text: str, among: Iterable[int] | None
    ) -> Iterator[tuple[int, FoldedText, Iterator[TextSpan]]]:
        """For each form whose letters the text has: its answer, the fold, where it is mentioned."""
        letters = squeezed(text)
        read: FoldedText | None = None
        tried = self._names if among is None else [self._names[number] for number in among]
        for names in [names for shared, names in tried if shared in letters]:
            for form in names.forms:
                if form.letters in letters:
                    read = read or folded(text)
                    yield names.number, read, _mentions(read, letters, form)


class _Names(NamedTuple):
    """An answer's forms. `shared`: letters in a row that all of them have, as many as a word."""

    number: int
    forms: Sequence[NameForm]
    shared: str

    @classmethod
    def of(cls, number: int, forms: Sequence[NameForm]) -> "_Names":
        own = [form.letters for form in forms]
        words = [squeezed(word.fold) for form in forms[:1] for word in form.words]
        parts = sorted([*own[:1], *words], key=len, reverse=True)
        shared = next((part for part in parts if all(part in letters for letters in own)), "")
        return cls(number, forms, shared)


def _mentions(text: FoldedText, letters: str, form: NameForm) -> Iterator[TextSpan]:
    """Spans in the shown text that mention the form; `letters` are all that the text has."""
    position = 0
    titled_otherwise = False
    # Where the form is written in its usual way wherever its letters are, to search for that finds
    # all that the pattern would, which takes longer to compile than to search a hundred passages.
    literally = form.literal and _count(text.fold, form.literal) == _count(letters, form.letters)
    while match := _next(text.fold, position, form, literally=bool(literally)):
        position = match[0] + 1
        span = text.place(*match)
        if span is None or not _is_mention(text.shown, *span, form):
            continue
        own = context.names_own_bearer(text.shown, *span, form.known) if form.known else True
        if own is False:
            # The first of several lines is a passage's title.
            line_end = text.shown.find("\n", span[1], span[1] + _TITLE_CHARACTERS)
            in_title = span[1] <= _TITLE_CHARACTERS and "\n" not in text.shown[: span[1]]
            titled_otherwise = titled_otherwise or (line_end >= 0 and in_title)
        elif own or not titled_otherwise or context.stands_alone(text.shown, *span):
            position = match[1]
            yield span[0], context.disambiguator_end(text.shown, span[1], form.known)


def _next(fold: str, position: int, form: NameForm, *, literally: bool) -> TextSpan | None:
    if literally:
        start = fold.find(form.literal, position)
        return None if start < 0 else (start, start + len(form.literal))
    match = _compiled(form.pattern).search(fold, position)
    return match.span() if match else None


def _count(text: str, part: str) -> int:
    """How often a part stands in a text, overlapping ones counted."""
    count, position = 0, text.find(part)
    while position >= 0:
        count, position = count + 1, text.find(part, position + 1)
    return count


_compiled = lru_cache(maxsize=8_192)(re.compile)
# One text is asked about for many names in a row.
_is_without_capitals = lru_cache(maxsize=16)(str.islower)
_is_without_small_letters = lru_cache(maxsize=16)(str.isupper)


def _is_mention(text: str, start: int, end: int, form: NameForm) -> bool:
    if form.kind == "date":
        return True
    if form.kind == "number":
        return context.is_bare_number(text, start, end)
    if form.kind == "sign":
        return not _SOLID.match(text[start - 1 : start]) and not _SOLID.match(text[end : end + 1])
    if not context.has_borders(text, start, end) or _PARAGRAPH.search(text, start, end):
        return False
    if form.shorter and context.has_article(text, start):  # the form with its article decides
        return False
    if context.stands_alone(text, start, end):
        return True
    if context.is_other_generation(text, end) or context.is_sequel(text, end):
        return False
    return _single(text, start, end, form) if form.single else _several(text, start, end, form)


def _several(text: str, start: int, end: int, form: NameForm) -> bool:
    """A name of several words: capitals where it could be an ordinary phrase."""
    if not form.capitalised:
        return True
    if context.is_in_longer_name(text, start, end):
        return False
    first = form.words[0]
    phrase = form.common and not form.sentence_case
    if not phrase and not (first.capital and first.fold in _ORDINARY):
        return True
    shown = re.findall(r"[^\W_]+", text[start:end])
    capitals = {fold(word)[:3] for word in shown if word[0].isupper()}
    if phrase:
        return form.capital_starts <= capitals or (len(shown) == 1 and bool(capitals))
    return not (capitals and shown[0][0].islower())


def _single(text: str, start: int, end: int, form: NameForm) -> bool:
    """A name of one word: written with its capital, and not a part of another name."""
    word, shown = form.words[0], text[start:end]
    if _HAN.fullmatch(shown):
        return not (_HAN.match(text[start - 1 : start]) or _HAN.match(text[end : end + 1]))
    if not word.capital:
        return True
    if not _has_capital(text, start, end, form):
        return word.fold not in COMMON_WORDS and _is_without_capitals(text)
    if len(word.fold) == 1 and (text[end : end + 1] in ("-", ".") or word.fold in "aio"):
        return False
    if context.is_part_of_name(text, start, end):
        return False
    quoted = text[start - 1 : start] in ('"', "“", "‘") and text[end : end + 1] in ('"', "”", "’")
    if quoted or not context.begins_sentence(text, start):
        return True
    if word.fold in FUNCTION_WORDS or (form.shorter and word.fold in COMMON_WORDS):
        return False
    return word.fold not in COMMON_WORDS or context.is_title_at_start(text, end)


def _has_capital(text: str, start: int, end: int, form: NameForm) -> bool:
    """Whether a word is written as its form is: "Us" neither "us" nor "US", "WHO" not "Who"."""
    word = form.words[0]
    letters = [c for c in text[start:end] if c.isalpha()]
    capitals = sum(c.isupper() for c in letters)
    if word.acronym and len(word.fold) < 4:
        return capitals == len(letters)
    if not word.acronym and 1 < len(word.fold) < 5 and capitals == len(letters) > 1:
        return word.fold not in COMMON_WORDS or _is_without_small_letters(text)
    return capitals > 0


class ManyNames:
    """Finds what `Mentions` finds, of tens of thousands of answers in many texts: a text's n-grams
    are looked up in a table of how the names' anchors begin. Memory grows with the names."""

    def __init__(self, answers: Sequence[Sequence[str]]) -> None:
        self._mentions = cache(lambda number: Mentions([answers[number]]))
        anchored: dict[str, set[int]] = defaultdict(set)
        for number, forms in enumerate(answers):
            for form in name_forms(forms):
                anchored[form.letters].add(number)
        # By length and text of the anchors' first characters: the anchors, and whose they are.
        self._tables: dict[int, dict[str, list[tuple[str, set[int]]]]] = {}
        for anchor, numbers in anchored.items():
            gram = anchor[:_GRAM]
            table = self._tables.setdefault(len(gram), defaultdict(list))
            table[gram].append((anchor, numbers))

    def present(self, text: str, known: AbstractSet[int] = frozenset()) -> set[int]:
        """Numbers of the answers that a text mentions, those already `known` left out."""
        candidates = self._candidates(text) - known
        return {number for number in candidates if self._mentions(number).present(text)}

    def _candidates(self, text: str) -> set[int]:
        searched, candidates = squeezed(text), set[int]()
        for length, table in self._tables.items():
            grams: Iterable[str] = table
            if len(table) > _FEW:
                starts = range(len(searched) - length + 1)
                grams = table.keys() & {searched[i : i + length] for i in starts}
            for gram in grams:
                for anchor, numbers in table[gram]:
                    if anchor in searched:
                        candidates |= numbers
        return candidates


def mentioned(answers: Sequence[Sequence[str]], texts: Iterable[str]) -> dict[int, int]:
    """Numbers of the answers that any of the texts mentions, with that of the first text."""
    names, first = ManyNames(answers), dict[int, int]()
    for number, text in enumerate(texts):
        first |= dict.fromkeys(names.present(text, first.keys()), number)
    return first
