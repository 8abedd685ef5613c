"""What a decorator makes of a function, for every kind of plug-in: what it declares, what the
harness fills in for it, and what is refused at once."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast, get_args, get_type_hints

from pydantic import BaseModel

from branchwise.corpora.errors import InputError
from branchwise.corpora.plugins.call import RunContext, current_run
from branchwise.corpora.plugins.faults import fault_line, importing, is_importing
from branchwise.corpora.plugins.settings import Given, check_settings

Group = str
"""A kind of plug-in, a key of `KINDS`; its entry points are in `branchwise.GROUP`."""
Function = Callable[..., Any]

_PLAIN = (r"[A-Za-z][A-Za-z0-9_]{0,63}", "use at most 64 letters, digits and _, a letter first")
_OF_NODES = (
    r"[A-Za-z][A-Za-z0-9_-]{0,63}",
    "use at most 64 letters, digits, _ and -, a letter first",
)
_OF_TOOLS = (r"[A-Za-z_][A-Za-z0-9_-]{0,63}", "use at most 64 letters, digits, _ and -")


class PluginKind(NamedTuple):
    """`noun`, the option and the field of study files that name one, and what declares one.

    `names`: a pattern, and the remedy for names that it does not match.
    """

    noun: str
    option: str
    field: str
    decorator: str
    names: tuple[str, str] = _PLAIN

    def takes_name(self, name: object) -> bool:
        """Whether a plug-in of the kind may have this name."""
        return isinstance(name, str) and re.fullmatch(self.names[0], name) is not None


KINDS: dict[Group, PluginKind] = {
    "tools": PluginKind("tool", "--tool", "tools", "@tool", _OF_TOOLS),
    "nodes": PluginKind("node", "--node", "nodes", '@node("after_tools")', _OF_NODES),
    "retrievers": PluginKind("retriever", "--retriever", "retriever", "@retriever"),
    "metrics": PluginKind("metric", "--metric", "metrics", "@metric(...)"),
}
"""Every kind that there is: what errors, specs and entry points go by."""

FILLS: dict[type, str] = {Path: "path", RunContext: "run"}
"""What the harness fills a parameter with, by its annotation. Rooms add what they have: a corpus, a
graph; `path` is the corpus's folder."""
_ABSENT = {"graph": ("graph", "--kg DIR or --kg URL")}
_NO_CORPUS = ("corpus", "--corpus DIR")


class InjectedParameter(NamedTuple):
    """What a parameter is filled with, and whether it is optional."""

    kind: str
    optional: bool


@dataclass(frozen=True)
class InjectionContext:
    """What can be injected, by the names in `FILLS`, each made when it is needed; and settings, by
    plug-in name."""

    values: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    settings: Given = field(default_factory=dict)


@dataclass(frozen=True)
class Filled:
    """A plug-in's settings, checked, and the values of its parameters except the run's."""

    settings: BaseModel | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    runs: Collection[str] = ()

    @property
    def settings_json(self) -> dict[str, Any]:
        """The settings as they enter digests."""
        return self.settings.model_dump(mode="json") if self.settings else {}

    def now(self) -> dict[str, Any]:
        """The current values."""
        return {**self.values, **dict.fromkeys(self.runs, current_run())}


@dataclass(frozen=True, eq=False, kw_only=True)
class Plugin:
    """A declared plug-in; calling it calls the function, as if it had never been declared.

    `injected`: the parameters that the harness fills, with what. `settings`: the pydantic model of
    its settings. `seconds`: time limit of a call; None: the item's remaining time. A kind is a
    subclass with its own fields: `plugin_group` registers it in `KINDS`, `fills` says what its
    functions may ask for, `may_wait` whether they may be async.
    """

    plugin_group: ClassVar[Group]
    fills: ClassVar[tuple[str, ...]] = ()
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
            made = _declaration(cls, function, **options)
            own = {"description": made.description, **read(made)}
        except InputError as error:
            if not is_importing.get():
                raise
            return cast(Self, RefusedPlugin(error))
        plugin = cls(
            name=made.name,
            function=function,
            injected=made.injected,
            settings=made.settings,
            seconds=options.get("seconds"),
            **own,
        )
        names = getattr(function, "__globals__", {})
        for other in names.values():
            same = isinstance(other, cls) and other.name == plugin.name
            # In a notebook a cell may run again.
            if same and other.place != plugin.place and names.get("__name__") != "__main__":
                raise InputError(
                    f"the {made.noun} {plugin.name} is defined twice",
                    where=f"{other.place} and {plugin.place}",
                    remedy="give one of them another name",
                )
        return plugin

    def fill(self, around: InjectionContext) -> Filled:
        """What its parameters are filled with.

        A parameter with a default keeps it if there is nothing to inject. Raises InputError for
        settings that do not fit, and for a missing corpus or graph.
        """
        settings = check_settings(self.name, self.settings, around.settings.get(self.name))
        parameters = inspect.signature(self.function).parameters
        values: dict[str, Any] = {}
        for name, (kind, optional) in self.injected.items():
            if kind == "run":
                continue
            make = around.values.get(kind, lambda: None)
            value = settings if kind == "settings" else make()
            if value is None and not optional:
                what, option = _ABSENT.get(kind, _NO_CORPUS)
                raise InputError(f"{self.name} needs a {what}", remedy=f"give one with {option}")
            if value is not None or parameters[name].default is inspect.Parameter.empty:
                values[name] = value
        runs = [name for name, (kind, _) in self.injected.items() if kind == "run"]
        return Filled(settings, values, runs)


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
    description: str = ""
    injected: Mapping[str, InjectedParameter] = {}
    others: Mapping[str, inspect.Parameter] = {}
    settings: type[BaseModel] | None = None

    def refused(self, what: str, remedy: str | None = None) -> InputError:
        """The error for a function that cannot be a plug-in of its kind."""
        return InputError(what, where=self.where, remedy=remedy)

    def check_positive(self, **numbers: Any) -> None:
        """Raise InputError for a setting of the decorator that is not a positive number."""
        for setting, value in numbers.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            right = is_number and 0 < value < float("inf")
            self.check(right, f"{setting} is {value!r}, which is not a positive number")

    def check(self, right: bool, what: str) -> None:
        """Raise InputError for an invalid setting of the decorator."""
        if not right:
            raise self.refused(f"@{self.noun}: {what}", "see docs/plugins.md")


