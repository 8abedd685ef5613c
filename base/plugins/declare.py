"""What a decorator makes of a function, for every kind of plug-in, and a plug-in's own settings."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, cast, get_args, get_type_hints

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from branchwise.base.errors import InputError
from branchwise.base.plugins.call import RunContext, current_run
from branchwise.base.plugins.sources import PluginSource, fault_line, importing, is_importing
from branchwise.base.text import one_line

Given = Mapping[str, Mapping[str, Any]]
"""Settings as the user gave them, by plug-in name."""
_WRITTEN = re.compile(r"([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)=(.*)", re.DOTALL)
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


def check_settings(
    name: str, model: type[BaseModel] | None, given: Mapping[str, Any] | None
) -> BaseModel | None:
    """The settings of a plug-in, checked; InputError names the first key that does not fit."""
    given = dict(given or {})
    if model is None:
        if given:
            raise InputError(f"{name} has no settings", where=f"{name}.{next(iter(given))}")
        return None
    fields = model.model_fields
    known = {*fields, *(field.alias for field in fields.values() if field.alias)}
    unknown = [key for key in given if key not in known]
    if unknown and model.model_config.get("extra") != "allow":
        what = f"{name} has no setting {unknown[0]!r}"
        remedy = f"it has {', '.join(sorted(known))}" if known else "it has none"
        raise InputError(what, where=f"{name}.{unknown[0]}", remedy=remedy)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([name, *map(str, first["loc"])])
        missing = first["type"] == "missing"
        remedy = f"give it: --set {where}=VALUE" if missing else "see the plug-in's settings"
        raise InputError(str(first["msg"]), where=where, remedy=remedy) from None


def read_settings(texts: Sequence[str], option: str = "--set") -> dict[str, dict[str, Any]]:
    """Settings by plug-in name. VALUE is YAML: `3`, `on`, `[a, b]`, `{key: value}`, or else text.

    Raises InputError for a text of another form, and for a key set twice.
    """
    import yaml

    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        match = _WRITTEN.fullmatch(text)
        if not match:
            what, remedy = f"{text[:200]!r} is not a setting", f"write {option} NAME.KEY=VALUE"
            raise InputError(what, where=option, remedy=remedy)
        name, key, value = match.groups()
        of_name = settings.setdefault(name, {})
        if key in of_name:
            raise InputError(f"{name}.{key} is set twice", where=option, remedy="set it once")
        try:
            of_name[key] = _JSON.validate_python(yaml.safe_load(value))
        except ValidationError:
            of_name[key] = value  # YAML reads dates, which JSON does not have: they stay texts
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise InputError(
                f"the value of {text[:200]!r} is not YAML: {one_line(str(error))[:200]}",
                where=option,
                remedy="put a text with special characters in quotation marks",
            ) from None
    return settings


Group = str
"""A kind of plug-in, a key of `KINDS`; its entry points are in `branchwise.GROUP`."""
Function = Callable[..., Any]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


class PluginKind(NamedTuple):
    """`noun`, the option and the field of study files that name one, and what declares one."""

    noun: str
    option: str
    field: str
    decorator: str


KINDS: dict[Group, PluginKind] = {
    "tools": PluginKind("tool", "--tool", "tools", "@tool"),
    "nodes": PluginKind("node", "--node", "nodes", '@node("after_tools")'),
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Plugin:
    """A declared plug-in; calling it calls the function, as if it had never been declared.

    `injected`: the parameters that the harness fills, with what. `settings`: the pydantic model of
    its settings. `seconds`: time limit of a call; None: the item's remaining time. A kind is a
    subclass with its own fields: `plugin_group` registers it in `KINDS`, `fills` says what its
    functions may ask for, `may_wait` whether they may be async. `source`: the code's identity, once
    a spec has found it. `fill` sets `chosen`, its checked settings, and `values` of parameters.
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
    source: PluginSource = field(default_factory=lambda: PluginSource(""), repr=False)
    chosen: BaseModel | None = None
    values: Mapping[str, Any] = field(default_factory=dict, repr=False)

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

    @property
    def spec_here(self) -> str:
        """The spec that leads to it in this process. Raises InputError where none does."""
        module, name = self.function.__module__, self.function.__name__
        if getattr(sys.modules.get(module), name, None) is self:
            return f"{module}:{name}"
        remedy = f'define it in a file, and name that: "file.py:{name}"'
        raise InputError("cannot be found by name", where=self.place, remedy=remedy)

    @property
    def chosen_json(self) -> dict[str, Any]:
        """The settings as they enter digests."""
        return self.chosen.model_dump(mode="json") if self.chosen else {}

    @classmethod
    def declared(
        cls, function: Function, read: "Callable[[Declaration], Mapping[str, Any]]", **options: Any
    ) -> Self:
        """The plug-in of a function with the options that all kinds have: `name`, `settings`,
        `seconds`, `description` (by default the docstring's first paragraph). BaseModel as settings
        stands for the class of them that a parameter is annotated with.

        `read` gives the fields that its kind adds. Raises InputError, with file and line, for an
        unsuitable function (while a file is imported, only where it is named: `RefusedPlugin`).
        """
        try:
            declaration = _declaration(cls, function, **options)
            own = {"description": declaration.description, **read(declaration)}
        except InputError as error:
            if not is_importing.get():
                raise
            return cast(Self, RefusedPlugin(error))
        return cls(
            name=declaration.name,
            function=function,
            injected=declaration.injected,
            settings=declaration.settings,
            seconds=options.get("seconds"),
            **own,
        )

    def fill(self, around: InjectionContext) -> Self:
        """The plug-in with its settings and with what its parameters are filled with.

        A parameter with a default keeps it if there is nothing to inject. Raises InputError for
        settings that do not fit, and for a missing corpus or graph.
        """
        chosen = check_settings(self.name, self.settings, around.settings.get(self.name))
        parameters = inspect.signature(self.function).parameters
        values: dict[str, Any] = {}
        for name, (kind, optional) in self.injected.items():
            if kind == "run":
                continue
            value = chosen if kind == "settings" else around.values.get(kind, lambda: None)()
            if value is None and not optional:
                what, option = _ABSENT.get(kind, _NO_CORPUS)
                raise InputError(f"{self.name} needs a {what}", remedy=f"give one with {option}")
            if value is not None or parameters[name].default is inspect.Parameter.empty:
                values[name] = value
        return replace(self, chosen=chosen, values=values)

    def now(self) -> dict[str, Any]:
        """The values of the filled parameters in a call that begins now."""
        runs = [name for name, (kind, _) in self.injected.items() if kind == "run"]
        return {**self.values, **dict.fromkeys(runs, current_run())}


