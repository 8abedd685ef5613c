"""From a function's signature and docstring to what the model sees, and back to arguments."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from branchwise.corpora.errors import InputError
from branchwise.tools.plugins.docstrings import read_docstring
from branchwise.tools.plugins.injection import Injected, injected_as, is_optional


@dataclass(frozen=True)
class Signature:
    """What a function takes.

    `arguments`: a pydantic model whose fields have the parameters' names as aliases. `schema`: its
    JSON schema, as the model sees it. `injected`: parameters that the harness fills, with what,
    and whether it may be missing.
    """

    description: str
    arguments: type[BaseModel]
    schema: Mapping[str, Any]
    injected: Mapping[str, tuple[Injected, bool]]

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The function's keyword arguments, with its defaults. Raises pydantic's ValidationError.

        Defaults are given, too, so that they can be copied: one that a call changes (`[]`) would
        reach the calls of other items.
        """
        checked = self.arguments.model_validate(dict(arguments))
        return {
            str(info.alias): getattr(checked, field)
            for field, info in self.arguments.model_fields.items()
        }


def read_signature(
    function: Callable[..., Any], settings: type[BaseModel] | None = None
) -> Signature:
    """The signature of a plug-in's function.

    Raises InputError for a missing docstring, a parameter without annotation, one that a call by
    keywords cannot fill, and one of a type that JSON does not have.
    """
    where = place_of(function)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InputError(
            f"{_name(function)} is a generator: a call would run none of it",
            where=where,
            remedy="return the whole result; do not yield",
        )
    if not (function.__doc__ or "").strip():
        raise InputError(
            f"{_name(function)} has no docstring",
            where=where,
            remedy="say in one what it does: the model reads it",
        )
    parameters = _parameters(function, where)
    shown = {n: p for n, p in parameters.items() if not injected_as(p.annotation, settings)}
    described = read_docstring(function.__doc__ or "", shown)
    if stray := [name for name in described.unknown if name not in parameters]:
        raise InputError(
            f"the docstring of {_name(function)} describes {stray[0]!r}, which is no parameter",
            where=where,
            remedy=f"its parameters are {', '.join(shown) or 'none'}",
        )
    if not described.text:
        raise InputError(
            f"the docstring of {_name(function)} describes only parameters",
            where=where,
            remedy="say first what it does: the model reads it",
        )
    model = _model(_name(function), shown, described.parameters, where)
    injected = {
        name: (kind, is_optional(parameter.annotation))
        for name, parameter in parameters.items()
        if (kind := injected_as(parameter.annotation, settings))
    }
    return Signature(described.text, model, _schema(model, shown, where), injected)


def place_of(function: Callable[..., Any]) -> str:
    """`file:line` of a function, for messages."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return getattr(function, "__module__", None) or type(function).__name__
    return f"{code.co_filename}:{code.co_firstlineno}"


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _parameters(function: Callable[..., Any], where: str) -> dict[str, inspect.Parameter]:
    """The parameters with their annotations resolved."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - annotations are evaluated: anything may happen
        raise InputError(
            f"an annotation of {_name(function)} cannot be read: {error}",
            where=where,
            remedy="annotate with names that the file imports or defines above",
        ) from None
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise _refused(function, name, "takes any number of arguments", where)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise _refused(function, name, "cannot be given by name", where)
        if name not in hints:
            raise InputError(
                f"the parameter {name!r} of {_name(function)} has no annotation",
                where=where,
                remedy=f"write its type, such as `{name}: str`",
            )
        found[name] = parameter.replace(annotation=hints[name])
    return found


def _refused(function: Callable[..., Any], name: str, why: str, where: str) -> InputError:
    return InputError(
        f"the parameter {name!r} of {_name(function)} {why}, so a model cannot call it",
        where=where,
        remedy="give it named parameters only",
    )


def _model(
    name: str, shown: Mapping[str, inspect.Parameter], words: Mapping[str, str], where: str
) -> type[BaseModel]:
    """Fields are numbered: a parameter may be called `schema`, or begin with an underscore."""
    fields: dict[str, Any] = {
        f"field_{n}": (parameter.annotation, _field(parameter, words.get(parameter.name)))
        for n, parameter in enumerate(shown.values())
    }
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return create_model(name, __config__=config, **fields)
    except (PydanticUserError, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise InputError(
            f"a parameter of {name} has a type that JSON does not have: {first}",
            where=where,
            remedy="use str, int, float, bool, lists and dicts of them, Literal or pydantic models",
        ) from None


def _field(parameter: inspect.Parameter, words: str | None) -> FieldInfo:
    default = ... if parameter.default is parameter.empty else parameter.default
    said = _said_beside(parameter.annotation) or words
    field = Field(default=default, alias=parameter.name, description=said)
    assert isinstance(field, FieldInfo)
    return field


def _said_beside(annotation: Any) -> str | None:
    """The words in `Annotated[str, "words"]` or in its Field."""
    if get_origin(annotation) is not Annotated:
        return None
    for extra in get_args(annotation)[1:]:
        if isinstance(extra, str):
            return extra
        if isinstance(extra, FieldInfo) and extra.description:
            return extra.description
    return None


class _Untitled(GenerateJsonSchema):
    """Titles repeat the names: they cost tokens and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(
    model: type[BaseModel], shown: Mapping[str, inspect.Parameter], where: str
) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pydantic only warns of a default that is no JSON
            schema = model.model_json_schema(by_alias=True, schema_generator=_Untitled)
    except Exception as error:  # noqa: BLE001 - pydantic's, and those of types with hooks of theirs
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the parameters of {model.__name__} cannot be described to a model: {first}",
            where=where,
            remedy="use types and defaults that JSON has",
        ) from None
    return {key: value for key, value in schema.items() if key not in ("title", "description")}
