"""Whether what stands around a name or a number in a text leaves it that name or number.

A name that is a part of a longer word or name does not mention the shorter one. A number is no
mention inside a longer number, a percentage, a time, the day of a date or a name ("Apollo 11"); a
year is one inside a date or a range of years, not in a season ("1976-77"). All checks look at a
bounded part of the text.
"""

import re

from branchwise.eval import word_lists as lists
from branchwise.eval.errors.folding import is_word
from branchwise.eval.errors.name_forms import MONTH_NAMES, ORDINAL

_NEAR = 80
_ELISION = re.compile(r"(?:^|[^\w])(?:[cdjlmnst]|qu|dell|all|nell|un)['’]$")
_CLITIC = re.compile(r"['’](?:s|d|ll|re|ve|m)?(?![^\W_])", re.IGNORECASE)
_WORD_AFTER = re.compile(r"[ _\u00a0]([^\W_][\w'’-]*)")
_COMMA_WORD_AFTER = re.compile(r",? ?\s([^\W_]\w*)")
_ARTICLE = re.compile(r"(?<!\w)(?:the|an?)\s$", re.IGNORECASE)
_WORD_BEFORE = re.compile(r"(?:^|[^\w'’-])([^\W_][\w'’-]*)[ _\u00a0]$")
_ABBREVIATION = re.compile(r"(?:^|[^\w.])([^\W\d_]\w{0,3})\. $")
_OF_NAME = re.compile(r" of (?:the )?[^\W\d_]")
_SURNAME_GENERATION = re.compile(r" ([^\W\d_]\w*),? (?:Jr|Sr|I{1,3}|IV)\b")
_THE_NAME = re.compile(r" the ([^\W\d_]\w*)")
_SEQUEL = re.compile(r"[ _](\d{1,4})(?![\w,]|\.\d|[-–:/]\d| ?%)")
_MONTH = re.compile(
    rf" \d\d?(?:st|nd|rd|th)? (?:{'|'.join(m[:3] for m in lists.MONTHS)})", re.IGNORECASE
)
_SENTENCE_START = re.compile(r"(?:^|[.!?。؟।]|\n|[•*])[\s\"“”'‘’(\[]*$")
_LINE_START = re.compile(r"(?:^|\n)[ ]*(?:[-–*•]|\d+[.)])[ ]*$")
_BRACKETED = re.compile(r"[\"”'’]?[\s_][(（]([^()（）\n]{1,60})[)）]")
_WORDS = re.compile(r"[^\W_]")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_KIND_BEFORE = re.compile(r"(?<![^\W_])([a-z]+) [\"“'‘]?$")
_YEAR_BEFORE = re.compile(r"(?<!\d)(\d{4})(?:-born)?(?: [a-z-]+){1,4} [\"“'‘]?$")
_TITLE_AFTER = re.compile(r"[\"”'’]?\s?[(,;:—–\"”|\]]|['’]s\b| (?:is|was) (?:an?|the|not|\d)")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f]")
_THAI_FOLLOWING = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3"
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_CAPITAL_BEFORE = re.compile(r"(?:^|[^\w])([^\W\d_][\w'’]*)[ ]$")
_PLAIN_BEFORE = lists.FUNCTION_WORDS | frozenset(
    ["altogether", "approximately", "count", "exactly", "nearly", "overall", "roughly", "scored"]
)
_MAGNITUDE = re.compile(r"(?:%| ?(?:%|percent\b|per cent\b|(?:m|b|tr)illion\b|thousand\b))", re.I)
_MONTH_AFTER = re.compile(rf"{ORDINAL}(?: of)? (?:{MONTH_NAMES})\b", re.I)
_MONTH_BEFORE = re.compile(rf"(?:^|\W)(?:{MONTH_NAMES}) $", re.I)
_RANGE_AFTER = re.compile(r"[-–]\d{4}(?!\d)")
_DATE_AFTER = re.compile(r"-\d\d-\d\d")


def has_borders(text: str, start: int, end: int) -> bool:
    return _begins_word(text, start) and _ends_word(text, end)


def _begins_word(text: str, start: int) -> bool:
    before, first = text[start - 1 : start], text[start : start + 1]
    if not before or not _joined(before, first):
        if before in ("'", "’") and start >= 2 and is_word(text[start - 2]):
            return bool(_ELISION.search(text[max(0, start - 8) : start]))
        if before == "-" and start >= 2 and is_word(text[start - 2]):
            # "anti-" is a prefix, "Jean-" a name.
            prefix = re.search(r"\w+$", text[max(0, start - 31) : start - 1])
            return prefix is not None and prefix[0].islower()
        return not (before == "·" or before == "・") or not is_word(text[start - 2 : start - 1])
    return False


