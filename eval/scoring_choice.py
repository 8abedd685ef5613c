"""What aligns branches and settles answers when a run is scored: names alone, or models."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

from branchwise.agents.spec import ModelSpec, check_ready, is_replay, located, suggested
from branchwise.base.errors import InputError, SettingError, nearest
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.eval.judging.consultant import check_role, no_replay, role_spec
from branchwise.eval.tasks import get_task, is_attributable, is_graded, variants_of

JudgePairs = Literal["all", "aligned"]
"""Which pairs of a question's properties are graded: all, or those that token F1 aligns."""
GradedPairs = JudgePairs | Literal["placed"]
"""The same, or those by position, which is what a variant asks for."""
MatcherKind = Literal["lexical", "llm", "both"]
KINDS: tuple[MatcherKind, ...] = get_args(MatcherKind)
_NEAR, _PERHAPS = 0.76, 0.65
"""How alike a misspelt kind is: "lexcal" is one, "lmm" and "llama" may be a kind or a model."""


@dataclass(frozen=True)
class ScoringChoice:
    """What the user chose for scoring.

    `matcher`: `lexical` (names alone), `llm` (a model aligns branches), or `both`, beside each
    other; `model`: its spec. `judge_entities`: whether a model settles answers that normalisation
    and aliases do not, or grades free text (`judge_pairs`: which pairs); `judge`: its spec. Specs
    that are None are filled in by `resolved`. `metrics`: specs of plug-ins. `variant`: how a task
    is scored that is scored in several ways; None: in its own way.
    """

    matcher: MatcherKind = "lexical"
    model: str | None = None
    judge_entities: bool = False
    judge: str | None = None
    metrics: tuple[str, ...] = ()
    judge_pairs: JudgePairs = "all"
    variant: str | None = None

    def __post_init__(self) -> None:
        # As a run keeps it, it is a list.
        object.__setattr__(self, "metrics", tuple(self.metrics))

    def to_json(self) -> dict[str, Any]:
        """What a run keeps of it: nothing where names alone decide and nothing is added."""
        later = ("judge_pairs", "variant", "metrics")
        settings = asdict(self) | {"metrics": list(self.metrics)}
        kept = {name: value for name, value in settings.items() if name not in later}
        changed = {k: settings[k] for k in later if getattr(self, k) != getattr(BY_NAMES, k)}
        return (kept if self.asks else {}) | changed

    @classmethod
    def parse(
        cls,
        matcher: str,
        *,
        judge_entities: bool = False,
        judge: str | None = None,
        metrics: Iterable[str] = (),
        judge_pairs: JudgePairs | None = None,
        variant: str | None = None,
    ) -> Self:
        """Read `--matcher`: a kind, a model spec (which means `llm` with it), or `both:SPEC`. A
        `judge` alone asks for judging, too. Raises InputError for anything else."""
        kind, colon, model = matcher.strip().partition(":")
        if kind not in ("llm", "both"):
            (kind, model), colon = _kind_or_model(matcher.strip()), ""
        # An empty name, perhaps of a variable that is not set, is none to fall back from.
        named = {"matcher": model if model or colon else None, "judge": judge}
        for role, spec in named.items():
            if spec is not None:
                role_spec(role, spec)
        chosen: MatcherKind = next(known for known in KINDS if known == kind)
        asked = judge_entities or judge is not None
        if judge_pairs and not asked:
            problem = "--judge-pairs has no effect: nothing is graded"
            raise InputError(problem, remedy=_remedy("judge"))
        pairs = judge_pairs or BY_NAMES.judge_pairs
        return cls(chosen, model or None, asked, judge, tuple(metrics), pairs, variant or None)

    @property
    def asks(self) -> bool:
        return self.matcher != "lexical" or self.judge_entities

    def check_task(self, task: str, where: str | None = None) -> None:
        """Raise InputError if the task is not scored in such a way, or not by a model."""
        known = variants_of(task)
        if self.variant is not None and self.variant not in known:
            ways = f"its variants are {', '.join(known)}" if known else "leave it out"
            if now := get_task(task).former_variants.get(self.variant):
                ways = f"it is called {now} now; {ways}"
            problem = f"the task {task} has no variant {self.variant!r}"
            raise SettingError("variant", problem, where=where, remedy=ways)
        if self.variant is not None and is_graded(task) and not self.judge_entities:
            problem = f"the variant {self.variant} has no effect: nothing is graded"
            raise SettingError("variant", problem, where=where, remedy=_remedy("judge"))
        if self.judge_pairs != BY_NAMES.judge_pairs and self.pairs_of(task) == "placed":
            problem = f"judge_pairs has no effect: the variant {self.variant} pairs by position"
            raise SettingError("judge_pairs", problem, where=where, remedy="leave it out")
        if is_graded(task):
            if self.matcher != "lexical":
                problem = f"the task {task} is not matched by a model"
                raise InputError(
                    problem, where=where, remedy="leave out --matcher, or name a --judge"
                )
        elif self.judge_pairs != BY_NAMES.judge_pairs:
            problem = f"the task {task} is not graded by a model"
            raise InputError(problem, where=where, remedy="leave out --judge-pairs")
        elif self.asks and not is_attributable(task):
            problem = f"the task {task} is not scored by a model"
            remedy = "leave out --matcher and --judge-entities"
            raise InputError(problem, where=where, remedy=remedy)

    def variant_of(self, task: str) -> str:
        """How the task's items are scored (`get_task`); empty for its own way."""
        graded = get_task(task).graded_variant if self.judge_entities else ""
        named = self.variant or graded
        # Scores by a task's own way are the same ones under any name.
        return "" if get_task(task, named) == get_task(task) else named

    def pairs_of(self, task: str) -> GradedPairs:
        """Which pairs of the task's properties a judge grades."""
        by_place = get_task(task, self.variant_of(task)).pairs_by_place
        return "placed" if by_place else self.judge_pairs

    def check_ready(self, keys: Keys = NO_KEYS) -> None:
        """Raise InputError where a model of the resolved choice could not be asked (`check_ready`
        of agents/spec.py), with advice that names its option."""
        for role, spec in (("matcher", self.model), ("judge", self.judge)):
            if spec is not None:
                check_role(role, ModelSpec.parse(spec), partial(check_ready, keys=keys))

    @property
    def options(self) -> str:
        matcher = f"{self.matcher}:{self.model}" if self.model else self.matcher
        judge = f" --judge {self.judge}" if self.judge else " --judge-entities"
        pairs = f" --judge-pairs {self.judge_pairs}" if self.judge_pairs != "all" else ""
        variant = f" --variant {self.variant}" if self.variant else ""
        judged = f"{judge}{pairs}" if self.judge_entities else ""
        return f"--matcher {matcher}{judged}{variant}"

    def resolved(self, system: Mapping[str, Any] | None) -> Self:
        """With the models filled in: the run's own for the role, else the run's agent. Raises
        InputError if there is none, or if it is `offline`, which cannot judge."""
        matcher = self._model("matcher", self.model, system) if self.matcher != "lexical" else None
        judge = self._model("judge", self.judge, system) if self.judge_entities else None
        return replace(self, model=matcher, judge=judge)

    def _model(self, role: str, named: str | None, system: Mapping[str, Any] | None) -> str:
        settings = system or {}
        spec = named or (settings.get("roles") or {}).get(role) or settings.get("model")
        if spec is None:
            raise InputError(f"no model is named as {role}", remedy=_remedy(role))
        if spec == "offline":
            problem = f"offline cannot be the {role}: it is not a model"
            raise InputError(problem, remedy=_remedy(role))
        if is_replay(str(spec)):
            raise no_replay(role)
        return located(str(spec))


