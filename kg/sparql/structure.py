"""What a query is made of: selects, groups, triple patterns; each knows where it stands.

A reader that forgives: text that is no SPARQL gives some structure, and its errors are left to the
parsers that check the grammar. What is needed here, and what their trees do not give, is where each
part stands in the text.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from branchwise.kg.sparql.tokens import Span, Token

GroupKind = Literal["where", "plain", "optional", "union", "minus", "exists", "graph", "service"]


@dataclass(frozen=True)
class Triple:
    """A triple pattern. `text`: with full IRIs; `tokens`: what it is written with; `start`: of
    its property, in characters.
    """

    text: str
    subject: str
    predicate: str
    object: str
    tokens: tuple[Token, ...]
    start: int

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of its variables, each once, in order."""
        return names_of(self.tokens)


@dataclass(eq=False)
class GroupPattern:
    """What stands between two braces. `start`: of the first; `end`: past the last, in characters.

    `reads`: variables in its own FILTERs and BINDs; `before`: where the first BIND begins that
    reads a variable; `sets`: variables that its BINDs and VALUES bind; `always`: those
    that VALUES bind in every row; `head`: where the word before the first brace begins;
    `open_before`: a triple pattern ends there, without a dot; `filters`: its FILTERs, with what
    these read.
    """

    kind: GroupKind
    parent: "GroupPattern | None"
    start: int
    end: int = 0
    head: int = 0
    open_before: bool = False
    triples: list[Triple] = field(default_factory=list)
    groups: list["GroupPattern"] = field(default_factory=list)
    select: "SelectQuery | None" = None
    reads: list[Token] = field(default_factory=list)
    sets: list[str] = field(default_factory=list)
    always: list[str] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    filters: list[tuple[Span, tuple[str, ...]]] = field(default_factory=list)

    def visible(self) -> tuple[str, ...]:
        """Names of the variables that its solutions may bind, in order of first mention."""
        found: dict[str, int] = {}
        for triple in self.triples:
            for token in triple.tokens:
                if token.kind == "variable":
                    found.setdefault(token.text[1:], token.start)
        for name in self.sets:
            found.setdefault(name, self.end)
        for group in self.groups:
            if group.kind not in ("minus", "exists", "service"):
                for name in group.visible():
                    found.setdefault(name, group.start)
        if self.select is not None:
            for name in self.select.columns():
                found.setdefault(name, self.start)
        return tuple(sorted(found, key=lambda name: found[name]))

    def certain(self, before: int | None = None) -> set[str]:
        """Names of variables that every solution binds; some such may be missing.

        With `before`, those that are bound in triple patterns before that character.
        """
        if before is not None:
            return {n for triple in self.triples if triple.start < before for n in triple.variables}
        found = {name for triple in self.triples for name in triple.variables}
        found.update(self.always)
        branches = [group.certain() for group in self.groups if group.kind == "union"]
        if branches:
            found |= set.intersection(*branches)
        for group in self.groups:
            if group.kind == "plain":
                found |= group.certain()
        if self.select is not None:
            found |= set(self.select.columns()) & self.select.where.certain()
        return found

    def nested(self) -> Iterator["GroupPattern"]:
        """This group and those in it, but not those of selects in it."""
        yield self
        for group in self.groups:
            yield from group.nested()


@dataclass(eq=False)
class SelectQuery:
    """A SELECT, or an ASK, CONSTRUCT or DESCRIBE.

    `named`: names of its columns; `plain`: those that are variables; `star`: its `*`, and
    `supplied`, what that shows beside the group's variables; `reads`: variables in expressions of
    its head and in what follows the group; `keys`: names of its GROUP BY keys, `keys_end`: where
    these end; `ordered`: variables of ORDER BY; `having`: those of HAVING; `expressions`: where the
    expressions of named columns stand; `grouped`: it has keys or aggregates.
    """

    form: str
    where: GroupPattern
    named: list[str] = field(default_factory=list)
    plain: list[Token] = field(default_factory=list)
    star: Token | None = None
    commas: list[Token] = field(default_factory=list)
    supplied: list[str] = field(default_factory=list)
    reads: list[Token] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    keys_end: int = 0
    ordered: list[Token] = field(default_factory=list)
    having: list[Token] = field(default_factory=list)
    expressions: dict[str, Span] = field(default_factory=dict)
    grouped: bool = False

    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        if self.star is not None:
            return tuple(dict.fromkeys((*self.where.visible(), *self.supplied)))
        return tuple(dict.fromkeys(self.named))


def names_of(tokens: tuple[Token, ...] | list[Token]) -> tuple[str, ...]:
    """The names of the variables among tokens, each once, in order."""
    return tuple(dict.fromkeys(t.text[1:] for t in tokens if t.kind == "variable"))