def as_written(value: Any) -> Any:
    """A value as settings hold it: a path as a text, a decorated function as its spec."""
    if isinstance(value, list | tuple):
        return tuple(map(as_written, value))
    if isinstance(value, Plugin):
        return value.spec_here
    if inspect.isfunction(value):
        what = f"{value.__qualname__} is a function that is not decorated"
        raise InputError(what, remedy='put @branchwise.tool above it, or name it: "file.py:NAME"')
    return str(value) if isinstance(value, Path) else value


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
    description: str = ""
    injected: Mapping[str, InjectedParameter] = {}
    others: Mapping[str, inspect.Parameter] = {}
    settings: type[BaseModel] | None = None

    def refused(self, what: str, remedy: str) -> InputError:
        """The error for a function that cannot be a plug-in of its kind."""
        return InputError(what, where=place_of(self.function), remedy=remedy)

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


def is_name(name: object) -> bool:
    """Whether a plug-in may have this name: it stands in settings, columns and models' calls."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def place_of(function: Function) -> str:
    """`file:line` of a function, or its name if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return str(getattr(function, "__qualname__", type(function).__name__))
    return f"{code.co_filename}:{code.co_firstlineno}"


def group_of(found: object) -> Group | None:
    """The kind of a decorated object or of a LangChain tool; None for anything else."""
    group = getattr(type(found), "plugin_group", None)
    if isinstance(group, str) and group in KINDS:
        return group
    bases = [(base.__module__, base.__name__) for base in type(found).__mro__]
    return "tools" if ("langchain_core.tools.base", "BaseTool") in bases else None