BY_NAMES = ScoringChoice()
"""The default: no model takes part."""


def _remedy(role: str) -> str:
    return f"name one, for example --{role} openai:gpt-6-luna"


def _kind_or_model(text: str) -> tuple[str, str]:
    if text in KINDS:
        return text, ""
    if ":" in text or text == "offline":
        return "llm", text
    near: list[str] = nearest(text, KINDS, cutoff=_PERHAPS)
    spec = suggested(text)
    if spec not in (None, "offline") and not nearest(text, KINDS, cutoff=_NEAR):
        near.append(str(spec))
    known = "lexical, llm, both, a model such as openai:gpt-6-luna, or both:MODEL"
    remedy = f"did you mean {' or '.join(near)}?" if near else f"write {known}"
    raise InputError(f"unknown matcher {text[:80]!r}", remedy=remedy)


class CheckChoice(NamedTuple):
    """How many `items` are graded twice; `beside`: by which other model (None: the same)."""

    items: int
    beside: str | None = None

    @property
    def options(self) -> str:
        beside = f" --judge-beside {self.beside}" if self.beside else ""
        return f"--judge-check {self.items}{beside}"

    def require_grades(self, choice: ScoringChoice, task: str) -> None:
        if not (choice.judge_entities and is_graded(task)):
            problem = f"{self.options.split()[0]} has no effect: nothing is graded"
            raise InputError(problem, remedy="name a --judge, for a task with answers in free text")


def check_of(items: int | None, beside: str | None) -> CheckChoice | None:
    """What is to be graded twice. Raises InputError for a model that cannot judge."""
    if beside is not None:
        role_spec("judge-beside", beside)
        beside = ScoringChoice(judge_entities=True, judge=beside).resolved(None).judge
    if items is not None:
        return CheckChoice(items, beside)
    if beside is not None:
        remedy = "say how many items to compare: --judge-check N"
        raise InputError("--judge-beside has no effect alone", remedy=remedy)
    return None
