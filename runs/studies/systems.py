"""The systems of a study: the base, and what the factors make of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError, SettingError, did_you_mean
from branchwise.base.plugins.declare import is_name
from branchwise.base.plugins.specs import absolute_spec
from branchwise.base.yaml_lines import KeyPath, shown
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.graphs.flows import FLOWS
from branchwise.graphs.sources import tools_of
from branchwise.graphs.system import DEFAULT_SYSTEM, MODULES, Roles, System
from branchwise.runs.studies.checks import check_parts, check_value, resolved, retriever_of
from branchwise.runs.studies.names import distinct_names, model_names, slugs, system_name
from branchwise.runs.studies.parts import StudyPlugins
from branchwise.runs.studies.study import FIELDS, MODEL, MODEL_LIST, WORDS, Study, StudyError, Value
from branchwise.tools.registry import KG_TOOLS, NAMES_TOOL, SEARCH_TOOL

MAX_SYSTEMS = 256
ROLES = WORDS["role_decoding"]


@dataclass(frozen=True)
class NamedSystem:
    """A system of a study. `slug`: its folder; `changes`: the factors in which it is not its base;
    `model`: its agent's, in short; `setting`: its changes in words, the model aside."""

    name: str
    slug: str
    system: System
    changes: Mapping[str, Value]
    model: str
    setting: str
    base: str


def systems_of(
    study: Study, folder: Path, where: Callable[[KeyPath], str] | None = None
) -> tuple[NamedSystem, ...]:
    """The systems of a study whose file lies in `folder`, the base first. `vary`: then each other
    value of each factor alone; `factorial`: all other combinations, those that change least first.
    Of several models each has all of these. Raises InputError with the place that `where` gives."""
    try:
        return _Systems(study, folder).checked()
    except StudyError as error:
        path = where(error.place) if where else ".".join(map(str, error.place)) or study.name
        raise error.located(path) from None


_MODULE_OF = {key: field.setting.module for key, field in FIELDS.items() if field.setting.module}
"""By setting, the module without which it changes nothing."""


@dataclass(frozen=True)
class _Draft:
    settings: Mapping[str, Value]
    changes: Mapping[str, Value]

    @property
    def model(self) -> str:
        return str(self.settings[MODEL])


