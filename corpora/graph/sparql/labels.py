"""Labels that a query uses and leaves to Wikidata's label service, in plain SPARQL 1.1.

On Wikidata, `SERVICE wikibase:label` binds `?xLabel`, `?xDescription` and `?xAltLabel` for each
`?x`, once everything else is bound. Here the look-ups are written out at the end of the group:

* `?xLabel`: the label in the first of the languages that has one, else in "mul" or none, else the
  last part of the IRI, or the literal itself;
* `?xDescription`: the description, or nothing;
* `?xAltLabel`: the aliases. Wikidata joins them with commas; here each makes a row.

What a query binds itself, under whatever name, is left alone.
"""

import re
from typing import NamedTuple

from branchwise.corpora.graph.sparql.edits import Edits
from branchwise.corpora.graph.sparql.prefixes import KNOWN
from branchwise.corpora.graph.sparql.structure import Group, Select

DEFAULT_LANGUAGES = ("en",)
_ANY = ("mul", "")
_PREDICATES = {
    "Label": KNOWN["rdfs"] + "label",
    "Description": KNOWN["schema"] + "description",
    "AltLabel": KNOWN["skos"] + "altLabel",
}
_SUFFIX = re.compile(r"(.+?)(AltLabel|Label|Description)")
_PARAMETER = f"<{KNOWN['bd']}serviceParam>"
_LANGUAGE = f"<{KNOWN['wikibase']}language>"


class Supply(NamedTuple):
    """A label to look up: of the term `subject`, into the variable `name`."""

    subject: str
    predicate: str
    name: str


class Labels:
    """Writes the look-ups for all selects of a query into `edits`.

    `taken`: names of variables that are in use.
    """

    def __init__(self, edits: Edits, taken: set[str]) -> None:
        self.edits = edits
        self.taken = taken

    def supply(self, selects: list[Select]) -> None:
        """Look up what the label services and the label variables of these selects ask for."""
        services = [group for select in selects for group in _services(select.where)]
        languages = _languages(services)
        given: set[str] = set()
        for service in services:
            self.edits.replace(service.head, service.end)
        for select in reversed(selects):
            given |= self._in_select(select, languages)

    def _in_select(self, select: Select, languages: tuple[str, ...]) -> set[str]:
        where = select.where
        columns = where.visible() if select.star else ()
        before = len(self.taken)
        supplied: list[str] = []
        for group in _services(where):
            supplied += self._manual(group, languages)
        outer = {t.text[1:] for t in (*select.plain, *select.reads, *select.ordered)}
        outer |= {t.text[1:] for t in where.reads}
        for group in where.nested():
            if group is not where:
                self._in_group(group, languages)
        visible = set(where.visible()) | set(supplied)
        for name in sorted(outer - visible):
            supply = _wanted(name, visible)
            if supply is not None:
                self._write(where, supply, languages)
                supplied.append(name)
        if select.star and len(self.taken) > before:
            star = " ".join(f"?{name}" for name in dict.fromkeys((*columns, *supplied)))
            self.edits.replace(select.star.start, select.star.end, star or "*")
        self._extend_keys(select, supplied)
        return set(supplied)

    def _manual(self, service: Group, languages: tuple[str, ...]) -> list[str]:
        names = []
        for triple in service.triples:
            if triple.subject == _PARAMETER or not triple.object.startswith("?"):
                continue
            name, subject = triple.object[1:], triple.subject
            group = service.parent
            while group is not None and group.kind != "where":
                if subject[1:] in group.visible():
                    break
                group = group.parent
            if group is not None and name not in group.visible():
                supply = Supply(subject, triple.predicate.strip("<>"), name)
                self._write(group, supply, languages)
                names.append(name)
        return names

    def _in_group(self, group: Group, languages: tuple[str, ...]) -> None:
        """Labels that only FILTERs and BINDs of this inner group read, under names of its own."""
        visible = group.visible()
        for name in sorted({t.text[1:] for t in group.reads} - set(visible)):
            supply = _wanted(name, set(visible))
            if supply is None:
                continue
            own = self._fresh(name)
            self._write(group, supply._replace(name=own), languages, group.before.get(name))
            for token in group.reads:
                if token.text[1:] == name:
                    self.edits.replace(token.start, token.end, f"?{own}")

    def _write(
        self,
        group: Group,
        supply: Supply,
        languages: tuple[str, ...],
        before: int | None = None,
    ) -> None:
        at = group.before.get(supply.name, group.end - 1) if before is None else before
        self.edits.insert(at, f" {self._lookup(supply, languages)} ")

    def _lookup(self, supply: Supply, languages: tuple[str, ...]) -> str:
        subject, predicate, name = supply
        if predicate == _PREDICATES["AltLabel"]:
            return _optional(subject, predicate, name, languages[:1])
        sources = [self._fresh(name) for _ in (*languages, _ANY)]
        lookups = [
            _optional(subject, predicate, source, wanted)
            for source, wanted in zip(sources, (*((x,) for x in languages), _ANY), strict=True)
        ]
        choices = [f"?{source}" for source in sources]
        if predicate == _PREDICATES["Label"]:
            choices.append(
                f"IF(isIRI({subject}), "
                f'REPLACE(STR({subject}), "^.*[/#]([^/#]+)$", "$1"), STR({subject}))'
            )
        return f"{' '.join(lookups)} BIND(COALESCE({', '.join(choices)}) AS ?{name})"

    def _fresh(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"

    def _extend_keys(self, select: Select, supplied: list[str]) -> None:
        """Group by `?xLabel`, too, where it is a column beside the key `?x`."""
        if not select.keys:
            return
        columns = {t.text[1:] for t in (*select.plain, *select.ordered)}
        for name in supplied:
            match = _SUFFIX.fullmatch(name)
            if name in columns and name not in select.keys and match and match[1] in select.keys:
                self.edits.insert(select.keys_end, f" ?{name}")


def _services(where: Group) -> list[Group]:
    return [group for group in where.nested() if group.kind == "service"]


def _wanted(name: str, visible: set[str]) -> Supply | None:
    match = _SUFFIX.fullmatch(name)
    if match is None or match[1] not in visible or name in visible:
        return None
    return Supply(f"?{match[1]}", _PREDICATES[match[2]], name)


def _languages(services: list[Group]) -> tuple[str, ...]:
    """The languages that the label services name, in order, without "[AUTO_LANGUAGE]"."""
    named = [
        language.strip().lower()
        for service in services
        for triple in service.triples
        if triple.predicate == _LANGUAGE
        for language in triple.object.strip("\"'").split(",")
    ]
    known = [tag for tag in named if re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", tag) and tag not in _ANY]
    return tuple(dict.fromkeys(known))[:5] or DEFAULT_LANGUAGES


def _optional(subject: str, predicate: str, name: str, languages: tuple[str, ...]) -> str:
    tags = ", ".join(f'"{language}"' for language in languages)
    test = f"= {tags}" if len(languages) == 1 else f"IN ({tags})"
    return f"OPTIONAL {{ {subject} <{predicate}> ?{name} . FILTER(LANG(?{name}) {test}) }}"
