"""Which names of items a text may mean.

The same name comes before names that begin with the text or have all its words; only where there
is none of these are descriptions, beginnings of words, other spellings and single words tried, and
what they find is marked as near.
"""

import re
from collections.abc import Iterable, Sequence

from branchwise.corpora.graph.names.name_keys import MAX_CHARACTERS, NameKey, fold, telling
from branchwise.corpora.graph.names.near_names import is_question, overlapping, respelt
from branchwise.corpora.graph.names.words import (
    Meant,
    Name,
    NameWords,
    beginning,
    covers,
    every,
    every_prefix,
)

_DISAMBIGUATED = re.compile(r"(.*\S)\s*[(\uff08]([^()\uff08\uff09]*)[)\uff09]", re.DOTALL)
_LOOKED_AT = 60  # names that have the words, of which the best are taken


def meant_items(names: NameWords, text: str, limit: int) -> list[Meant]:
    """At most `limit` names of items that a text may mean, likeliest first."""
    text = text[:MAX_CHARACTERS].strip()
    whole, parted = fold(text), _DISAMBIGUATED.fullmatch(text)
    base = fold(parted[1]) if parted else whole
    hint = frozenset(telling(fold(parted[2]).words)) if parted else frozenset[str]()
    same = names.same(whole)
    if same:
        return _distinct(Meant(name) for name in _filled(names, same, whole, limit))
    if found := _filled(names, names.same(base), base, limit):
        return _distinct(Meant(name, hint) for name in found)
    if found := _described(names, whole, limit):
        return _distinct(_as_described(whole, hint, name) for name in found)
    found = (
        names.matching(every_prefix(base.words), limit)
        or respelt(names, base.words, limit)
        or overlapping(names, whole.words, limit, asked=is_question(text))
    )
    return _distinct(Meant(name, hint, near=not covers(name, base.words)) for name in found)


def _as_described(text: NameKey, hint: frozenset[str], name: Name) -> Meant:
    """A name that has some of the words. It is near but where the text has all of the name."""
    rest = frozenset(telling(set(text.words) - set(name.words)))
    return Meant(name, hint or rest, near=not set(name.words) <= set(text.words))


def _distinct(meant: Iterable[Meant]) -> list[Meant]:
    first: dict[int, Meant] = {}
    for one in meant:
        first.setdefault(one.name.number, one)
    return list(first.values())


def _filled(names: NameWords, same: Sequence[Name], text: NameKey, limit: int) -> list[Name]:
    """The same names, those that begin with the words, that have all of them, and that begin with
    them where the last is cut."""
    found = dict.fromkeys(same)
    if not text.words:
        return list(found)
    for query in (beginning(text.words), every(text.words), beginning(text.words, cut=True)):
        if len(found) < limit:
            found |= dict.fromkeys(names.matching(query, limit))
    return list(found)[:limit]


def _described(names: NameWords, text: NameKey, limit: int) -> list[Name]:
    """Names that have all the words together with their bearers' descriptions: those that have
    more of them in the name come first."""
    if len(text.words) < 2:
        return []
    found = names.matching(every(text.words, "{name about}"), _LOOKED_AT)
    wanted = set(text.words)
    shared = {name: len(wanted.intersection(telling(name.words))) for name in found}
    found = [name for name in found if 2 * shared[name] >= len(telling(name.words))]
    return sorted(found, key=lambda name: (len(name.words) - 2 * shared[name], name.number))[:limit]
