"""The names in a question or a query, and which titles share one: quoted text and capitalised
spans."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from branchwise.corpora.passages import name_of

MAX_QUESTION_CHARS = 2000
MAX_NAME_CHARS = 200
MAX_QUOTED = 4
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_OPENING = """
    a an and are at by can consider count did do does find for from give had has have how i identify
    if in is list me name of on or show state tell that the this these those to was were what when
    where which who whom whose why will with would
"""
COMMON = frozenset(_OPENING.split())
"""Words that begin questions, or make up no name by themselves."""
_WITHIN_NAMES = "a al at bin da de del den der di du for la le of the to van von"
_LINKS = frozenset(_WITHIN_NAMES.split())
MAX_LINKS = 2
"""Small words in a row within a name: "Mast at Dusk", "Lord of the Rings"."""
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]{2,200})[\"”“»]")
_WITHIN = re.compile(r"\s+|-|/|\s*&\s*")
_BEHIND_INITIAL = re.compile(r"\.\s+")
_ABBREVIATED = re.compile(r"[^\W\d_]|Mr|Mrs|Ms|Dr|Jr|Sr|St|vs")
_POSSESSIVE = re.compile(r"['’]s$|(?<=s)['’]$")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, kana and ideographs."""
_NEW_SENTENCE = re.compile(r"(?:^|[.?!:])\W*$")

_Word = re.Match[str]


def folded(text: str) -> tuple[str, ...]:
    """The words of a text as names are compared: without case and possessive."""
    return tuple(without_possessive(word).casefold() for word in WORD.findall(text))


def without_possessive(name: str) -> str:
    """The name without an 's at its end."""
    return _POSSESSIVE.sub("", name)


def quoted(text: str) -> list[str]:
    """What stands in quotation marks, each once, the first four."""
    phrases = [match[1].strip() for match in _QUOTED.finditer(text[:MAX_QUESTION_CHARS])]
    return [phrase for phrase in dict.fromkeys(phrases) if folded(phrase)][:MAX_QUOTED]