def made(found: Any, group: Group, place: str) -> Any:
    """The plug-in that a name led to, or that a factory of that name makes. Raises InputError."""
    named, verb = found, "is"
    if group_of(named) is None and callable(named) and _is_factory(named):
        with importing(place):
            found, verb = named(), "makes"
    if (other := group_of(found)) == group:
        return found
    kind = KINDS[group]
    if other is not None:
        right = KINDS[other]
        what = f"{verb} a {right.noun}, not a {kind.noun}"
        remedy = f"name it with {right.option} ({right.field}: in a study file)"
    else:
        described = "class" if isinstance(found, type) else type(found).__name__
        what = f"{verb} a {described}, not a {kind.noun}"
        above = f"put `{kind.decorator}` above it"
        instead = above if inspect.isroutine(named) else f"name a {kind.noun}"
        remedy = f"{instead}, or name a function without arguments that returns one"
    raise InputError(what, where=place, remedy=remedy)


def _is_factory(function: Function) -> bool:
    """Whether it can be called without arguments, and does not make a coroutine."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:
        return True  # for some classes Python knows no signature
    return not inspect.iscoroutinefunction(function)


def _declaration(
    cls: type[Plugin],
    function: Function,
    *,
    name: str | None = None,
    settings: Any = None,
    seconds: Any = None,
    description: str | None = None,
) -> Declaration:
    noun = KINDS[cls.plugin_group].noun
    if not callable(function) or isinstance(function, type | Plugin):
        what = f"@{noun} declares a function, not {type(function).__name__!r}"
        where = place_of(function) if callable(function) else None
        raise InputError(what, where=where, remedy="put it above a `def`")
    chosen = getattr(function, "__name__", "") if name is None else name
    declaration, called = Declaration(noun, chosen, function), f"the {noun} {chosen}"
    if not is_name(chosen):
        remedy = "use at most 64 letters, digits, _ and -, a letter or _ first"
        raise declaration.refused(f"{chosen!r} cannot be the name of a {noun}", remedy)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        remedy = "return the whole result; do not yield"
        raise declaration.refused(f"{called} is a generator: a call would run none of it", remedy)
    if inspect.iscoroutinefunction(function) and not cls.may_wait:
        raise declaration.refused(f"{called} is async", "make it a plain function")
    if seconds is not None:
        declaration.check_positive(seconds=seconds)
    is_model = isinstance(settings, type) and issubclass(settings, BaseModel)
    declaration.check(settings is None or is_model, "settings is not a pydantic model class")
    if description is None:
        text = (inspect.getdoc(function) or "").strip() if function.__doc__ else ""
        if not text:
            raise declaration.refused(f"{called} has no docstring", "say in one what it does")
        description = " ".join(text.split("\n\n")[0].split())
    parameters = dict(inspect.signature(function).parameters)
    if cls.fills:
        parameters = _annotated(declaration, parameters)
    if settings is BaseModel:
        classes = [part for one in parameters.values() for part in _classes(one)]
        models = [part for part in classes if BaseModel in part.__mro__]
        settings = models[-1] if models else None
    injected = {}
    for parameter in parameters.values():
        optional = (
            type(None) in get_args(parameter.annotation)
            or parameter.default is not inspect.Parameter.empty
        )
        for part in _classes(parameter):
            kind = "settings" if part is settings else FILLS.get(part)
            if kind in cls.fills:
                injected[parameter.name] = InjectedParameter(str(kind), optional)
    others = {n: one for n, one in parameters.items() if n not in injected}
    return declaration._replace(
        description=description, injected=injected, others=others, settings=settings
    )


def _annotated(
    declaration: Declaration, parameters: Mapping[str, inspect.Parameter]
) -> dict[str, inspect.Parameter]:
    """The parameters with what their annotations stand for."""
    try:
        hints = get_type_hints(declaration.function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - annotations are evaluated: anything may happen
        what = f"an annotation of {declaration.name} cannot be read: {fault_line(error)}"
        remedy = "annotate with names that the file imports or defines above"
        raise declaration.refused(what, remedy) from None
    empty = inspect.Parameter.empty
    return {n: p.replace(annotation=hints.get(n, empty)) for n, p in parameters.items()}


def _classes(parameter: inspect.Parameter) -> Iterable[type]:
    """The class of an annotation and, of `X | None` and the like, those it is made of."""
    annotation = parameter.annotation
    return [one for one in (annotation, *get_args(annotation)) if isinstance(one, type)]
