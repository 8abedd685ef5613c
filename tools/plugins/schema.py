"""From a function's signature and docstring to what the model sees, and back to arguments."""

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.declaring import Declaration
from branchwise.tools.plugins.docstrings import read_docstring


@dataclass(frozen=True)
class Signature:
    """What a function takes.

    `arguments`: a pydantic model whose fields have the parameters' names as aliases. `schema`: its
    JSON schema, as the model sees it.
    """

    description: str
    arguments: type[BaseModel]
    schema: Mapping[str, Any]

    def read(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The function's keyword arguments, with its defaults. Raises pydantic's ValidationError.

        Defaults are included so that they can be copied: a default that a call changes (`[]`) would
        reach the calls of other items.
        """
        checked = self.arguments.model_validate(dict(arguments))
        return {
            str(info.alias): getattr(checked, field)
            for field, info in self.arguments.model_fields.items()
        }


def read_signature(declaration: Declaration) -> Signature:
    """What a model sees of a function.

    Raises InputError for a parameter without annotation, one that cannot be passed by keyword, one
    of a type that JSON does not have, and a docstring that describes something that is not a
    parameter.
    """
    name, shown, where = declaration.name, declaration.others, declaration.where
    for parameter in inspect.signature(declaration.function).parameters.values():
        _check_parameter(declaration, parameter)
    described = read_docstring(declaration.function.__doc__ or "", shown)
    if stray := [one for one in described.unknown if one not in declaration.injected]:
        raise declaration.refused(
            f"the docstring of {name} describes {stray[0]!r}, which is not a parameter",
            f"its parameters are {', '.join(shown) or 'none'}",
        )
    if not described.text:
        raise declaration.refused(
            f"the docstring of {name} describes only parameters",
            "say first what it does, because the model reads it",
        )
    model = _model(name, shown, described.parameters, where)
    return Signature(described.text, model, _schema(model, where))


def _check_parameter(declaration: Declaration, parameter: inspect.Parameter) -> None:
    called = f"the parameter {parameter.name!r} of {declaration.name}"
    wrong = None
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        wrong = "takes any number of arguments"
    elif parameter.kind is parameter.POSITIONAL_ONLY:
        wrong = "cannot be given by name"
    if wrong:
        what = f"{called} {wrong}, so a model cannot call it"
        raise declaration.refused(what, "give it named parameters only")
    if parameter.annotation is parameter.empty:
        remedy = f"write its type, such as `{parameter.name}: str`"
        raise declaration.refused(f"{called} has no annotation", remedy)


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
    """Drop titles: they repeat the names and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: type[BaseModel], where: str) -> Mapping[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # pydantic only warns of a default that is not JSON
            schema = model.model_json_schema(by_alias=True, schema_generator=_Untitled)
    except Exception as error:  # noqa: BLE001 - pydantic's, and those of types with hooks of theirs
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"the parameters of {model.__name__} cannot be described to a model: {first}",
            where=where,
            remedy="use types and defaults that JSON has",
        ) from None
    return {key: value for key, value in schema.items() if key not in ("title", "description")}