@lru_cache(1024)
def phrase_pattern(phrase: str) -> re.Pattern[str]:
    """Finds the words of a phrase in a row, in any case of letters, whatever stands between; in
    scripts that write no spaces within other words, too."""
    words = r"[\W_]+".join(map(re.escape, WORD.findall(phrase)))
    return re.compile(words if _UNSPACED.search(words) else rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def is_capital(word: str) -> bool:
    """Whether a name's word is written as one: with a capital, or in digits."""
    return word[0].isupper() or word[0].isdigit()


def names_in(question: str) -> list[str]:
    """The names in their order, each once, of at most 200 characters. None in a question without
    capitals, or in a script that has none."""
    text = question[:MAX_QUESTION_CHARS]
    if len(question) > len(text):
        text = text.rpartition(" ")[0]
    quoted = [(match.start(1), match[1].strip()) for match in _QUOTED.finditer(text)]
    # What is quoted is one name, whatever is capitalised in it.
    rest = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    names = [name[:MAX_NAME_CHARS] for _, name in sorted([*quoted, *_capitalised(rest)])]
    return list({folded(name): name for name in reversed(names) if folded(name)}.values())[::-1]


def _capitalised(text: str) -> Iterator[tuple[int, str]]:
    """Where each capitalised span begins, and the span."""
    for run in _runs(text):
        opens = _NEW_SENTENCE.search(text[: run[0].start()]) is not None
        words = _without_opening(run) if opens else run
        capitals = [n for n, word in enumerate(words) if is_capital(word[0])]
        while capitals and words[capitals[0]][0].isdigit():
            del capitals[0]
        if capitals:
            start, end = words[capitals[0]].start(), words[capitals[-1]].end()
            yield start, without_possessive(text[start:end])


def _runs(text: str) -> Iterator[list[_Word]]:
    """Words in a row that may belong to one name; few small words stand between its own."""
    run: list[_Word] = []
    for word in WORD.finditer(text):
        if run and not _goes_on(text, run, word):
            yield run
            run = []
        if run or is_capital(word[0]):
            run.append(word)
    if run:
        yield run


def _goes_on(text: str, run: Sequence[_Word], word: _Word) -> bool:
    last = run[-1]
    gap = text[last.end() : word.start()]
    joined = _WITHIN.fullmatch(gap) or (
        _BEHIND_INITIAL.fullmatch(gap) and _ABBREVIATED.fullmatch(last[0])
    )
    if not joined:
        return False
    if is_capital(word[0]):
        return True
    links = [one[0] in _LINKS for one in run[-MAX_LINKS:]]
    owned = without_possessive(last[0]) != last[0]
    return word[0] in _LINKS and not owned and not (len(links) == MAX_LINKS and all(links))


def _without_opening(run: Sequence[_Word]) -> Sequence[_Word]:
    """Without a sentence's own first words: "Which", "Name the"; not the article of "The Wall"."""
    for n, (word, following) in enumerate(pairwise([*run, None])):
        assert word is not None
        is_article = word[0] in ("The", "A", "An") and following and is_capital(following[0])
        if is_article or word[0].casefold() not in COMMON:
            return run[n:]
    return []


_PLACE = re.compile(r",\s+(?=[^\W\d_])")
_SHORT = 3
"""Words: more behind a comma are a title's own ("The Good, the Bad and the Ugly"); as many common
ones are a name ("Do You Love Me")."""

_Span = tuple[int, int]


@dataclass(frozen=True)
class QuestionNames:
    """A question, to be compared with titles."""

    question: str

    @cached_property
    def names(self) -> list[str]:
        return names_in(self.question)

    def name_of(self, title: str) -> str:
        """The name that a title bears and the question uses, as the question has it; "" if none. It
        is the title without what tells it apart: brackets at its end, a place behind a comma. Where
        the question capitalises names, it must capitalise this one."""
        for base in _bases(title):
            for first, end in self._places(base):
                start, stop = self._words[first].start(), self._words[end - 1].end()
                return without_possessive(self.question[start:stop])
        return ""

    def whole(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are not, wherever the question has them, part of a longer one."""
        given = list(dict.fromkeys(names))
        taken: list[_Span] = []
        kept = set()
        for name in sorted(given, key=lambda one: -len(folded(one))):
            free = [
                (first, end)
                for first, end in self._places(name)
                if not any(a <= first and end <= b and (a, b) != (first, end) for a, b in taken)
            ]
            taken += free
            if free:
                kept.add(name)
        return [name for name in given if name in kept]

    def tells_apart(self, title: str, name: str) -> bool:
        """Whether the question has the whole title, with what tells it apart from its namesakes."""
        return folded(title) != folded(name) and bool(self._places(title))

    @cached_property
    def _words(self) -> list[re.Match[str]]:
        return list(WORD.finditer(self.question[:MAX_QUESTION_CHARS]))

    @cached_property
    def _folded(self) -> tuple[str, ...]:
        return tuple(part for word in self._words for part in folded(word[0]))

    def _places(self, name: str) -> list[_Span]:
        """Where the question has a name: numbers of its first word and of the one behind it."""
        words = folded(name)
        if not words or (len(words) < _SHORT and COMMON.issuperset(words)):
            return []
        is_free = not self.names or words in map(folded, self.names)
        starts = range(len(self._folded) - len(words) + 1)
        spans = [(start, start + len(words)) for start in starts]
        return [
            (start, end)
            for start, end in spans
            if self._folded[start:end] == words
            # The question must write it as a name.
            and (is_free or any(is_capital(word[0]) for word in self._words[start:end]))
        ]


def _bases(title: str) -> list[str]:
    """The title without brackets at its end, and without a place behind its last comma too."""
    bare = name_of(title[:MAX_NAME_CHARS])
    *before, place = _PLACE.split(bare)
    if before and place[0].isupper() and len(WORD.findall(place)) <= _SHORT:
        return [bare, bare[: -len(place)].rstrip(" ,")]
    return [bare]
