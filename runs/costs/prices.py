"""What tokens cost: the built-in prices, and a user's over them."""

import importlib.resources
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from branchwise.agents.spec import ModelSpec, is_replay
from branchwise.base.errors import InputError
from branchwise.graphs.ledger import RoleUsage
from branchwise.runs.costs.price_table import Price, read_price_table

_DATED = re.compile(r"(?P<base>.+)-20\d\d-[01]\d-[0-3]\d")
_FREE = Price(input=0.0, output=0.0)
_OWN_HOST = "api.openai.com"


@dataclass(frozen=True)
class Prices:
    """USD per million tokens by model, named as `str(ModelSpec)`.

    `built_in` holds for OpenAI's own service and `offline` alone, as of the day `as_of`. `given`
    holds before it: `openai:NAME` there for any server, `openai:NAME@URL` for one. `source`: where
    the built-in prices are published; `path`: the user's file.
    """

    built_in: Mapping[str, Price]
    as_of: date | None
    source: str | None
    given: Mapping[str, Price]
    path: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable: the prices, and where they are from."""
        return {
            "built_in": {model: price.model_dump() for model, price in self.built_in.items()},
            "given": {model: price.model_dump() for model, price in self.given.items()},
            "as_of": str(self.as_of),
            "source": self.source,
            "path": str(self.path),
        }

    @classmethod
    def load(cls, path: Path | None = None) -> "Prices":
        """The built-in prices, those of a user's YAML file of the same form before them.

        Raises InputError, naming file and line, if the file is not such a table.
        """
        shipped = importlib.resources.files("branchwise.runs.costs").joinpath("prices.yaml")
        with importlib.resources.as_file(shipped) as file:
            table = read_price_table(file)
        given = read_price_table(path).models if path else {}
        return cls(table.models, table.as_of, table.source, given, path)

    def price(self, model_spec: str) -> Price | None:
        """The price of a model; None where it is unknown, or the text names no model.

        A model's full name goes before the name without its date, the user's prices before the
        built-in ones, one server's before any server's. A replay costs nothing: the run that
        it answers from was paid for.
        """
        if is_replay(model_spec):
            return _FREE
        for name, is_given in _keys(model_spec):
            if found := (self.given if is_given else self.built_in).get(name):
                return found
        return None

    def is_built_in(self, model_spec: str) -> bool:
        """Whether the price of a model is a published one: neither given, nor that of `offline`."""
        keys = _keys(model_spec)
        first = next((key for key in keys if key[0] in (self.built_in, self.given)[key[1]]), None)
        return first is not None and not first[1] and first[0] != "offline"

    def unused(self, model_specs: Iterable[str]) -> tuple[str, ...]:
        """Names in the user's file that none of these models goes by."""
        known = {name for spec in model_specs for name, is_given in _keys(spec) if is_given}
        return tuple(name for name in self.given if name not in known)

    def cost(self, model_spec: str, usage: RoleUsage) -> float | None:
        """USD of model calls; None where the price is unknown, never 0 for it.

        ((input - cached - written) * price of input + cached * price of cached input + written *
        price of input written to the cache + output * price of output) / 10^6: reasoning tokens are
        part of output. Where calls were made and no token was counted, the server does not say, and
        only a price of 0 makes a cost.
        """
        return cost_at(self.price(model_spec), usage)


def cost_at(price: Price | None, usage: RoleUsage) -> float | None:
    """`Prices.cost` at a price that was looked up before."""
    if price is None:
        return None
    if usage.calls and not usage.input + usage.output:
        return None if price.input or price.output else 0.0
    cached = min(usage.cached, usage.input)
    written = min(usage.written, usage.input - cached)
    per_cached = price.input if price.cached is None else price.cached
    per_written = price.input if price.written is None else price.written
    spent = (usage.input - cached - written) * price.input
    spent += cached * per_cached + written * per_written
    return (spent + usage.output * price.output) / 1e6


def _keys(model_spec: str) -> Iterator[tuple[str, bool]]:
    """Where to look a price up, best first: the name, and whether among the user's prices."""
    try:
        spec = ModelSpec.parse(model_spec)
    except InputError:
        return
    for name in _names(spec):
        if spec.base_url:
            yield f"{name}@{spec.base_url}", True
        yield name, True
        if _is_own(spec):
            yield name, False


def _names(spec: ModelSpec) -> Iterator[str]:
    """The model without its server; then without its date, too, where its name ends in one."""
    yield spec.model if spec.provider == "openai" else str(spec)
    if dated := _DATED.fullmatch(spec.name):
        yield f"{spec.provider}:{dated['base']}"


def _is_own(spec: ModelSpec) -> bool:
    """Whether it is OpenAI's own service that is asked, or none (`offline`)."""
    if spec.base_url is None:
        return True
    address = urlsplit(spec.base_url)
    return address.scheme == "https" and address.netloc.lower() == _OWN_HOST
