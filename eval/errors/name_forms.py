"""How a text may write an answer: patterns of its names, dates and numbers, and their rules.

"18 February 1977", "February 18, 1977" and "1977-02-18T00:00:00Z" are one date; "1,200" is 1200.
What must hold around a mention is for `name_context` to say.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, NamedTuple

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.base.text import one_line
from branchwise.eval import word_lists as lists
from branchwise.eval.errors.folding import FoldedText, folded, is_word, loose, squeezed

_DISAMBIGUATOR = re.compile(r"(.*[^\s(（])\s*[(（]([^()（）]*)[)）]\s*", re.DOTALL)
_TRAILING_ARTICLE = re.compile(r"(.*\w), (the|an?)\s*", re.DOTALL | re.IGNORECASE)
_CLOSING = re.compile(r"[)）]\s*\Z")
_PLAIN_NAME = re.compile(r"[a-z]+(?:\.? [a-z]+)*")
_ARTICLES = ("the", "a", "an")
_AND = ("&", "and")
_LONG_WORD = 40
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv", "inc", "ltd", "llc", "corp", "and", "&"))

# Between two words: white space within a line or over one line's end, a hyphen, or "_" of a URL.
_SPACE = r"(?:[^\S\t]{1,40}|[-–_])"
_QUOTES = "[\"']{0,2}"
_USUAL_GAPS = ("", " ", "-", "–", ". ", ", ", ": ")
_MARKS = "[:;,./!?()*\"'–—-]"

_NUMBER = re.compile(r"([-+]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?")
MONTH_NAMES = "|".join(
    rf"{m}|{m[:3]}\.?" + (r"|sept\.?" if m[0] == "s" else "") for m in lists.MONTHS
)
ORDINAL = r"(?:st|nd|rd|th)?"
_ISO = re.compile(r"\+?(\d{4})-(\d\d)(?:-(\d\d)(?:t[\d:.]*(?:z|[+-]\d\d:\d\d)?)?)?")
_DAY_FIRST = re.compile(
    rf"(?:(?:the )?(\d\d?){ORDINAL}(?: of)? )?({MONTH_NAMES})(?: of)?,? (\d{{3,4}})"
)
_MONTH_FIRST = re.compile(rf"({MONTH_NAMES}) (\d\d?){ORDINAL},? (\d{{3,4}})")


class Date(NamedTuple):
    """A day, or a whole month where `day` is None."""

    year: int
    month: int
    day: int | None


def read_date(fold: str) -> Date | None:
    text = one_line(fold)
    if iso := _ISO.fullmatch(text):
        year, month, day = iso[1], int(iso[2]), iso[3]
    elif named := _MONTH_FIRST.fullmatch(text):
        year, month, day = named[3], _month(named[1]), named[2]
    elif named := _DAY_FIRST.fullmatch(text):
        year, month, day = named[3], _month(named[2]), named[1]
    else:
        return None
    date = Date(int(year), month, int(day) if day else None)
    return date if 1 <= month <= 12 and (date.day is None or 1 <= date.day <= 31) else None


def date_pattern(date: Date) -> str:
    """A regular expression for folded text that finds the date in the usual ways of writing it."""
    name = lists.MONTHS[date.month - 1]
    month = rf"(?:{name}|{name[:3]}\.?{'|sept.?' if date.month == 9 else ''})"
    year, number = f"{date.year}", f"0?{date.month}"
    gap = r"\s{1,4}"
    any_day = rf"\d{{1,2}}{ORDINAL}"
    if date.day is None:
        return (
            rf"(?<!\w)(?:{month}(?:{gap}{any_day})?(?:{gap}of)?,?{gap}{year}(?!\d)"
            rf"|{year}-{date.month:02}(?:-\d\d(?!\d)|(?!\d|-\d))|{year}年\s?{number}月)"
        )
    day = f"0?{date.day}"
    return (
        rf"(?<![\w.])(?:{day}{ORDINAL}(?:{gap}of)?{gap}{month},?{gap}{year}(?!\d)"
        rf"|{month}{gap}{day}{ORDINAL}(?:,|{gap}|,{gap}){year}(?!\d)"
        rf"|{year}[-/]{date.month:02}[-/]{date.day:02}(?!\d)|{day}\.\s?{number}\.\s?{year}(?!\d)"
        rf"|{year}年\s?{number}月\s?{day}日)"
    )


def number_pattern(fold: str) -> str | None:
    """A regular expression that finds the number that a folded text is, with or without thousand
    separators and zeros after the point; None if it is none."""
    number = _NUMBER.fullmatch(fold.strip())
    if number is None:
        return None
    sign, digits = number[1], number[2].replace(",", "")
    decimals = (number[3] or "").rstrip("0")
    first = len(digits) % 3 or 3
    groups = [digits[:first], *(digits[i : i + 3] for i in range(first, len(digits), 3))]
    pattern = re.escape("-") if sign == "-" else ""
    pattern += ",?".join(groups) + (rf"\.{decimals}0*" if decimals else r"(?:\.0+)?")
    return pattern


def _month(name: str) -> int:
    return next(i for i, month in enumerate(lists.MONTHS, 1) if month[:3] == name[:3])


class Word(NamedTuple):
    """A word of a name: folded, and how it is written. `acronym`: "NASA", "R.E.M."; `marked`:
    has full stops or apostrophes inside, "Node.js", "O'Brien", which its fold has not."""

    fold: str
    capital: bool
    acronym: bool
    gap: str
    marked: bool = False


@dataclass(frozen=True)
class NameForm:
    """One way of writing a name, and the rules that its mentions must keep. `letters`: what
    `squeezed(text)` holds where it is mentioned. `literal`: how a folded text mostly writes it, or
    "". `value`: the pattern of what has no words. `shorter`: without its article, the weaker form.
    `known`: its disambiguators."""

    letters: str
    literal: str = ""
    value: str = ""
    words: tuple[Word, ...] = ()
    shorter: bool = False
    kind: Literal["name", "number", "date", "sign"] = "name"
    known: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> str:
        """Finds the form in folded text; few forms need it."""
        return self.value or _pattern(self.words)

    @property
    def single(self) -> bool:
        return len(self.words) == 1

    @cached_property
    def capitalised(self) -> bool:
        return any(word.capital for word in self.words)

    @cached_property
    def sentence_case(self) -> bool:
        """Whether only its first word has a capital: "Alternative rock"."""
        later = [word for word in self.words[1:] if word.fold not in lists.SMALL_WORDS]
        return bool(later) and not any(word.capital for word in later)

    @cached_property
    def capital_starts(self) -> set[str]:
        """How the words begin that a title writes with capitals, three letters each."""
        capital = [word.fold for word in self.words if word.capital]
        own = [word for word in capital if word not in lists.SMALL_WORDS]
        return {word[:3] for word in own or capital}

    @cached_property
    def common(self) -> bool:
        """Whether it could be an ordinary phrase: every word is one."""
        return all(word.fold in lists.COMMON_WORDS for word in self.words)


def name_forms(texts: Sequence[str]) -> list[NameForm]:
    """The forms of one thing, from its text and aliases; an empty text has none."""
    bounded = [folded(text[:MAX_CHARACTERS]) for text in texts]
    split = [_split(form) for form in bounded]
    known: dict[str, list[str]] = {}
    for bare, disambiguator in split:
        if disambiguator:
            known.setdefault(loose(bare.shown).strip(), []).append(disambiguator)
    forms: list[NameForm] = []
    of_letters: dict[str, list[NameForm]] = {}
    for bare, _ in split:
        others = tuple(known.get(loose(bare.shown).strip(), ())) if known else ()
        for form in _forms(bare, others):
            alike = of_letters.setdefault(form.letters, [])
            if not any(form.pattern == other.pattern for other in alike):
                alike.append(form)
                forms.append(form)
    return forms


def _split(form: FoldedText) -> tuple[FoldedText, str]:
    """A form without its trailing disambiguator, and that."""
    parts = _DISAMBIGUATOR.fullmatch(form.shown) if _CLOSING.search(form.shown) else None
    if parts is None or not any(map(is_word, parts[1])):
        return form, ""
    return folded(parts[1]), parts[2]


def _forms(form: FoldedText, known: tuple[str, ...]) -> Iterator[NameForm]:
    """A date, a number, or the name with and without what may be left out."""
    if any(map(str.isdigit, form.fold)):
        if date := read_date(form.fold):
            yield NameForm(str(date.year), value=date_pattern(date), kind="date")
            return
        if number := number_pattern(form.fold):
            whole = form.fold.strip().partition(".")[0].lstrip("+-").replace(",", "")
            yield NameForm(whole, value=number, kind="number")
            return
    if last := _TRAILING_ARTICLE.fullmatch(form.shown):
        form = folded(f"{last[2]} {last[1]}")
    words = read_words(form)
    if not words:
        if sign := form.fold.strip():  # a name without a letter or digit, such as "!!!"
            yield NameForm("", value=re.escape(sign), kind="sign")
        return
    yield _name(words, known)
    if words[0].fold in _ARTICLES and len(words) > 1 and words[0].gap.isspace():
        yield _name(words[1:], known, shorter=True)
    if words[-1].fold in lists.COMPANY_FORMS and len(words) > 1:
        yield _name(words[:-1], known)


def read_words(form: FoldedText) -> tuple[Word, ...]:
    """The words of a name, each with what stands between it and the next one."""
    if form.shown.isascii() and _PLAIN_NAME.fullmatch(form.fold):
        # English letters, single spaces and the stops of initials, as most names are: in less time.
        *before, last = form.shown.split(" ")
        written = [(word[:-1], ". ") if word[-1] == "." else (word, " ") for word in before]
        return tuple(
            Word(word.lower(), not word.islower(), 1 < len(word) <= 5 and word.isupper(), gap)
            for word, gap in (*written, (last, ""))
        )
    spans = _word_spans(form.fold)
    words = []
    for (start, end), (following, _) in pairwise((*spans, (len(form.fold), 0))):
        place = form.place(start, end)
        shown = form.shown[slice(*place)] if place else form.fold[start:end]
        gap = form.fold[end:following] if (start, end) != spans[-1] else ""
        words.append(_word(form.fold[start:end], shown, gap))
    return tuple(words)


def _word(fold: str, shown: str, gap: str) -> Word:
    letters = [c for c in shown if c.isalpha()]
    bare = fold.replace("'", "").replace(".", "") if not fold[0].isdigit() else fold
    marked, capitals = bare != fold, len(letters) > 1 and all(c.isupper() for c in letters)
    close = (marked and "." in fold) or len(letters) <= 5
    acronym = close and capitals and len(letters) == len(shown) - fold.count(".")
    return Word(bare, any(c.isupper() for c in letters), acronym, gap, marked)


def _word_spans(fold: str) -> list[tuple[int, int]]:
    """Where the words of a folded name stand: "o'brien", "n.w.a", "c++", "&" and "57.5" are one."""
    spans: list[tuple[int, int]] = []
    start = None
    for index, character in enumerate(fold):
        if _in_word(fold, index, character, inside=start is not None):
            start = index if start is None else start
            if character == "&":
                if start < index:
                    spans.append((start, index))
                spans.append((index, index + 1))
                start = None
        elif start is not None:
            spans.append((start, index))
            start = None
    if start is not None:
        spans.append((start, len(fold)))
    return spans


def _in_word(fold: str, index: int, character: str, *, inside: bool) -> bool:
    if is_word(character) or character == "&":
        return True
    following = fold[index + 1 : index + 2]
    if character in "'.":
        return inside and following.isalnum()
    return character in "+#$€£%@" and (inside or following.isalnum())


def _name(words: tuple[Word, ...], known: tuple[str, ...], *, shorter: bool = False) -> NameForm:
    # The letters and digits of the words; of the longest part between "and"s, also "&".
    parts = [""]
    for word in words:
        if word.fold in _AND:
            parts.append("")
        else:
            parts[-1] += word.fold
    literal = ""
    # Not where its letters are not all there is to its words.
    if all(word.fold not in _AND and word.fold.isalnum() for word in words):
        literal = "".join(word.fold + word.gap for word in words[:-1]) + words[-1].fold
    letters = squeezed(max(parts, key=len))
    return NameForm(letters, literal, words=words, shorter=shorter, kind="name", known=known)


def _pattern(words: Sequence[Word]) -> str:
    """What finds the words in folded text, one behind the other."""
    if len(words) == 1 and words[0].acronym:
        # On its own it is in one piece or all apart: "Shot" is not "S. Hot".
        letters = [re.escape(letter) for letter in words[0].fold]
        close, apart = r"\.?".join(letters), r"\.?[^\S\t]".join(letters)
        return f"(?:{close}|{apart})"
    parts = [_word_pattern(words[0])]
    for word, following in pairwise(words):
        usual, as_written = _gap_pattern(word, following), re.escape(word.gap)
        parts.append(usual if word.gap in _USUAL_GAPS else f"(?:{usual}|{as_written})")
        parts.append(_word_pattern(following))
    return "".join(parts)


def _word_pattern(word: Word) -> str:
    """A word with the apostrophes and hyphens that a text may have in it, or an acronym's stops."""
    if word.fold in _AND:
        return "(?:&|and)"
    if word.marked and not word.acronym:
        return "['.-]?".join(map(re.escape, word.fold))
    if len(word.fold) > _LONG_WORD:
        return re.escape(word.fold)
    if word.acronym:
        return r"\.?[^\S\t]?".join(map(re.escape, word.fold))
    if _CJK.search(word.fold):
        return r"[^\S\t]?".join(map(re.escape, word.fold))
    if not word.fold.isascii():
        return re.escape(word.fold)
    pattern = re.escape(word.fold[0])
    for before, letter in pairwise(word.fold):
        pattern += "['-]?" if before.isalpha() and letter.isalpha() else ""
        pattern += re.escape(letter)
    return pattern


