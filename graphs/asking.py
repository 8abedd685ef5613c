"""Settings of tasks: how questions are put where a task has several ways.

Each task declares its own, in a pydantic model whose fields are marked as `System`'s are. The
protocols there are come from the tasks' flows.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import PydanticCustomError

from branchwise.base.registry import Registry
from branchwise.base.setting import Declared, Setting, declared, refused, unknown_value

PROTOCOL, DEFAULT_PROTOCOL = "protocol", "default"
"""The setting that every task has, and its value for a task's own way to put its questions."""
_HELP = (
    "How a question is put where its task has several ways. Free text: default (the model writes "
    "conditions), standard, guided by the gold conditions, closed book. Ambiguity and questions "
    "back: whether all answers are listed first to tell it, for the question back or for both, or "
    "are the gold ones; the gold question as part of the question or as a dialogue."
)
_PROTOCOLS: Registry[str] = Registry()
_OF_TASKS: Registry[Declared] = Registry()


def register_settings(protocols: Iterable[str], settings: type[BaseModel] | None) -> None:
    """Add a task's protocols and its other settings."""
    for name in protocols:
        _PROTOCOLS.register(name, name)
    for one in declared(settings) if settings else ():
        _OF_TASKS.register(one.name, one)


@cache
def asking_settings() -> Mapping[str, Declared]:
    """Those of all tasks, by their names; the protocol is the first."""
    words: Any = Literal.__getitem__((DEFAULT_PROTOCOL, *_PROTOCOLS))
    kind: Any = Annotated[words, Setting(_HELP, "Model", of_task=True)]
    model = create_model("_Protocol", protocol=(kind, DEFAULT_PROTOCOL))
    return {one.name: one for one in declared(model)} | dict(_OF_TASKS)


@cache
def _model() -> type[BaseModel]:
    fields: dict[str, Any] = {
        one.name: (Annotated[(one.info.annotation, *one.info.metadata)], one.info.default)
        for one in asking_settings().values()
    }
    config = ConfigDict(frozen=True, extra="forbid")
    model: type[BaseModel] = create_model("_Asking", __config__=config, **fields)
    return model


def checked_asking(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is set of tasks' settings, defaults left out. Raises the refusal of the first value that
    is none of its setting's."""
    if not values:
        return {}
    try:
        made = _model().model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name, what = str(first["loc"][0]), str(first["msg"])
        if name not in asking_settings():
            known = ", ".join(asking_settings())
            raise refused("unknown setting", f"known are {known}", name) from None
        if first["type"] == "literal_error":
            raise refused(*unknown_value(first), name) from None
        context = {"what": f"{what} ({values[name]!r:.60})", "place": (name,)}
        raise PydanticCustomError("setting", "{what}", context) from None
    return made.model_dump(exclude_defaults=True)