def _ends_word(text: str, end: int) -> bool:
    last, after, second = text[end - 1], text[end : end + 1], text[end + 1 : end + 2]
    if not after:
        return True
    if _joined(last, after):
        particle = _HANGUL.match(text[end : end + 8]) if _HANGUL.fullmatch(last) else None
        return particle is not None and particle[0] in lists.HANGUL_PARTICLES
    if after in "'’":
        return not is_word(second) or bool(_CLITIC.match(text[end : end + 5]))
    if after in "+#":
        return not is_word(last)
    if after == "-" and is_word(second):
        return second.islower()
    if after in "·・":
        return not is_word(second)
    return True


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters are of one word."""
    if not (is_word(left) and is_word(right)):
        return False
    if left.isascii() and right.isascii():
        return True
    if right in _THAI_FOLLOWING or not right.isalnum():  # a vowel, a mark on the last letter
        return True
    if _KATAKANA.match(left) and _KATAKANA.match(right):
        return True
    return not (_UNSPACED.match(left) or _UNSPACED.match(right))


def has_article(text: str, start: int) -> bool:
    return _ARTICLE.search(text[max(0, start - 6) : start]) is not None


def stands_alone(text: str, start: int, end: int) -> bool:
    """Whether the span is a whole field: a line, a cell, a quoted text, what follows a colon."""
    after = text[end : end + _NEAR].lstrip(" .")
    if after[:1].isalnum():  # as most names: looking no further takes a third of the time
        return False
    before = text[max(0, start - _NEAR) : start]
    left = before.rstrip(" ")[-1:]
    if not _WORDS.search(before[before.rfind("\n") + 1 :] + after.partition("\n")[0]):
        return True
    if after[:1] in ('"', "”", "'", "’") and left in ('"', "“", "'", "‘"):
        return text[start - 1 : start] == left
    if after and after[0] not in "\n\t|]}<\r":
        return after[0] == "," and left in ("[", '"')
    return (
        left in ("", "\n", "\t", "|", "[", "{", ">", ":") or _LINE_START.search(before) is not None
    )


def is_other_generation(text: str, end: int) -> bool:
    """Whether "Jr.", "II" or "the Younger" makes the name another person's."""
    after = text[end : end + _NEAR]
    word = _COMMA_WORD_AFTER.match(after)
    if word and word[1].lower() in lists.GENERATIONS and word[1][0].isupper():
        return True
    if (surname := _SURNAME_GENERATION.match(after)) and surname[1][0].isupper():
        return True
    following = _THE_NAME.match(after)
    return following is not None and following[1] in ("Elder", "Younger")


def is_sequel(text: str, end: int) -> bool:
    """Whether a number behind the name makes it another work's: "Toy Story 2"; no year does."""
    after = text[end : end + _NEAR]
    number = _SEQUEL.match(after)
    if number is None or _MONTH.match(after):
        return False
    return len(number[1]) < 3 or (len(number[1]) == 4 and not 1000 <= int(number[1]) <= 2035)


def is_in_longer_name(text: str, start: int, end: int) -> bool:
    """Whether capitals around a name of several words make it another's: "New York Times"."""
    after, before = text[end : end + _NEAR], text[max(0, start - _NEAR) : start]
    word = _WORD_AFTER.match(after)
    if word and word[1][0].isupper() and word[1].lower() in lists.LONGER_NAMES:
        return True
    opening = _word_before(before)
    return bool(opening and opening[1][0].isupper() and opening[1].lower() in lists.NAME_OPENINGS)


def is_part_of_name(text: str, start: int, end: int) -> bool:
    """Whether capitals around a single word make it a part of a longer name: "Prince Edward"."""
    before, after = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
    return _continues(after, text[start:end]) or _was_begun(before, text[start:end])


def _continues(after: str, name: str) -> bool:
    word = _WORD_AFTER.match(after)
    if word and word[1][0].isupper() and word[1].lower() not in lists.NAME_ENDINGS:
        return not (_is_capitals(name) and word[1].isupper())
    of_name, the_name = _OF_NAME.match(after), _THE_NAME.match(after)
    return bool((of_name and of_name[0][-1].isupper()) or (the_name and the_name[1][0].isupper()))


def _was_begun(before: str, name: str) -> bool:
    abbreviation = _ABBREVIATION.search(before)
    if abbreviation and abbreviation[1][0].isupper():
        return True
    word = _word_before(before)
    if word is None or not word[1][0].isupper() or word[1].endswith(("'s", "’s", "s'", "s’")):
        return False
    lowered = word[1].lower()
    in_capitals = _is_capitals(name) and word[1].isupper()
    if lowered in lists.TITLES or lowered in ("the", "a", "an") or in_capitals:
        return False
    if not _SENTENCE_START.search(before[: word.start(1)]):
        return True
    return lowered not in lists.FUNCTION_WORDS and word[1].isascii() and not _is_capitals(name)


def _word_before(before: str) -> re.Match[str] | None:
    """The word at the end of a text, with a space behind it. Searched from the last other space on:
    a pattern that is bound to the end alone is tried at every word."""
    return _WORD_BEFORE.search(before, max(0, before.rfind(" ", 0, -1)))


def _is_capitals(name: str) -> bool:
    return len(name) > 1 and name.isupper()


def begins_sentence(text: str, start: int) -> bool:
    """Whether a word is the first of a sentence or line, where every word has a capital."""
    return _SENTENCE_START.search(text[max(0, start - _NEAR) : start]) is not None