def place_of(function: Function) -> str:
    """`file:line` of a function, or its name if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return str(getattr(function, "__qualname__", type(function).__name__))
    return f"{code.co_filename}:{code.co_firstlineno}"


def group_of(found: object) -> Group | None:
    """The kind of an object, from a decorated object's `plugin_group`; a LangChain tool is
    recognised by its base class. None for anything else."""
    group = getattr(type(found), "plugin_group", None)
    if isinstance(group, str) and group in KINDS:
        return group
    bases = [(base.__module__, base.__name__) for base in type(found).__mro__]
    return "tools" if ("langchain_core.tools.base", "BaseTool") in bases else None


def made(found: Any, group: Group, place: str) -> Any:
    """The plug-in that a name led to, or that a factory function of that name makes.

    Raises InputError, which says what was found instead, and the remedy.
    """
    named, what = found, "is {}"
    if group_of(named) is None and callable(named) and not _makes_none(named):
        with importing(place):
            found = named()
        is_class = isinstance(named, type)
        what = "is a class that makes {}" if is_class else "is a function that returns {}"
    if (other := group_of(found)) == group:
        return found
    kind = KINDS[group]
    if other is not None:
        right = KINDS[other]
        raise InputError(
            what.format(f"a {right.noun}, not a {kind.noun}"),
            where=place,
            remedy=f"name it with {right.option} ({right.field}: in a study file)",
        )
    described = repr(type(found).__name__)
    if inspect.isroutine(found) or isinstance(found, type):
        described = "a class" if isinstance(found, type) else "a function"
    above = (
        f"put `{kind.decorator}` above it" if inspect.isroutine(named) else f"name a {kind.noun}"
    )
    raise InputError(
        what.format(f"{described}, not a {kind.noun}"),
        where=place,
        remedy=f"{above}, or name a function without arguments that returns one",
    )


def _makes_none(function: Function) -> bool:
    """Whether a call without arguments is useless: it needs some, or makes a coroutine."""
    later = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(kind(function) for kind in later):
        return True
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:
        return False  # for some classes Python knows no signature
    return False


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
    made = Declaration(kind.noun, chosen, function, place_of(function))
    if not kind.takes_name(chosen):
        raise made.refused(f"{chosen!r} cannot be the name of a {kind.noun}", kind.names[1])
    called = f"the {kind.noun} {chosen}"
    generator = inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
    if cls.may_wait and generator:
        what = f"{called} is a generator: a call would run none of it"
        raise made.refused(what, "return the whole result; do not yield")
    if not cls.may_wait and (generator or inspect.iscoroutinefunction(function)):
        raise made.refused(f"{called} is async or a generator", "make it a plain function")
    if seconds is not None:
        made.check_positive(seconds=seconds)
    is_model = isinstance(settings, type) and issubclass(settings, BaseModel)
    made.check(settings is None or is_model, "settings is not a pydantic model class")
    if description is None:
        said = (inspect.getdoc(function) or "").strip() if function.__doc__ else ""
        if not said:
            raise made.refused(f"{called} has no docstring", "say in one what it does")
        description = " ".join(said.split("\n\n")[0].split())
    parameters = dict(inspect.signature(function).parameters)
    if cls.fills:
        try:
            hints = get_type_hints(function, include_extras=True)
        except Exception as error:  # noqa: BLE001 - annotations are evaluated: anything may happen
            raise made.refused(
                f"an annotation of {chosen} cannot be read: {fault_line(error)}",
                "annotate with names that the file imports or defines above",
            ) from None
        empty = inspect.Parameter.empty
        parameters = {n: p.replace(annotation=hints.get(n, empty)) for n, p in parameters.items()}
    if settings is BaseModel:
        parts = [part for one in parameters.values() for part in _parts(one)]
        models = [one for one in parts if isinstance(one, type) and issubclass(one, BaseModel)]
        settings = models[-1] if models else None
    filled = {n: _filled_by(one, settings, cls.fills) for n, one in parameters.items()}
    injected = {n: one for n, one in filled.items() if one is not None}
    others = {n: one for n, one in parameters.items() if n not in injected}
    return made._replace(
        description=description, injected=injected, others=others, settings=settings
    )


def _filled_by(
    parameter: inspect.Parameter, settings: type[BaseModel] | None, kinds: Collection[str]
) -> InjectedParameter | None:
    """What fills a parameter, by its annotation; None if the harness does not fill it."""
    parts = list(_parts(parameter))
    optional = type(None) in parts or parameter.default is not parameter.empty
    for part in parts:
        if not isinstance(part, type):
            continue
        kind = "settings" if part is settings else FILLS.get(part)
        if kind in kinds:
            return InjectedParameter(str(kind), optional)
    return None


def _parts(parameter: inspect.Parameter) -> Iterable[Any]:
    """An annotation and, of `X | None` and the like, what it is made of."""
    return (parameter.annotation, *get_args(parameter.annotation))
