"""A table of prices as a YAML file: read with care, every complaint with its line."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from branchwise.agents.spec import ModelSpec
from branchwise.corpora.errors import InputError
from branchwise.corpora.files import open_data

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 2**20
MAX_USD = 1_000_000.0
_Usd = Annotated[float, Field(strict=True, ge=0, le=MAX_USD, allow_inf_nan=False)]
_FORM = "openai:NAME: {input: 0.25, cached: 0.025, output: 2}"


class Price(BaseModel):
    """USD per million tokens. `cached`: of input tokens read from the prompt cache (None: the
    same as other input). Reasoning tokens are output."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: _Usd
    output: _Usd
    cached: _Usd | None = None


class PriceTable(BaseModel):
    """Prices by model, named as after `--model`, the day they held and where they stand."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: Annotated[date | None, Field(strict=True)] = None
    source: Annotated[str, Field(max_length=1000)] | None = None
    models: Mapping[str, Price]


def read_price_table(path: Path) -> PriceTable:
    """The table in a YAML file, models named as `str(ModelSpec)`.

    Raises InputError, naming file and line: no YAML, an unknown or a repeated key, a model that is
    no `openai:NAME`, `openai:NAME@URL` or `offline`, a price that is no number from 0 up.
    """
    import yaml

    text = _text(path)
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        fields = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError(f"is not YAML ({problem})", where=where) from None
    except (RecursionError, ValueError) as error:
        # ValueError: a date such as 2026-13-45, or a whole number of thousands of digits.
        raise InputError(f"is not YAML ({_short(error)})", where=str(path)) from None
    _check_once(root, path)
    try:
        table = PriceTable.model_validate(fields)
    except ValidationError as error:
        raise _complaint(error, root, path) from None
    return table.model_copy(update={"models": dict(_named(table.models, root, path))})


def _text(path: Path) -> str:
    with open_data(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError("is larger than 1 MiB", where=str(path), remedy="name a table of prices")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text", where=str(path)) from None


def _short(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


def _check_once(root: "yaml.Node | None", path: Path) -> None:
    """YAML itself takes the last of two equal keys: the first price would be lost unseen."""
    for keys in _mappings(root):
        seen: set[str] = set()
        for key in keys:
            if key.value in seen:
                raise InputError(
                    f"{_shown(key.value)} stands here a second time",
                    where=f"{path}:{key.start_mark.line + 1}",
                    remedy="keep one of them",
                )
            seen.add(key.value)


def _mappings(root: "yaml.Node | None") -> "Iterator[list[yaml.ScalarNode]]":
    """The plain keys of each mapping that a table has: its own, the models', each price's."""
    import yaml

    level = [root]
    for _ in range(3):
        mappings = [node for node in level if isinstance(node, yaml.MappingNode)]
        for node in mappings:
            yield [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        level = [value for node in mappings for _, value in node.value]


def _line(root: "yaml.Node | None", place: Sequence[object]) -> int:
    """The line, from 1, of the deepest of these keys that is there."""
    import yaml

    line = 1
    for part in place:
        if not isinstance(root, yaml.MappingNode):
            break
        found = [(k, v) for k, v in root.value if getattr(k, "value", None) == str(part)]
        if not found:
            break
        line, root = found[0][0].start_mark.line + 1, found[0][1]
    return line


def _complaint(error: ValidationError, root: "yaml.Node | None", path: Path) -> InputError:
    # A misspelt key is one that is unknown and one that is missing: the first says more.
    problems = error.errors(include_url=False, include_context=False)
    problem = min(problems, key=lambda found: found["type"] != "extra_forbidden")
    place, kind = problem["loc"], problem["type"]
    where = f"{path}:{_line(root, place)}"
    name = str(place[-1]) if place else ""
    model = f"{_shown(place[1])}: " if len(place) > 1 else ""
    if kind == "extra_forbidden":
        known = Price.model_fields if model else PriceTable.model_fields
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(known)}"
        return InputError(f"{model}unknown key {_shown(name)}", where=where, remedy=remedy)
    if kind == "missing":
        return InputError(f"{model}{name} is missing", where=where, remedy=f"write {_FORM}")
    if len(place) < 2 or name not in Price.model_fields:
        what = f"{model or name or 'the file'}".removesuffix(": ")
        return InputError(f"{what} {_wanted(name, model)}", where=where, remedy=f"write {_FORM}")
    value = _shown(problem["input"])
    return InputError(
        f"{model}{name} is {value}",
        where=where,
        remedy=f"write a number of USD per million tokens, from 0 to {MAX_USD:,.0f}",
    )


def _wanted(name: str, model: str) -> str:
    if name == "[key]":
        return "is no model's name"
    if name == "as_of":
        return "is no date such as 2026-11-21, without quotes"
    if name == "source":
        return "is no text of at most 1000 characters"
    return "has no prices" if model else "holds no table of prices by model"


def _named(
    models: Mapping[str, Price], root: "yaml.Node | None", path: Path
) -> Iterator[tuple[str, Price]]:
    """The prices by the models' canonical names, each once."""
    seen: dict[str, str] = {}
    for name, price in models.items():
        where = f"{path}:{_line(root, ('models', name))}"
        try:
            spec = str(ModelSpec.parse(name))
        except InputError as error:
            near = get_close_matches(name, ("offline", f"openai:{name}"), 1, 0.5)
            remedy = f"did you mean {_shown(near[0])}?" if near else error.remedy
            raise InputError(error.what, where=where, remedy=remedy) from None
        if spec in seen:
            raise InputError(f"{_shown(name)} and {_shown(seen[spec])} are one", where=where)
        seen[spec] = name
        yield spec, price


def _shown(value: object) -> str:
    """A key or value for a message: short, quoted where it is text."""
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # a whole number of more digits than Python prints
        text = "a very long number"
    return text if len(text) <= 80 else f"{text[:79]}…"
