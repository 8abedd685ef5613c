"""What tokens cost: the built-in prices, a user's over them, and those kept with a run or study."""

import importlib.resources
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.agents.spec import ModelSpec, is_replay
from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError, did_you_mean, nearest
from branchwise.base.keys import Origin
from branchwise.base.yaml_lines import KeyPath, line_of, read_document, shown
from branchwise.graphs.ledger import RoleUsage

MAX_USD = 1_000_000.0
_Usd = Annotated[float, Field(strict=True, ge=0, le=MAX_USD, allow_inf_nan=False)]
_FORM = "openai:NAME: {input: 0.25, cached: 0.025, output: 2}"


class Price(BaseModel):
    """USD per million tokens. `cached`, `written`: of input tokens read from the prompt cache, and
    written to it (None: the same as other input). Reasoning tokens are output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: _Usd
    output: _Usd
    cached: _Usd | None = None
    written: _Usd | None = None

    @property
    def dearest_input(self) -> float:
        """What an input token costs at most, per million."""
        return max(self.input, self.cached or 0.0, self.written or 0.0)


class PriceTable(BaseModel):
    """Prices by model, named as after `--model`, the day they held and where they stand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: Annotated[date | None, Field(strict=True)] = None
    source: Annotated[str, Field(max_length=1000)] | None = None
    models: Mapping[str, Price]


def read_price_table(path: Path) -> PriceTable:
    """The table in a YAML file by `str(ModelSpec)`. Raises InputError with file and line."""
    document = read_document(path, wanted="a table of prices", remedy=f"write {_FORM}")
    try:
        table = PriceTable.model_validate(document.value)
    except ValidationError as error:
        raise _complaint(error, document.lines, path) from None
    return table.model_copy(update={"models": dict(_named(table.models, document.lines, path))})


def _complaint(error: ValidationError, lines: Mapping[KeyPath, int], path: Path) -> InputError:
    # A misspelt key is one that is unknown and one that is missing: the first says more.
    problems = error.errors(include_url=False, include_context=False)
    problem = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    place, kind = problem["loc"], problem["type"]
    where = f"{path}:{line_of(lines, place)}"
    name = str(place[-1]) if place else ""
    model = f"{shown(place[1])}: " if len(place) > 1 else ""
    if kind == "extra_forbidden":
        known = Price.model_fields if model else PriceTable.model_fields
        remedy = did_you_mean(name, known, else_=f"known keys: {', '.join(known)}")
        return InputError(f"{model}unknown key {shown(name)}", where=where, remedy=remedy)
    if kind == "missing":
        return InputError(f"{model}{name} is missing", where=where, remedy=f"write {_FORM}")
    if len(place) < 2 or name not in Price.model_fields:
        part = f"{model or name or 'the file'}".removesuffix(": ")
        lack = "has no prices" if model else "has no table of prices by model"
        wrong = f"{part} {_WANTED.get(name, lack)}"
        return InputError(wrong, where=where, remedy=f"write {_FORM}")
    remedy = f"write a number of USD per million tokens, from 0 to {MAX_USD:,.0f}"
    return InputError(f"{model}{name} is {shown(problem['input'])}", where=where, remedy=remedy)


_WANTED = {
    "as_of": "is not a date such as 2026-11-21, without quotes",
    "source": "is not a text of at most 1000 characters",
}


def _named(
    models: Mapping[str, Price], lines: Mapping[KeyPath, int], path: Path
) -> Iterator[tuple[str, Price]]:
    seen: dict[str, str] = {}
    for name, price in models.items():
        where = f"{path}:{line_of(lines, ('models', name))}"
        try:
            spec = str(ModelSpec.parse(name))
        except InputError as error:
            near = nearest(name, ("offline", f"openai:{name}"), cutoff=0.5)
            remedy = f"did you mean {shown(near[0])}?" if near else error.remedy
            raise InputError(error.what, where=where, remedy=remedy) from None
        if spec in seen:
            raise InputError(f"{shown(name)} and {shown(seen[spec])} are one", where=where)
        seen[spec] = name
        yield spec, price


_DATED = re.compile(r"(?P<base>.+)-20\d\d(?P<dash>-?)[01]\d(?P=dash)[0-3]\d")
_FREE = Price(input=0.0, output=0.0)


