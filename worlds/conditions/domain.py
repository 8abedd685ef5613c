"""What documents of a domain may ask for, as `domains/*.yaml` declare it.

A file has the domain's plural noun, names and patterns of `titles`, what a page says `before` and
`after` its conditions, `headings` above these, `scenarios` (with which people begin), and `facets`:
what can be asked about a person. A page takes some of each section's `lines`, which have
[alternatives|...] and {slots}, of which a page has one value each; {title} is its own. Lines tell
different things, and nothing of what facets ask, so that no two of them can contradict each other.

A claim is a set of a facet's values, of which a person has one, so how two claims are related
follows from their sets. Every page asks for some of the `core` facets, whose claims mostly exclude
each other. Facets are declared in three ways:

* `scale`: thresholds in their order; claims are what is `at_least` one of them or `below` it;
* `choices`: claims are `claims` ({of: choices, said: phrases}), or, where the facet itself is
  `said` with {}, each choice and each of its `groups`. A person may have none of the choices;
* `said` alone: something that a person is or is not.

A phrase is what a person does, beginning with the bare verb: "live in {}", "be ...", "have ...";
`have~` marks the perfect ("have~ won"), and {your} is the person's. It reads as English after
"Applicants", "You must" and "I do not": nothing in the singular after "be" ("be a student"),
nothing denied, and nobody whom somebody has "as {your} ...". `keep`: beginnings of words of which a
sentence that tells a claim of the facet has one at least.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict

from branchwise.corpora.conditions.documents import RelationKind

DOMAINS = ("scholarships", "internships")
_FOLDER = Path(__file__).parent / "domains"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Direction = Literal["at_least", "below"]
YOUR = "{your}"


@dataclass(frozen=True)
class Claim:
    """One thing that can be true of a person: their value is one that it `means`, of all that
    people can have ("": none). `names` (also numbers, kinds of things) stand in each phrase."""

    facet: str
    means: frozenset[str]
    values: frozenset[str]
    phrases: tuple[str, ...]
    keep: tuple[str, ...]
    names: tuple[str, ...] = ()
    direction: Direction | None = None


@dataclass(frozen=True)
class Facet:
    """What can be asked about a person, in one respect."""

    name: str
    claims: tuple[Claim, ...]
    is_core: bool


class _Declared(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _ClaimDeclared(_Declared):
    of: tuple[str, ...]
    said: tuple[str, ...]


class _FacetDeclared(_Declared):
    keep: tuple[str, ...]
    core: bool = False
    said: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = {}
    claims: Mapping[str, _ClaimDeclared] = {}
    scale: tuple[str, ...] = ()
    at_least: tuple[str, ...] = ()
    below: tuple[str, ...] = ()


class DomainSection(_Declared):
    """`take`: the least and the greatest number of its lines that a page has."""

    headings: tuple[str, ...]
    element: Literal["p", "li"] = "p"
    take: tuple[int, int]
    lines: tuple[str, ...]


class DomainTexts(_Declared):
    """One file, without its facets."""

    plural: str
    titles: tuple[str, ...]
    names: Annotated[tuple[str, ...], BeforeValidator(lambda words: tuple(words.split()))]
    headings: tuple[str, ...]
    slots: Mapping[str, tuple[str, ...]]
    before: tuple[DomainSection, ...]
    after: tuple[DomainSection, ...]
    scenarios: tuple[str, ...]


class _DomainDeclared(DomainTexts):
    facets: Mapping[str, _FacetDeclared]


@dataclass(frozen=True)
class DocumentDomain:
    texts: DomainTexts
    facets: tuple[Facet, ...]


@cache
def document_domain(name: str) -> DocumentDomain:
    fields = yaml.load((_FOLDER / f"{name}.yaml").read_bytes(), _LOADER)  # noqa: S506
    declared = _DomainDeclared.model_validate(fields)
    facets = (
        Facet(f"{name}/{facet}", tuple(_claims(f"{name}/{facet}", fields)), fields.core)
        for facet, fields in declared.facets.items()
    )
    return DocumentDomain(declared, tuple(facets))


def related(first: Claim, second: Claim) -> tuple[RelationKind, bool] | None:
    """How two claims are related, and whether the first is the narrower first."""
    if first.facet != second.facet:
        return None
    if first.means == second.means:
        return "equivalent", False
    if first.means.isdisjoint(second.means):
        return "conflicting", False
    if first.means < second.means or first.means > second.means:
        return "inclusive", first.means < second.means
    return None


def can_hold(values: Sequence[tuple[Claim, bool]]) -> bool:
    """Whether someone can be so: in each respect there is a value that fits."""
    possible: dict[str, frozenset[str]] = {}
    for claim, value in values:
        left = possible.get(claim.facet, claim.values)
        possible[claim.facet] = left & claim.means if value else left - claim.means
    return all(possible.values())


def _claims(facet: str, declared: _FacetDeclared) -> Iterator[Claim]:
    keep = declared.keep
    if declared.scale:
        # The values of a scale are the numbers of thresholds that are reached.
        reached = [str(number) for number in range(len(declared.scale) + 1)]
        values = frozenset(reached)
        for place, threshold in enumerate(declared.scale, start=1):
            sides: tuple[tuple[Direction, tuple[str, ...], Sequence[str]], ...] = (
                ("at_least", declared.at_least, reached[place:]),
                ("below", declared.below, reached[:place]),
            )
            for direction, patterns, means in sides:
                if patterns:
                    phrases = tuple(phrase.replace("{}", threshold) for phrase in patterns)
                    names = (threshold,)
                    yield Claim(facet, frozenset(means), values, phrases, keep, names, direction)
    elif declared.choices:
        values = frozenset({"", *declared.choices})
        for claim in declared.claims.values():
            yield Claim(facet, frozenset(claim.of), values, claim.said, keep)
        alone = {choice: (choice,) for choice in declared.choices}
        for name, choices in (alone | dict(declared.groups)).items() if declared.said else ():
            phrases = tuple(phrase.replace("{}", name) for phrase in declared.said)
            yield Claim(facet, frozenset(choices), values, phrases, keep, (name,))
    else:
        yield Claim(facet, frozenset({"yes"}), frozenset({"", "yes"}), declared.said, keep)
