"""Labels that a query uses and leaves to Wikidata's label service, in plain SPARQL 1.1.

On Wikidata, `SERVICE wikibase:label` binds `?xLabel`, `?xDescription` and `?xAltLabel` for each
`?x`, once everything else is bound. Here the look-ups are written out at the end of the group:

* `?xLabel`: the label in the first of the languages that has one, else in "mul" or none, else the
  last part of the IRI, or the literal itself;
* `?xDescription`: the description, or nothing;
* `?xAltLabel`: the aliases in the first of the languages, joined with commas.

What a query binds itself, under whatever name, is left alone.
For endpoints as well: only Wikidata's has the service.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from branchwise.kg.sparql.refusals import check_size
from branchwise.kg.sparql.structure import KNOWN, GroupPattern, SelectQuery
from branchwise.kg.sparql.tokens import Edit, Edits

DEFAULT_LANGUAGES = ("en",)
_ANY = ("mul", "")
_MOST_LANGUAGES = 5
_PREDICATES = {
    "Label": KNOWN["rdfs"] + "label",
    "Description": KNOWN["schema"] + "description",
    "AltLabel": KNOWN["skos"] + "altLabel",
}
_SUFFIX = re.compile(r"(.+?)(AltLabel|Label|Description)")
_LAST_PART = 'IF(isIRI(?x), REPLACE(STR(?x), "^.*[/#]([^/#]+)$", "$1"), STR(?x))'
_NOTHING = "<about:nothing>"
"""Stands in for what may be unbound: a look-up of an unbound variable would find every label, and
Oxigraph joins by looking up only what it knows to be bound (100,000 labels: 0.2 ms, not 200)."""
_PARAMETER = f"<{KNOWN['bd']}serviceParam>"
_LANGUAGE = f"<{KNOWN['wikibase']}language>"


class Supply(NamedTuple):
    """A label to look up: of the term `subject`, into the variable `name`."""

    subject: str
    predicate: str
    name: str


class Labels:
    """Writes look-ups for all selects of a query into `edits`. `taken`: variables in use."""

    def __init__(self, edits: Edits, taken: set[str], languages: tuple[str, ...]) -> None:
        self.edits = edits
        self.taken = taken
        self.languages = languages
        self._later: list[tuple[GroupPattern, Supply, int | None]] = []
        self._written = 0

    def supply(self, select: SelectQuery) -> None:
        """Look up what the label services and the label variables of a select ask for."""
        where = select.where
        columns = where.visible() if select.star else ()
        before, first = len(self.taken), self.edits.count()
        supplied: list[str] = []
        for group in services_of(where):
            supplied += self._manual(group)
        for group in where.nested():
            if group is not where:
                self._in_group(group)
        supplied += self._in_where(select, set(where.visible()) | set(supplied))
        # Look-ups of aliases copy a group, as the `first` edits left it: a copy that held the
        # look-ups of this select would double with each of them.
        for group, supply, at in self._later:
            self._look_up(group, supply, at, self._rows(group, first))
        self._later.clear()
        if select.star and len(self.taken) > before:
            star = " ".join(f"?{name}" for name in dict.fromkeys((*columns, *supplied)))
            self.edits.replace(select.star.start, select.star.end, star or "*")
            select.supplied = supplied
        # Group by `?xLabel`, too, where `?x` is a key: it can be a column then.
        for name in supplied:
            match = _SUFFIX.fullmatch(name)
            if match and match[1] in select.keys and name not in select.keys:
                self.edits.insert(select.keys_end, f" ?{name}")

    def _in_where(self, select: SelectQuery, visible: set[str]) -> list[str]:
        tokens = (*select.plain, *select.reads, *select.ordered, *select.where.reads)
        supplied = []
        for name in sorted({token.text[1:] for token in tokens} - visible):
            if supply := _wanted(name, visible):
                self._write(select.where, supply)
                supplied.append(name)
        return supplied

    def _manual(self, service: GroupPattern) -> list[str]:
        names = []
        for triple in service.triples:
            if triple.subject == _PARAMETER or triple.object[0] != "?":
                continue
            name, subject = triple.object[1:], triple.subject
            group = service.parent
            while group is not None and group.kind != "where":
                if subject[1:] in group.visible():
                    break
                group = group.parent
            if group is not None and name not in group.visible():
                supply = Supply(subject, triple.predicate.strip("<>"), name)
                self._write(group, supply)
                names.append(name)
        return names

    def _in_group(self, group: GroupPattern) -> None:
        """Labels that only FILTERs and BINDs of this inner group read, under names of its own."""
        visible = group.visible()
        for name in sorted({t.text[1:] for t in group.reads} - set(visible)):
            if supply := _wanted(name, set(visible)):
                own = self._fresh(name)
                self._write(group, supply._replace(name=own), group.before.get(name))
                for token in group.reads:
                    if token.text[1:] == name:
                        self.edits.replace(token.start, token.end, f"?{own}")

    def _write(self, group: GroupPattern, supply: Supply, before: int | None = None) -> None:
        before = group.before.get(supply.name, before)
        if supply.predicate == _PREDICATES["AltLabel"]:
            self._later.append((group, supply, before))
        else:
            self._look_up(group, supply, before)

    def _rows(self, group: GroupPattern, first: int) -> str:
        """A copy of a group without FILTERs on labels: it finds what the group finds, or more."""
        others = [
            Edit(*span, "FILTER(true)")
            for inside in _joined(group)
            for span, reads in inside.filters
            if any(_SUFFIX.fullmatch(name) for name in set(reads) - set(inside.visible()))
        ]
        return self.edits.within(group.start + 1, group.end - 1, first, others)

    def _look_up(
        self, group: GroupPattern, supply: Supply, before: int | None, rows: str | None = None
    ) -> None:
        subject, opening = supply.subject, ""
        if subject.startswith("?") and subject[1:] not in group.certain(before):
            subject = f"?{self._fresh(supply.name)}"
            opening = f"BIND(COALESCE({supply.subject}, {_NOTHING}) AS {subject}) "
        aliases = rows is not None and self._aliases(rows, supply, subject)
        lookup = aliases or self._first(supply, subject)
        self._written += len(lookup)
        check_size(self._written)
        at = group.end - 1 if before is None else before
        self.edits.insert(at, f" {opening}{lookup} ")

    def _first(self, supply: Supply, subject: str) -> str:
        choices, lookups = [], []
        for wanted in (*((language,) for language in self.languages), _ANY):
            choices.append(f"?{self._fresh(supply.name)}")
            lookups.append(
                f"OPTIONAL {{ {subject} <{supply.predicate}> {choices[-1]} . "
                f"FILTER({_in_language(choices[-1], wanted)}) }}"
            )
        if supply.predicate == _PREDICATES["Label"]:
            # As COALESCE, which Virtuoso (7.2) mistakes where a FILTER reads its last part.
            value = _LAST_PART.replace("?x", supply.subject)
            for variable in reversed(choices):
                value = f"IF(BOUND({variable}), {variable}, {value})"
        else:
            value = f"COALESCE({', '.join(choices)})"
        return f"{' '.join(lookups)} BIND({value} AS ?{supply.name})"

    def _aliases(self, rows: str, supply: Supply, subject: str) -> str:
        """All values in the first language, joined: a select over what the group finds."""
        alias = f"?{self._fresh(supply.name)}"
        key = supply.subject if subject == supply.subject else f"({supply.subject} AS {subject})"
        inner = (
            f"{{ SELECT DISTINCT {supply.subject} "
            f"WHERE {{ {{ {rows} }} FILTER(BOUND({supply.subject})) }} }}"
            if supply.subject.startswith("?")
            else ""
        )
        joined = f'GROUP_CONCAT(STR({alias}); SEPARATOR=", ")'
        return (
            f"OPTIONAL {{ SELECT {key} "
            f'(STRLANG({joined}, "{self.languages[0]}") AS ?{supply.name}) '
            f"WHERE {{ {inner} {supply.subject} <{supply.predicate}> {alias} . "
            f"FILTER({_in_language(alias, self.languages[:1])}) }} GROUP BY {supply.subject} }}"
        )

    def _fresh(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def services_of(where: GroupPattern) -> list[GroupPattern]:
    """The label services in a group, but not those of selects in it."""
    return [group for group in where.nested() if group.kind == "service"]


def languages_of(services: list[GroupPattern]) -> tuple[str, ...]:
    """The languages that label services name, in order, without "[AUTO_LANGUAGE]"."""
    named = [
        language.strip().lower()
        for service in services
        for triple in service.triples
        if triple.predicate == _LANGUAGE
        for language in triple.object.strip("\"'").split(",")
    ]
    known = [tag for tag in named if re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", tag) and tag not in _ANY]
    return tuple(dict.fromkeys(known))[:_MOST_LANGUAGES] or DEFAULT_LANGUAGES


def _joined(group: GroupPattern) -> Iterator[GroupPattern]:
    """A group and the groups in it that bind what it binds, but not those of selects in it."""
    yield group
    for inside in group.groups:
        if inside.kind in ("plain", "optional", "union"):
            yield from _joined(inside)


def _wanted(name: str, visible: set[str]) -> Supply | None:
    match = _SUFFIX.fullmatch(name)
    if match is None or match[1] not in visible or name in visible:
        return None
    return Supply(f"?{match[1]}", _PREDICATES[match[2]], name)


def _in_language(variable: str, languages: tuple[str, ...]) -> str:
    tags = ", ".join(f'"{language}"' for language in languages)
    return f"LANG({variable}) " + (f"= {tags}" if len(languages) == 1 else f"IN ({tags})")