@dataclass(frozen=True)
class Prices:
    """USD per million tokens by model, named as `str(ModelSpec)`.

    `built_in` holds for providers' own services and `offline` alone, as of the day `as_of`. `given`
    holds before it: `openai:NAME` there for any server, `openai:NAME@URL` for one. `source`: where
    the built-in prices are published; `path`: the user's file.
    """

    built_in: Mapping[str, Price]
    as_of: date | None
    source: str | None
    given: Mapping[str, Price]
    path: Path | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "built_in": {model: price.model_dump() for model, price in self.built_in.items()},
            "given": {model: price.model_dump() for model, price in self.given.items()},
            "as_of": str(self.as_of),
            "source": self.source,
            "path": str(self.path),
        }

    @classmethod
    def load(cls, path: Path | None = None) -> "Prices":
        """The built-in prices, those of a user's YAML file before them. Raises InputError."""
        shipped = importlib.resources.files("branchwise.runs.costs").joinpath("prices.yaml")
        with importlib.resources.as_file(shipped) as file:
            table = read_price_table(file)
        given = read_price_table(path).models if path else {}
        return cls(table.models, table.as_of, table.source, given, path)

    def price(self, model_spec: str) -> Price | None:
        """The price of a model, None if unknown: its full name goes before the one without its
        date, the user's prices before the built-in ones, a server's before any server's. A replay
        costs nothing."""
        if is_replay(model_spec):
            return _FREE
        for name, is_given in _keys(model_spec):
            if price := (self.given if is_given else self.built_in).get(name):
                return price
        return None

    def is_built_in(self, model_spec: str) -> bool:
        """Whether the price of a model is a published one: neither given, nor that of `offline`."""
        keys = _keys(model_spec)
        first = next((key for key in keys if key[0] in (self.built_in, self.given)[key[1]]), None)
        return first is not None and not first[1] and first[0] != "offline"

    def unused(self, model_specs: Iterable[str]) -> tuple[str, ...]:
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
    # The model without its server; then without its date, too, where its name ends in one.
    names = [spec.model if spec.service else str(spec)]
    if dated := _DATED.fullmatch(spec.name):
        names.append(f"{spec.provider}:{dated['base']}")
    for name in names:
        if spec.base_url:
            yield f"{name}@{spec.base_url}", True
        yield name, True
        if spec.base_url is None or (
            spec.service and Origin.of(spec.base_url) == Origin.of(spec.service.url)
        ):
            yield name, False


PRICES, LIMIT = "prices.yaml", "max-cost"
_RUNS, _STUDY = "runs", "study.json"


def keep_prices(folder: Path, path: Path | None) -> None:
    """Keep a file of prices in the folder; None: what is kept there stays."""
    kept = folder / PRICES
    if path is not None and path.resolve() != kept.resolve():
        with _saving("the prices", kept):
            write_bytes(kept, path.read_bytes())


def keep_limit(run: Path, most: float | None) -> None:
    """Keep what a run may cost, in USD; None: what is kept there stays."""
    if most is not None:
        with _saving("the limit of cost", run / LIMIT):
            write_bytes(run / LIMIT, f"{most!r}\n".encode())


@contextmanager
def _saving(contents: str, file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"cannot save {contents} ({error.strerror or error})"
        raise InputError(problem, where=str(file)) from None


def limit_of(run: Path | None, given: float | None = None) -> float | None:
    """What a run may cost, in USD: the limit `given`, else the one kept with it; None: no limit."""
    if run is None or given is not None:
        return given
    kept = run / LIMIT
    try:
        most = float(kept.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        most = -1.0
    if not isfinite(most) or most < 0:
        remedy = "give the limit again with --max-cost, or remove the file"
        raise InputError("is not an amount in USD", where=str(kept), remedy=remedy)
    return most


def kept_prices(folder: Path) -> Path | None:
    """The file of prices of a run, or of the study that it belongs to; None: there is none."""
    runs, places = folder.resolve().parent, [folder]
    if runs.name == _RUNS and (runs.parent / _STUDY).is_file():
        places.append(runs.parent)
    return next((place / PRICES for place in places if (place / PRICES).is_file()), None)


def prices_of(folder: Path) -> Prices:
    """What models cost in a run: by its kept prices, else by the built-in ones."""
    return Prices.load(kept_prices(folder))
