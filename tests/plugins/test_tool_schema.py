"""Signature and docstring become what the model sees; what cannot be told to it is refused."""

import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from branchwise import Corpus, Graph, RunContext, ToolError, tool
from branchwise.corpora.errors import InputError
from branchwise.tools.plugins.docstrings import read_docstring


def test_the_readmes_example_becomes_a_schema():
    @tool
    async def film_year(title: str) -> str:
        """Year a film was released. `title`: the film's title as Wikipedia writes it."""
        return title

    assert film_year.description == "Year a film was released."
    assert film_year.signature.schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {
                "type": "string",
                "description": "the film's title as Wikipedia writes it.",
            }
        },
        "required": ["title"],
    }


async def test_what_is_decorated_stays_what_it_was():
    async def plus(a: int, b: int = 2) -> int:
        """Adds."""
        return a + b

    declared = tool(plus)
    assert await declared(1) == 3
    assert await declared(1, b=5) == 6
    assert inspect.signature(declared) == inspect.signature(plus)
    assert (declared.__name__, declared.__doc__) == ("plus", "Adds.")
    assert declared.__module__ == __name__


@pytest.mark.parametrize(
    "doc",
    [
        "Finds a film.\n\n`title`: its title,\nas written. `year`: when.",
        "Finds a film. `title`: its title, as written.\n`year`: when.",
        "Finds a film.\n\n* `title`: its title, as written.\n* `year`: when.",
        "Finds a film.\n\nArgs:\n    title: its title,\n        as written.\n    year (int): when.",
        "Finds a film.\n\nArguments:\n  title (str): its title, as written.\n\n  year: when.",
        "Finds a film.\n\nParameters\n----------\ntitle : str\n    its title,\n"
        "    as written.\nyear\n    when.",
        "Finds a film.\n\n:param title: its title,\n    as written.\n:param int year: when.",
    ],
)
def test_parameters_are_described_in_any_of_the_common_styles(doc):
    found = read_docstring(doc, ["title", "year"])
    assert found.text == "Finds a film."
    assert found.parameters == {"title": "its title, as written.", "year": "when."}
    assert found.unknown == []


def test_what_is_no_parameter_stays_in_the_description():
    doc = "Finds `title`s: all.\n\n`other`: words.\n\nReturns:\n    A film."
    found = read_docstring(doc, ["title"])
    assert found.text == doc
    assert found.parameters == {}


def test_annotations_may_describe_and_bound():
    @tool
    def pick(
        kind: Literal["item", "property"],
        limit: Annotated[int, Field(ge=1, le=9, description="how many")] = 3,
        names: Annotated[list[str] | None, "which"] = None,
    ) -> str:
        """Picks. `limit`: not this."""
        return ""

    shown = pick.signature.schema["properties"]
    assert shown["kind"] == {"type": "string", "enum": ["item", "property"]}
    assert shown["limit"] == {
        "type": "integer", "minimum": 1, "maximum": 9, "default": 3, "description": "how many",
    }  # fmt: skip
    assert shown["names"]["description"] == "which"
    assert pick.signature.schema["required"] == ["kind"]


def test_parameters_may_have_any_name():
    @tool
    def odd(schema: str, json: int, _private: str, copy: bool, model_config: str = "m") -> str:
        """Odd."""
        return ""

    given = {"schema": "s", "json": 1, "_private": "p", "copy": True}
    assert list(odd.signature.schema["properties"]) == [*given, "model_config"]
    assert odd.signature.read(given) == {**given, "model_config": "m"}


def test_models_arrive_as_models():
    class Film(BaseModel):
        title: str
        year: int

    @tool
    def about(film: Film) -> str:
        """About."""
        return film.title

    (film,) = about.signature.read({"film": {"title": "Heat", "year": "1995"}}).values()
    assert film == Film(title="Heat", year=1995)


class Limits(BaseModel):
    """Settings of a tool."""

    limit: int = 3


def test_what_is_injected_is_hidden():
    @tool(settings=Limits)
    def uses(
        word: str, corpus: Corpus, graph: Graph | None, run: RunContext, limits: Limits
    ) -> str:
        """Uses."""
        return ""

    assert list(uses.signature.schema["properties"]) == ["word"]
    assert uses.injected == {
        "corpus": ("corpus", False),
        "graph": ("graph", True),
        "run": ("run", False),
        "limits": ("settings", False),
    }


def no_docstring(x: int) -> str:
    return ""


def only_parameters(x: int) -> str:
    """`x`: words."""
    return ""


def unannotated(x) -> str:
    """Words."""
    return ""


def many(*x: int) -> str:
    """Words."""
    return ""


def named(**x: int) -> str:
    """Words."""
    return ""


def positional(x: int, /) -> str:
    """Words."""
    return ""


def no_json(x: Callable[[], int]) -> str:
    """Words."""
    return ""


def odd_class(x: inspect.Signature) -> str:
    """Words."""
    return ""


def odd_default(x: Any = math) -> str:
    """Words."""
    return ""


def stray(x: int) -> str:
    """Words.

    Args:
        y: no such.
    """
    return ""


def not_there(x: "NoSuchName") -> str:  # noqa: F821
    """Words."""
    return ""


def yields(x: int):
    """Words."""
    yield ""


async def yields_later(x: int):
    """Words."""
    yield ""


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (yields, "yields is a generator"),
        (yields_later, "yields_later is a generator"),
        (no_docstring, "no_docstring has no docstring"),
        (only_parameters, "describes only parameters"),
        (unannotated, "the parameter 'x' of unannotated has no annotation"),
        (many, "the parameter 'x' of many takes any number of arguments"),
        (named, "the parameter 'x' of named takes any number of arguments"),
        (positional, "the parameter 'x' of positional cannot be given by name"),
        (no_json, "cannot be described to a model"),
        (odd_class, "has a type that JSON does not have"),
        (odd_default, "cannot be described to a model"),
        (stray, "describes 'y', which is not a parameter"),
        (not_there, "an annotation of not_there cannot be read: NameError: name 'NoSuchName'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_its_place(function, what):
    with pytest.raises(InputError) as refused:
        tool(function)
    said = str(refused.value)
    assert what in said
    assert said.startswith(f"{__file__}:{function.__code__.co_firstlineno}: ")
    assert "\n" not in said
    assert refused.value.remedy


def test_defaults_are_given_too_so_that_each_call_has_its_own():
    def collects(x: int, seen: list[int] = []) -> str:  # noqa: B006 - what users write
        """Words."""
        seen.append(x)
        return str(seen)

    signature = tool(collects).signature
    first, second = signature.read({"x": 1}), signature.read({"x": 2})
    assert collects(**first) == "[1]"
    assert collects(**second) == "[2]"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"name": "two words"}, "cannot be the name"),
        ({"name": "x" * 65}, "cannot be the name"),
        ({"seconds": 0}, "not a positive number"),
        ({"seconds": math.nan}, "not a positive number"),
        ({"seconds": "3"}, "not a positive number"),
        ({"section": 3}, "section is not a text"),
        ({"settings": dict}, "settings is not a pydantic model"),
        ({"render": "words"}, "render is not a function"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, what):
    def fits(x: int) -> str:
        """Words."""
        return ""

    with pytest.raises(InputError, match=what):
        tool(**options)(fits)


@pytest.mark.parametrize("thing", [3, int, "words", None.__class__])
def test_only_functions_are_declared(thing):
    with pytest.raises(InputError, match="declares a function"):
        tool(thing)


def test_a_tools_own_error_can_be_imported_from_the_front_door():
    assert issubclass(ToolError, Exception)
