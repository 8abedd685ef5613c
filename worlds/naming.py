"""Names on demand: a number gives a name, two numbers never the same, nothing is stored."""

from bisect import bisect_right
from collections.abc import Mapping

from branchwise.base.errors import InputError
from branchwise.worlds.patterns import PatternSpread, draw_below, pattern_capacity
from branchwise.worlds.word_lists import NAME, KindPatterns, word_lists

_ALIASES_PER_NAME = 16


class NameMaker:
    """Distinct names of several kinds, made on demand from word lists.

    `counts`: how many names of each kind are needed. A name's number is `offsets[kind]` + index,
    with index in [0, counts[kind]); numbers outside are not checked. Names differ even without
    case, accents, punctuation and articles. Raises InputError for an unknown kind, and for more
    names than a kind has.
    """

    def __init__(self, counts: Mapping[str, int], seed: int) -> None:
        self.offsets: dict[str, int] = {}
        self._kinds: list[_Kind] = []
        start = 0
        for kind, count in counts.items():
            self.offsets[kind] = start
            if count:
                self._kinds.append(_Kind(kind, count, start, seed))
            start += count
        self._starts = [kind.start for kind in self._kinds]

    def _kind(self, number: int) -> "_Kind":
        return self._kinds[bisect_right(self._starts, number) - 1]

    def name(self, number: int) -> str:
        """The name of this number."""
        kind = self._kinds[bisect_right(self._starts, number) - 1]
        place = (number * kind.stride + kind.shift) % kind.count
        return kind.renders[bisect_right(kind.bounds, place)](place)

    def adjective(self, number: int) -> str:
        """The adjective of the country: "Velmara" -> "Velmaran". The name itself if the kind has
        none."""
        name, endings = self.name(number), self._kind(number).endings
        return name + next((added for end, added in endings if name.endswith(end)), "")

    def is_female(self, number: int) -> bool:
        """Whether the given name is a woman's."""
        kind = self._kind(number)
        return kind.female[bisect_right(kind.bounds, kind.place(number))]

    def surname(self, number: int) -> str:
        """The last word of the name."""
        return self.name(number).rpartition(" ")[2]

    def alias(self, number: int, salt: int) -> str:
        """Another name of the bearer that fits the kind and is not the name of any number.

        Two numbers share no alias, whatever the salts. Bearers of one number should take salts
        0, 1, ...: at least 14 differ where entities may share names (city, person, work, firm),
        at least 3 elsewhere, and then they come again.
        """
        return self._kind(number).alias(number, salt, self.name(number))


class _Kind(PatternSpread):
    """The names of one kind, and their aliases."""

    def __init__(self, kind: str, count: int, start: int, seed: int) -> None:
        declared = word_lists().kinds.get(kind)
        if declared is None:
            raise InputError(f"there are no names of the kind {kind!r}")
        capacity = pattern_capacity(declared.patterns)
        if count > capacity:
            raise InputError(
                f"{count:,} names of the kind {kind!r} are more than its {capacity:,}",
                remedy="ask for fewer entities, or for more domains",
            )
        super().__init__(declared.patterns, count, f"{seed} {kind}")
        self.start = start
        self.shift = draw_below(f"{seed} {kind} shift", count) - start * self.stride
        self.female = ["{female}" in pattern for pattern in declared.patterns]
        self.endings = sorted(declared.adjectives.items(), key=lambda e: -len(e[0]))
        self._aliases = _alias_spread(declared, count, f"{seed} {kind} alias")
        self._embeds = NAME in next(iter(declared.aliases))
        self._per_name = self._aliases.count // count or 1

    def place(self, number: int) -> int:
        return (number * self.stride + self.shift) % self.count

    def alias(self, number: int, salt: int, name: str) -> str:
        spread = self._aliases
        if self._embeds:
            return spread.text((number * spread.stride + salt) % spread.count).replace(NAME, name)
        index = number - self.start + salt % self._per_name * self.count
        return spread.text(index * spread.stride % spread.count)


def _alias_spread(declared: KindPatterns, count: int, seed: str) -> PatternSpread:
    """Aliases that embed the name need differ for one bearer only; others, for all bearers.

    Of these there are a multiple of `count`, so that whatever the salt, no two bearers share one.
    """
    capacity = pattern_capacity(declared.aliases)
    embeds = NAME in next(iter(declared.aliases))
    wanted = capacity if embeds else count * min(_ALIASES_PER_NAME, capacity // count)
    return PatternSpread(declared.aliases, wanted, seed)