def is_title_at_start(text: str, end: int) -> bool:
    """Whether what follows the first word of a sentence shows that it is a title."""
    return _TITLE_AFTER.match(text[end : end + _NEAR]) is not None


def names_own_bearer(text: str, start: int, end: int, known: tuple[str, ...]) -> bool | None:
    """Which bearer of a name is meant: the one with these disambiguators, another ("King Kong (1933
    film)" is not "King Kong (1976 film)"), or None: brackets without year and kind say nothing."""
    bracketed = _BRACKETED.match(text[end : end + _NEAR])
    if bracketed and all(_contradicts(bracketed[1], own) for own in known):
        return False
    if bracketed and any(_words(bracketed[1]) & _words(own) for own in known):
        return True
    if _is_other_before(text, start, known):
        return False
    kind = _KIND_BEFORE.search(text[max(0, start - _NEAR) : start])
    return True if kind and any(kind[1] in lists.KINDS & _words(own) for own in known) else None


def _is_other_before(text: str, start: int, known: tuple[str, ...]) -> bool:
    """Whether a year or a kind of work right before the name is none of its own."""
    before = text[max(0, start - _NEAR) : start]
    own_years = {year for own in known for year in _YEAR.findall(own)}
    year = _YEAR_BEFORE.search(before)
    is_other_year = own_years and year and year[1] not in own_years
    if year and is_other_year and (lists.KINDS & _words(year[0]) or "-born" in year[0]):
        return True
    kind = _KIND_BEFORE.search(before)
    return kind is not None and all(
        _is_other(lists.WORK_KINDS, {kind[1]}, _words(own))
        or _is_other(lists.OCCUPATIONS, {kind[1]}, _words(own))
        for own in known
    )


def disambiguator_end(text: str, end: int, known: tuple[str, ...]) -> int:
    """Where the name ends together with its own disambiguator in brackets."""
    bracketed = _BRACKETED.match(text[end : end + _NEAR]) if known else None
    if bracketed and any(_words(bracketed[1]) == _words(own) for own in known):
        return end + bracketed.end()
    return end


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _contradicts(given: str, own: str) -> bool:
    """Whether a disambiguator in a text cannot be one's own."""
    given_words, own_words = _words(given), _words(own)
    if given_words <= own_words or own_words <= given_words:
        return False
    given_years, own_years = set(_YEAR.findall(given)), set(_YEAR.findall(own))
    if given_years and own_years and not given_years & own_years:
        return not re.search(r"\d{4}\s?[–-]", given) or bool("born" in own_words)
    given_kinds, own_kinds = given_words & lists.KINDS, own_words & lists.KINDS
    if not given_kinds or len(given_words) > 6:
        return False
    if _is_other(lists.WORK_KINDS, given_words, own_words):
        return True
    if given_kinds <= lists.PERSON_KINDS and own_kinds and own_kinds <= lists.PERSON_KINDS:
        return not (given_kinds & own_kinds or given_years & own_years)
    given_rest, own_rest = given_words - lists.KINDS, own_words - lists.KINDS
    return (
        bool(given_rest and own_rest and not given_rest & own_rest) or not own_kinds & given_kinds
    )


def _is_other(groups: tuple[frozenset[str], ...], given: set[str], own: set[str]) -> bool:
    """Whether both name things of these groups, and no group has a word of both."""
    given_groups = [group for group in groups if group & given]
    own_groups = [group for group in groups if group & own]
    return bool(given_groups and own_groups) and not any(g in own_groups for g in given_groups)


def is_bare_number(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - 40) : start], text[end : end + 40]
    value = text[start:end]
    is_year = len(value) == 4 and value.isdecimal() and "1000" <= value <= "2100"
    if not (_free_before(before, value, is_year) and _free_after(after, is_year)):
        return False
    if is_year:
        return True
    is_day = value.isdecimal() and 1 <= int(value[:9]) <= 31
    # A capitalised word right before makes it a name: "Apollo 11".
    word = _CAPITAL_BEFORE.search(before)
    return not (
        _MAGNITUDE.match(after)
        or (is_day and (_MONTH_AFTER.match(after) or _MONTH_BEFORE.search(before)))
        or (word and word[1][0].isupper() and word[1].lower() not in _PLAIN_BEFORE)
    )


def _free_before(before: str, value: str, is_year: bool) -> bool:
    last, rest = before[-1:], before[:-1]
    if last.isalnum() or last == "_":
        return False
    if last in ".,:/" and rest[-1:].isdigit():
        return False
    if last in "-−" and last:
        return is_year and rest[-4:].isdigit() and len(rest) >= 4
    if last == "–":
        return is_year and rest[-4:].isdigit()
    return not (value[0] == "-" and rest[-1:].isalnum())


def _free_after(after: str, is_year: bool) -> bool:
    sign, following = after[:1], after[1:2]
    if sign.isalnum() or (sign in "'’" and sign and following == "s"):
        return False
    if sign in ".,:/" and following.isdigit():
        return False
    if sign in "-–" and sign and following.isdigit():
        return is_year and bool(_RANGE_AFTER.match(after) or _DATE_AFTER.match(after))
    return not (sign == "-" and following.isupper())
