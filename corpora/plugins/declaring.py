"""What a decorator makes of a function, and what it refuses at once, for every kind of plug-in."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast, get_type_hints

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.faults import fault_line, is_importing
from branchwise.corpora.plugins.injection import (
    Injected,
    InjectedParameter,
    settings_among,
    wanted_by,
)
from branchwise.corpora.plugins.kinds import KINDS
from branchwise.corpora.plugins.specs import Group

Function = Callable[..., Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Plugin:
    """A declared plug-in; calling it calls the function, as if it had never been declared.

    `injected`: the parameters that the harness fills, with what. `settings`: the pydantic model of
    its settings. `seconds`: time limit of a call; None: the item's remaining time. A kind is a
    subclass with its own fields: `plugin_group` registers it in `KINDS`, `fills` says what its
    functions may ask for, `may_wait` whether they may be async.
    """

    plugin_group: ClassVar[Group]
    fills: ClassVar[tuple[Injected, ...]] = ()
    may_wait: ClassVar[bool] = False

    name: str
    function: Function
    description: str
    injected: Mapping[str, InjectedParameter] = field(default_factory=dict, repr=False)
    settings: type[BaseModel] | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        # So that inspect, help() and searches for a module's names see the function.
        names = ("__name__", "__qualname__", "__doc__", "__module__")
        vars(self).update({name: getattr(self.function, name, None) for name in names})
        vars(self)["__wrapped__"] = self.function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    @property
    def place(self) -> str:
        """`file:line` of the function."""
        return place_of(self.function)

    @classmethod
    def declared(
        cls, function: Function, read: "Callable[[Declaration], Mapping[str, Any]]", **options: Any
    ) -> Self:
        """The plug-in of a function with the options that all kinds have: `name`, `settings`,
        `seconds`, `description` (by default the docstring's first paragraph). BaseModel as settings
        stands for the class of them that a parameter is annotated with.

        `read` gives the fields that its kind adds. Raises InputError, with file and line, for an
        unsuitable function (while a file is imported, only where it is named: `RefusedPlugin`), and
        for a second plug-in of the same name in a file.
        """
        try:
            plugin = cls._declared(function, read, **options)
        except InputError as error:
            if not is_importing.get():
                raise
            return cast(Self, RefusedPlugin(error))
        _check_once(plugin, getattr(function, "__globals__", {}))
        return plugin

    @classmethod
    def _declared(
        cls, function: Function, read: "Callable[[Declaration], Mapping[str, Any]]", **options: Any
    ) -> Self:
        declaration = _declaration(cls, function, **options)
        own = {"description": options.get("description"), **read(declaration)}
        if own["description"] is None:
            own["description"] = first_paragraph(declaration)
        return cls(
            name=declaration.name,
            function=function,
            injected=declaration.injected,
            settings=declaration.settings,
            seconds=options.get("seconds"),
            **own,
        )


@dataclass(frozen=True)
class RefusedPlugin:
    """Stands in an imported file for a function that cannot be what its decorator declares, so that
    the file's other plug-ins can be used."""

    error: InputError

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise self.error


class Declaration(NamedTuple):
    """A function as its decorator reads it: `others` are the parameters that are not injected."""

    noun: str
    name: str
    function: Function
    where: str
    injected: dict[str, InjectedParameter]
    others: dict[str, inspect.Parameter]
    settings: type[BaseModel] | None

    def refused(self, what: str, remedy: str | None = None) -> InputError:
        """The error for a function that cannot be a plug-in of its kind."""
        return InputError(what, where=self.where, remedy=remedy)

    def check_positive(self, **numbers: Any) -> None:
        """Raise InputError for a setting of the decorator that is not a positive number."""
        for setting, value in numbers.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not 0 < value < float("inf"):
                self.check(False, f"{setting} is {value!r}, which is not a positive number")

    def check(self, right: bool, what: str) -> None:
        """Raise InputError for an invalid setting of the decorator."""
        if not right:
            raise self.refused(f"@{self.noun}: {what}", "see docs/plugins.md")


DeclaredPlugin = TypeVar("DeclaredPlugin", bound=Plugin)


def decorating(
    function: Function | None, declare: Callable[[Function], DeclaredPlugin]
) -> DeclaredPlugin | Callable[[Function], DeclaredPlugin]:
    """The result of a decorator: with `function` (used without parentheses), the plug-in at
    once."""
    return declare if function is None else declare(function)


def place_of(function: Function) -> str:
    """`file:line` of a function, or its name if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return str(getattr(function, "__qualname__", type(function).__name__))
    return f"{code.co_filename}:{code.co_firstlineno}"


def first_paragraph(declaration: Declaration) -> str:
    """The first paragraph of the docstring, on one line. Raises InputError if there is none."""
    text = inspect.getdoc(declaration.function) if declaration.function.__doc__ else ""
    if not (text or "").strip():
        what = f"the {declaration.noun} {declaration.name} has no docstring"
        raise declaration.refused(what, "say in one what it does")
    return " ".join((text or "").strip().split("\n\n")[0].split())


def _declaration(
    cls: type[Plugin],
    function: Function,
    *,
    name: str | None = None,
    settings: Any = None,
    seconds: Any = None,
    description: str | None = None,
) -> Declaration:
    kind = KINDS[cls.plugin_group]
    if not callable(function) or isinstance(function, type | Plugin):
        raise InputError(
            f"@{kind.noun} declares a function, not {type(function).__name__!r}",
            where=place_of(function) if callable(function) else None,
            remedy="put it above a `def`",
        )
    chosen = getattr(function, "__name__", "") if name is None else name
    where = place_of(function)
    made = Declaration(kind.noun, chosen, function, where, {}, {}, settings)
    if not kind.takes_name(chosen):
        raise made.refused(f"{chosen!r} cannot be the name of a {kind.noun}", kind.names[1])
    _check_way(made, cls.may_wait)
    if seconds is not None:
        made.check_positive(seconds=seconds)
    is_model = isinstance(settings, type) and issubclass(settings, BaseModel)
    made.check(settings is None or is_model, "settings is not a pydantic model class")
    if description is None:
        first_paragraph(made)
    parameters = _parameters(made, annotated=bool(cls.fills))
    if settings is BaseModel:
        settings = settings_among(parameters.values())
    filled = {n: wanted_by(one, settings, cls.fills) for n, one in parameters.items()}
    injected = {n: one for n, one in filled.items() if one is not None}
    others = {n: one for n, one in parameters.items() if n not in injected}
    return made._replace(injected=injected, others=others, settings=settings)


def _check_way(made: Declaration, may_wait: bool) -> None:
    function, called = made.function, f"the {made.noun} {made.name}"
    generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    if may_wait and generator:
        what = f"{called} is a generator: a call would run none of it"
        raise made.refused(what, "return the whole result; do not yield")
    if not may_wait and (generator or inspect.iscoroutinefunction(function)):
        raise made.refused(f"{called} is async or a generator", "make it a plain function")


def _parameters(made: Declaration, *, annotated: bool) -> dict[str, inspect.Parameter]:
    """The parameters, with their annotations resolved."""
    parameters = dict(inspect.signature(made.function).parameters)
    if not annotated:
        return parameters
    try:
        hints = get_type_hints(made.function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - annotations are evaluated: anything may happen
        raise made.refused(
            f"an annotation of {made.name} cannot be read: {fault_line(error)}",
            "annotate with names that the file imports or defines above",
        ) from None
    empty = inspect.Parameter.empty
    return {n: p.replace(annotation=hints.get(n, empty)) for n, p in parameters.items()}


def _check_once(plugin: Plugin, names: Mapping[str, Any]) -> None:
    """Refuse a second plug-in of the same name in a file. In a notebook a cell may run again."""
    if names.get("__name__") == "__main__":
        return
    for other in names.values():
        same = isinstance(other, type(plugin)) and other.name == plugin.name
        if same and other.place != plugin.place:
            raise InputError(
                f"the {KINDS[plugin.plugin_group].noun} {plugin.name} is defined twice",
                where=f"{other.place} and {plugin.place}",
                remedy="give one of them another name",
            )