def _gap_pattern(word: Word, following: Word) -> str:
    gap = word.gap
    initials = len(word.fold) == 1 and len(following.fold) == 1
    if "&" in (word.fold, following.fold) or not gap:
        return _comma(following) + r"[^\S\t]{0,3}" if not gap else _spaced(word, following)
    if gap.strip() in ("", ".") and (initials or gap == "."):
        return r"\.?[^\S\t]{0,3}"
    if "\u00b7" in gap:
        return r"[\u00b7=\s-]{1,3}"
    if gap.strip() in ("-", "–") and len(gap) == 1:
        return rf"(?:{_SPACE})?"
    if not gap.strip(" \n_."):
        return _spaced(word, following)
    if gap.strip() == gap:  # "Face/Off", "M*A*S*H"
        return rf"{_MARKS}{{0,3}}[^\S\t]{{0,3}}"
    return rf"(?:{_MARKS}{{0,3}}[^\S\t]{{1,40}}(?:[–—-][^\S\t]{{1,3}})?{_QUOTES}|[-–_])"


def _spaced(word: Word, following: Word) -> str:
    """A space: a stop may stand before it after a short word, a comma before "Jr." and "and"."""
    abbreviated = word.acronym or len(word.fold) == 1 or word.fold in lists.ABBREVIATIONS
    stop = r"\.?" if abbreviated or word.gap[0] == "." else ""
    return f"{stop}{_comma(following)}:?{_QUOTES}{_SPACE}{_QUOTES}"


def _comma(following: Word) -> str:
    return ",?" if following.fold in _SUFFIXES or following.acronym else ""
