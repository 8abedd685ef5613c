"""A table of prices as a YAML file: read with care, every complaint with its line."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError, did_you_mean, nearest
from branchwise.base.yaml_lines import KeyPath, line_of, read_document, shown

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
    """The table in a YAML file, models named as `str(ModelSpec)`.

    Raises InputError, naming file and line: no YAML, an unknown or a repeated key, a model that is
    no `openai:NAME`, `openai:NAME@URL` or `offline`, a price that is not a number from 0 up.
    """
    document = read_document(path, wanted="a table of prices", remedy=f"write {_FORM}")
    try:
        table = PriceTable.model_validate(document.value)
    except ValidationError as error:
        raise _complaint(error, document.lines, path) from None
    return table.model_copy(update={"models": dict(_named(table.models, document.lines, path))})


def _complaint(error: ValidationError, lines: Mapping[KeyPath, int], path: Path) -> InputError:
    # A misspelt key is one that is unknown and one that is missing: the first says more.
    problems = error.errors(include_url=False, include_context=False)
    problem = min(problems, key=lambda found: found["type"] != "extra_forbidden")
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
        what = f"{model or name or 'the file'}".removesuffix(": ")
        return InputError(f"{what} {_wanted(name, model)}", where=where, remedy=f"write {_FORM}")
    value = shown(problem["input"])
    return InputError(
        f"{model}{name} is {value}",
        where=where,
        remedy=f"write a number of USD per million tokens, from 0 to {MAX_USD:,.0f}",
    )


def _wanted(name: str, model: str) -> str:
    if name == "as_of":
        return "is not a date such as 2026-11-21, without quotes"
    if name == "source":
        return "is not a text of at most 1000 characters"
    return "has no prices" if model else "has no table of prices by model"


def _named(
    models: Mapping[str, Price], lines: Mapping[KeyPath, int], path: Path
) -> Iterator[tuple[str, Price]]:
    """The prices by the models' canonical names, each once."""
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
