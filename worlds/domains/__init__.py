"""The domains that worlds are made of: one YAML file each, and what is read from them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from branchwise.base.errors import InputError
from branchwise.kg.schema import Domain, Schema, check_schema, load_domain, merge

COMMON = "common"
DOMAINS = ("movie", "music", "book", "sports", "business", "science")
_FOLDER = Path(__file__).parent


def world_schema(domains: Sequence[str] = DOMAINS) -> Schema:
    """The schema of a world with these domains. Raises InputError for an unknown one."""
    for domain in domains:
        if domain not in DOMAINS:
            remedy = f"choose among {', '.join(DOMAINS)}"
            raise InputError(f"there is no domain {domain!r}", remedy=remedy)
    _check_all()
    return _merged(tuple(name for name in DOMAINS if name in domains))


@cache
def _merged(domains: tuple[str, ...]) -> Schema:
    return merge({name: _domain(name) for name in (COMMON, *domains)})


@cache
def _domain(name: str) -> Domain:
    return load_domain(_FOLDER / f"{name}.yaml")


@cache
def _check_all() -> None:
    # A name that one of them lacks may be meant; a name that none declares is a typo.
    everything = {name: _domain(name) for name in (COMMON, *DOMAINS)}
    check_schema(merge(everything, keep=True))