class _Systems:
    """What makes systems of a study; `levels`: all values of each factor, the base's first."""

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.folder, self.plugins = study, folder, StudyPlugins(study, folder)
        firsts = {key: values[0] for key, values in study.factors.items()}
        self.base = firsts | {key: v for key, v in study.base.items() if key != MODEL_LIST}
        if ROLES in firsts:
            self.base[ROLES] = _of_modules(study.base.get(ROLES)) or firsts[ROLES]
        self.levels = {
            key: values if self.base[key] in values else (self.base[key], *values)
            for key, values in study.factors.items()
        }

    def checked(self) -> tuple[NamedSystem, ...]:
        study = self.study
        values: list[tuple[str, Value, KeyPath]] = [
            *((key, value, ("base", key)) for key, value in study.base.items()),
            *((MODEL, model, ("base", MODEL_LIST, n)) for n, model in enumerate(study.models)),
        ]
        for key, levels in study.factors.items():
            values += [(key, value, ("factors", key, n)) for n, value in enumerate(levels)]
        for key, value, place in values:
            check_value(key, value, self.folder, place)
        self._check_left_out()
        for place, own in self._named_roles():
            if place[0] == "factors" and (role := next((r for r in own if r not in MODULES), None)):
                remedy = "all systems are scored alike: write it below roles in base"
                raise StudyError(f"{role} is not a factor", (*place, role), remedy)
        for name in self.study.nodes:
            is_taken = name in FIELDS or name == MODEL_LIST
            if is_taken or not is_name(name):
                problem = "already a setting" if is_taken else "not a name for a node"
                remedy = "use another: letters, digits, - and _, no digit first"
                raise StudyError(f"{shown(name)} is {problem}", ("nodes", name), remedy)
        self.plugins.check()
        systems = self._named()
        self._check_modules(systems)
        for named in systems:
            self._check(named)
        self._check_distinct(systems)
        return tuple(systems)

    def _named(self) -> list[NamedSystem]:
        several, all_changes = self.study.models, list(self._changes())
        drafts = [
            _Draft({**self.base, MODEL: model, **changes}, changes)
            for model in several or (self.base.get(MODEL, System().model),)
            for changes in all_changes
        ]
        written = list(dict.fromkeys(draft.model for draft in drafts))
        models = dict(zip(written, model_names(written), strict=True))
        names = distinct_names(
            system_name(
                draft.changes, self.base, self.levels, models[draft.model] if several else None
            )
            for draft in drafts
        )
        # What each changes, the model aside: the same words for each model.
        aside = [{k: v for k, v in draft.changes.items() if k != MODEL} for draft in drafts]
        unique = [changes for n, changes in enumerate(aside) if changes not in aside[:n]]
        settings = distinct_names(
            system_name(changes, self.base, self.levels) for changes in unique
        )
        each = len(drafts) // (len(several) or 1)
        return [
            NamedSystem(
                name=name,
                slug=slug,
                system=self._system(draft.settings),
                changes=draft.changes,
                model=models[draft.model],
                setting=settings[unique.index(aside[n])],
                base=names[n - n % each],
            )
            for n, (draft, name, slug) in enumerate(zip(drafts, names, slugs(names), strict=True))
        ]

    def _changes(self) -> Iterator[dict[str, Value]]:
        """What systems change of their base, but for what is left out; the base first."""
        factorial = self.study.design == "factorial"
        sizes = [len(values) for values in self.levels.values()]
        count = prod(sizes) if factorial else 1 + sum(size - 1 for size in sizes)
        count *= len(self.study.models) or 1
        if count > MAX_SYSTEMS:
            fewer = "fewer models or values" if self.study.models else "fewer values"
            remedy = f"at most {MAX_SYSTEMS}: write design: vary, or {fewer}"
            raise StudyError(f"comes to {count:,} systems", ("factors",), remedy)
        yield {}
        alone = (
            {key: value}
            for key, values in self.levels.items()
            for value in values
            if value != self.base[key]
        )
        for changed in _combined(self.base, self.levels) if factorial else alone:
            settings = {**self.base, **changed}
            if not any(settings == {**settings, **left_out} for left_out in self.study.leave_out):
                yield changed

    def _system(self, settings: Mapping[str, Value]) -> System:
        nodes = [name for name in self.study.nodes if settings.get(name)]
        given = {key: value for key, value in settings.items() if key not in self.study.nodes}
        if ROLES in given:
            # Of the roles that the system asks, and of those who score.
            own, varied = _by_role(self.study.base.get(ROLES)), _of_modules(given[ROLES])
            scoring = {role: values for role, values in own.items() if role not in MODULES}
            asked = {role for role in varied if given.get(WORDS[MODULES[role]])}
            given[ROLES] = scoring | {role: varied[role] for role in varied if role in asked}
        plugins = self.plugins.settings_of(nodes, given.get("tools"), given.get("retriever"))
        return System.of(
            {
                FIELDS[key].path: self._located(key, given[key])
                for key in given
                if (key not in _MODULE_OF or given.get(WORDS[_MODULE_OF[key]]))
                and not (key == "at_most" and self._is_unbounded(given))
            }
            | {
                ("nodes",): self._located("nodes", tuple(self.study.nodes[name] for name in nodes)),
                ("settings",): plugins,
                ("keys",): self.study.keys,
                ("headers",): self.study.headers,
            }
        )

    def _is_unbounded(self, given: Mapping[str, Value]) -> bool:
        """Whether the bound on answers has no place in this protocol, while others are asked."""
        if "protocol" not in self.study.factors:
            return False
        protocol = str(given["protocol"])
        bounded = [flow for flow in FLOWS.values() if flow.at_most and protocol in flow.protocols]
        return any(flow.by(protocol).at_most is None for flow in bounded)

    def _located(self, key: str, value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(absolute_spec(spec, self.folder) for spec in value)
        return resolved(key, value, self.folder) if isinstance(value, str) else value

    def _check_left_out(self) -> None:
        for n, left_out in enumerate(self.study.leave_out):
            for key, value in left_out.items():
                place = ("leave_out", n, key)
                if key not in self.levels:
                    remedy = did_you_mean(key, self.levels)
                    raise StudyError(f"{key} is not a factor", place, remedy)
                if value not in self.levels[key]:
                    problem = f"{key} never is {shown(value)}"
                    raise StudyError(problem, place, "name one of its values")
            changed = [key for key, value in left_out.items() if self.base[key] != value]
            if not changed:
                problem = "would leave out the base" if left_out else "names no combination"
                raise StudyError(problem, ("leave_out", n), "name factors and values of others")
            if len(changed) > 1 and self.study.design != "factorial":
                problem = "leaves out nothing: no system changes several factors"
                raise StudyError(problem, ("leave_out", n), "write design: factorial")

    def _check_modules(self, systems: Sequence[NamedSystem]) -> None:
        study = self.study
        for key, setting in _MODULE_OF.items():
            if any(getattr(system.system, setting) for system in systems):
                continue
            places = [(*place, key) for place, own in self._named_roles() if key in own]
            leave = "leave it out"
            if study.base.get(key) or key in study.factors:
                places = [("base" if study.base.get(key) else "factors", key)]
                leave = f"leave out {key}"
            if places:
                module = WORDS[setting]
                problem = f"no {key} is used: {module} is off in every system"
                remedy = f"write {module}: {_on(setting)} in base, make it a factor, or {leave}"
                raise StudyError(problem, places[0], remedy)
        for name in study.nodes:
            if True not in {study.base.get(name), *study.factors.get(name, ())}:
                remedy = f"write {name}: on in base, make it a factor, or leave it out"
                raise StudyError(f"the node {name} is off in every system", ("nodes", name), remedy)

    def _named_roles(self) -> list[tuple[KeyPath, Mapping[str, Any]]]:
        factor = enumerate(self.study.factors.get(ROLES, ()))
        levels = [(("factors", ROLES, n), _by_role(value)) for n, value in factor]
        return [(("base", ROLES), _by_role(self.study.base.get(ROLES))), *levels]

    def _check(self, named: NamedSystem) -> None:
        try:
            check_parts(named.system)
        except SettingError as error:
            key = WORDS[error.setting]
            prefix = f"{key}: " if error.where == key else ""
            whose = f" (system {named.name!r})" if named.changes or self.study.models else ""
            problem = f"{prefix}{error.what}{whose}"
            raise StudyError(problem, self._place_of(named, key), error.remedy) from None
        study = self.study
        choice = ScoringChoice.parse(
            study.matcher, judge_entities=study.judge_entities, judge=study.judge
        )
        try:
            choice.resolved(named.system.model_dump())
        except InputError as error:
            key = "judge_entities" if choice.matcher == "lexical" else "matcher"
            raise StudyError(error.what, (key,), "name a model: matcher: openai:NAME") from None

    def _place_of(self, named: NamedSystem, key: str) -> KeyPath:
        if key == MODEL and self.study.models:
            return ("base", MODEL_LIST)
        if key in named.changes:
            return ("factors", key, self.study.factors[key].index(named.changes[key]))
        if key in self.study.factors and key not in self.study.base:
            return ("factors", key, 0)
        return ("base", key)

    def _check_distinct(self, systems: Sequence[NamedSystem]) -> None:
        first: dict[str, NamedSystem] = {}
        for named in systems:
            other = first.setdefault(_effective(named.system).model_dump_json(), named)
            if other is named:
                continue
            if self.study.models and named.model != other.model:
                problem = f"the models {other.model!r} and {named.model!r} are the same"
                raise StudyError(problem, ("base", MODEL_LIST), "keep one of them")
            key = list(named.changes)[-1]
            values, value = self.study.factors[key], named.changes[key]
            place = ("factors", key, values.index(value)) if value in values else ("base", key)
            remedy = f"this {key} changes nothing there: leave it out"
            setting = _MODULE_OF.get(key)
            if setting and not getattr(named.system, setting):
                module = WORDS[setting]
                on = f"write {module}: {_on(setting)} in base"
                remedy = f"{module} is off in both: {on}, or design: vary"
            problem = f"the systems {other.name!r} and {named.name!r} are the same"
            raise StudyError(problem, place, remedy)


def _by_role(value: Value) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _on(module: str) -> str:
    """What a file writes to have a module on."""
    return "on" if getattr(DEFAULT_SYSTEM, module) is False else "1"


def _of_modules(value: Value) -> dict[str, Any]:
    """Of decoding by role, that of modules: they alone are varied."""
    return {role: own for role, own in _by_role(value).items() if role in MODULES}


def _combined(
    base: Mapping[str, Value], levels: Mapping[str, Sequence[Value]]
) -> list[dict[str, Value]]:
    order, combinations = list(levels), []
    for values in product(*levels.values()):
        changes = {key: v for key, v in zip(levels, values, strict=True) if v != base[key]}
        if changes:
            combinations.append(changes)
    return sorted(combinations, key=lambda keys: (len(keys), [order.index(key) for key in keys]))


def _effective(system: System) -> System:
    """The system reduced to what its answers depend on: systems that agree in this are the same."""
    tools = tools_of(system)
    agent = ModelSpec.parse(system.model)
    specs = {role: getattr(system.roles, role) for role in MODULES}
    own = {role: str(ModelSpec.parse(spec)) for role, spec in specs.items() if spec}
    roles = Roles(**{role: spec for role, spec in own.items() if spec != str(agent)})
    retriever = retriever_of(system)
    decoding = {role: system.decoding_of(role) for role in MODULES}
    own_decoding = {role: own.identity for role, own in decoding.items() if own != system.decoding}
    update: dict[str, Any] = {
        "tools": tools, "model": str(agent), "roles": roles, "retriever": retriever,
        "role_decoding": own_decoding,
    }  # fmt: skip
    if system.prompts is not None:
        of = system.prompt_set
        own_prompts = Prompts.load(Path(system.prompts), of).digest
        update["prompts"] = None if own_prompts == Prompts.load(of=of).digest else own_prompts
    if SEARCH_TOOL not in tools:
        update |= dict.fromkeys(("corpus", "retriever", "k", "reranker"))
    if not set(tools) & set(KG_TOOLS):
        update["kg"] = None
    if not {SEARCH_TOOL, NAMES_TOOL}.intersection(tools):
        update["readings_from"] = "memory"
    return system.model_copy(update=update)
