"""The declaration of a setting, beside the type, bounds and default of its field."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from branchwise.base.errors import InputError, did_you_mean

SettingKind = Literal["value", "model", "folder", "kg", "retriever"]
"""What a text means: a model spec, a folder, a graph's folder or address, a retriever's name."""


@dataclass(frozen=True)
class Setting:
    """How users write a field and what it changes, in the field's `Annotated`.

    `help` and `panel` are the command line's. `word`: its key in a study file, by default the
    field's name; `flag`: its option, by default `--WORD`; None where it cannot be written there.
    `metavar`: what help calls its value; `words`: those that a shell offers for it;
    `shows_default`: whether help says what it is by default.
    `none`: what a system's name calls it where it is None. `module`: the module that must be on for
    it to have an effect, as for a role the one that asks it; its own name where it is the module,
    which leaves None out of the digest. `changes`: `answers`, and with them the digest; `sources`,
    of which the digest holds what they are, not what they are called; `requests`, how they are
    sent; or `scores` alone. `of_task`: a task declares it, and it changes something only where the
    flow of the questions takes it. `sent_as`: the field of
    requests to a model's server that has its value.
    """

    help: str = ""
    panel: str | None = None
    word: str | None = ""
    flag: str | None = ""
    holds: SettingKind = "value"
    none: str = "default"
    module: str | None = None
    metavar: str | None = None
    words: Callable[[], Iterable[str]] | None = None
    shows_default: bool = True
    changes: Literal["answers", "sources", "requests", "scores"] = "answers"
    of_task: bool = False
    sent_as: str | None = None


@dataclass(frozen=True)
class Declared:
    """A setting of a pydantic model; `path`: the names of fields that lead to it."""

    path: tuple[str, ...]
    setting: Setting
    info: FieldInfo

    @property
    def name(self) -> str:
        """The field's."""
        return self.path[-1]

    @property
    def word(self) -> str | None:
        """Its key in a study file."""
        return self.name if self.setting.word == "" else self.setting.word

    @property
    def flag(self) -> str | None:
        """Its option, as Typer declares it."""
        given = self.setting.flag
        return f"--{self.word or self.name}".replace("_", "-") if given == "" else given

    @property
    def kind(self) -> Any:
        """Its type, where it is not None."""
        kind = self.info.annotation
        if self.optional:
            kind = next(arg for arg in get_args(kind) if arg is not NoneType)
        return get_args(kind)[0] if get_origin(kind) is Annotated else kind

    @property
    def optional(self) -> bool:
        """Whether it can be None."""
        return NoneType in get_args(self.info.annotation)

    @property
    def is_choice(self) -> bool:
        """Whether it is one of some words."""
        return get_origin(self.kind) is Literal


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class NamedSettings(ModelMetaclass):
    """Of models that users make in Python: what they refuse is one line, as everywhere.

    Reading a record (`model_validate`) raises pydantic's own errors.
    """

    def __call__(self, *values: Any, **settings: Any) -> Any:
        model = cast(type[BaseModel], self)
        if values:
            example = f"{self.__name__}({next(iter(model.model_fields))}={values[0]!r})"
            raise InputError("settings are given by name", where=self.__name__, remedy=example)
        try:
            return super().__call__(**settings)
        except ValidationError as error:
            raise _told_in_python(model, error) from None


def _told_in_python(model: type[BaseModel], error: ValidationError) -> InputError:
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        return unknown_setting(model, place[-1], place[:-1])
    context = first.get("ctx", {})
    where = ".".join([model.__name__, *place, *context.get("place", ())])
    value = "" if isinstance(first["input"], BaseModel | dict) else f" ({first['input']!r:.60})"
    if first["type"] == "literal_error":
        what, remedy = unknown_value(first)
        return InputError(what, where=where, remedy=remedy)
    what = str(first["msg"])
    remedy = context.get("remedy") or f"see help(branchwise.{model.__name__})"
    return InputError(f"{what[:1].lower()}{what[1:]}{value}", where=where, remedy=remedy)


def unknown_setting(model: type[BaseModel], name: str, within: Sequence[str] = ()) -> InputError:
    """The error for an unknown setting in the model that the fields `within` lead to."""
    owner: Any = model
    for part in within:
        owner = owner.model_fields[part].annotation if part in owner.model_fields else owner
    known = {setting.word: setting for setting in declared(model) if setting.word}
    if name in known and len(known[name].path) > 1:
        outer, inner = known[name].path[0], known[name].name
        remedy = f"write {outer}={{{inner!r}: ...}}"
    else:
        elsewhere: Iterable[str] = getattr(owner, "declared_elsewhere", tuple)()
        remedy = did_you_mean(name, [*owner.model_fields, *elsewhere])
    where = ".".join([model.__name__, *within])
    return InputError(f"unknown setting {name[:60]!r}", where=where, remedy=remedy)


def words_of(error: Mapping[str, Any]) -> list[str]:
    """The words of a `Literal`, from pydantic's error for a value that is none of them."""
    return re.findall(r"'([^']*)'", error["ctx"]["expected"])


def unknown_value(error: Mapping[str, Any]) -> tuple[str, str]:
    """What such an error says to users, and the remedy: the nearest word, or all."""
    value = str(error["input"])
    return f"unknown value {value[:80]!r}", did_you_mean(value, words_of(error))


def refused(what: str, remedy: str, *place: str) -> PydanticCustomError:
    """A validator's refusal of a value. `place`: the keys within it that lead to what is wrong."""
    context = {"what": what, "remedy": remedy, "place": place}
    return PydanticCustomError("setting", "{what}", context)


def no_empty_text(value: str) -> str:
    """Refuse texts that cannot be a name, path or address."""
    if not value.strip():
        raise refused("is empty", "leave it out")
    if len(value) > MAX_TEXT:
        raise refused(f"is longer than {MAX_TEXT:,} characters", "shorten it")
    if not value.isprintable():
        raise refused("holds control characters", "write it without them")
    return value


MAX_TEXT = 2000
Text = Annotated[str, AfterValidator(no_empty_text)]
"""A text that can be a name, path or address."""


def told(error: PydanticCustomError, option: str) -> InputError:
    """A refusal of an option's value, as the command line tells it."""
    context = error.context or {}
    where = f"{option} {'.'.join(context['place'])}".strip()
    return InputError(context["what"], where=where, remedy=context["remedy"])


def declared(model: type[BaseModel], path: tuple[str, ...] = ()) -> Iterator[Declared]:
    """The settings of a model and of the models in it, in their order."""
    for name, info in model.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from declared(kind, (*path, name))
        for mark in info.metadata:
            if isinstance(mark, Setting):
                yield Declared((*path, name), mark, info)


def digested(settings: BaseModel) -> dict[str, Any]:
    """What answers depend on: patience and streaming do not change them."""
    values = settings.model_dump(mode="json")
    return {
        setting.name: values[setting.name]
        for setting in declared(type(settings))
        if setting.setting.changes == "answers"
    }
