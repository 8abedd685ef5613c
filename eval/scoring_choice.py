"""What aligns branches and settles answers when a run is scored: names alone, or models."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, Self, get_args

from branchwise.agents.spec import ModelSpec, check_ready, is_replay, located, suggested
from branchwise.corpora.errors import InputError, nearest
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.eval.bounds import GRADING_VARIANTS, JudgePairs, ScoreVariant
from branchwise.eval.judging.readiness import check_role, no_replay, role_spec
from branchwise.eval.tasks import GRADED, PUBLISHED_CODE, get_task, is_attributable, is_graded

MatcherKind = Literal["lexical", "llm", "both"]
KINDS: tuple[MatcherKind, ...] = get_args(MatcherKind)
_NEAR, _PERHAPS = 0.76, 0.65
"""How alike a misspelt kind is: "lexcal" is one, "lmm" and "llama" may be a kind or a model."""


@dataclass(frozen=True)
class ScoringChoice:
    """What the user chose for scoring.

    `matcher`: `lexical` (names alone), `llm` (a model aligns branches), or `both`, beside each
    other. `model`: the matcher's model spec. `judge_entities`: whether a model settles answers that
    normalisation and aliases do not; `judge`: its model spec. Specs that are None are filled in by
    `resolved`. `metrics`: specs of further metrics, which are plug-ins. Where answers are free text
    the judge grades them: `judge_pairs` says which pairs, `variant` how grades become scores. Other
    variants are of tasks that no model scores.
    """

    matcher: MatcherKind = "lexical"
    model: str | None = None
    judge_entities: bool = False
    judge: str | None = None
    metrics: tuple[str, ...] = ()
    judge_pairs: JudgePairs = "all"
    variant: ScoreVariant = "one-to-one"

    def __post_init__(self) -> None:
        # As a run keeps it, it is a list.
        object.__setattr__(self, "metrics", tuple(self.metrics))

    def to_json(self) -> dict[str, Any]:
        """What a run keeps of it: nothing where names alone decide and nothing is added."""
        whole = asdict(self)
        own = {name: whole.pop(name) for name in ("judge_pairs", "variant")}
        del whole["metrics"]
        kept = whole if self.asks else {}
        kept |= {name: value for name, value in own.items() if value != getattr(BY_NAMES, name)}
        return kept | ({"metrics": list(self.metrics)} if self.metrics else {})

    @classmethod
    def parse(
        cls,
        matcher: str,
        *,
        judge_entities: bool = False,
        judge: str | None = None,
        metrics: Iterable[str] = (),
        judge_pairs: JudgePairs | None = None,
        variant: ScoreVariant | None = None,
    ) -> Self:
        """Read `--matcher`: a kind, a model spec (which means `llm` with it), or `both:SPEC`.

        `judge` alone asks for judging, too. Raises InputError for anything else.
        """
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
        if not asked and (judge_pairs or variant in GRADING_VARIANTS):
            what = f"{'--judge-pairs' if judge_pairs else '--variant'} has no effect"
            raise InputError(f"{what}: nothing is graded", remedy=_remedy("judge"))
        own = {"judge_pairs": judge_pairs, "variant": variant}
        graded: dict[str, Any] = {name: value for name, value in own.items() if value}
        return cls(chosen, model or None, asked, judge, tuple(metrics), **graded)

    @property
    def asks(self) -> bool:
        """Whether any model is needed."""
        return self.matcher != "lexical" or self.judge_entities

    def check_task(self, task: str, where: str | None = None) -> None:
        """Raise InputError if a model is to do what has no meaning for the task's answers."""
        if self.variant not in GRADING_VARIANTS:
            _check_variant(task, self.variant, where)
        grades = (self.judge_pairs, self.variant) != (BY_NAMES.judge_pairs, BY_NAMES.variant)
        if is_graded(task):
            if self.matcher != "lexical":
                what = f"the task {task} is not matched by a model"
                raise InputError(what, where=where, remedy="leave out --matcher, or name a --judge")
        elif grades and self.asks:
            what = f"the task {task} is not graded by a model"
            raise InputError(what, where=where, remedy="leave out --judge-pairs and --variant")
        elif self.asks and not is_attributable(task):
            raise InputError(
                f"the task {task} is not scored by a model",
                where=where,
                remedy="leave out --matcher and --judge-entities",
            )

    def variant_of(self, task: str) -> str:
        """How the task's items are scored (`get_task`); empty for its own way."""
        if self.variant not in GRADING_VARIANTS:
            return self.variant
        if not (self.judge_entities and is_graded(task)):
            return ""
        return PUBLISHED_CODE if self.variant == PUBLISHED_CODE else GRADED

    def check_ready(self, keys: Keys = NO_KEYS) -> None:
        """Raise InputError where a model of the resolved choice could not be asked (`check_ready`
        of agents/spec.py), with advice that names its option."""
        for role, spec in (("matcher", self.model), ("judge", self.judge)):
            if spec is not None:
                check_role(role, ModelSpec.parse(spec), partial(check_ready, keys=keys))

    @property
    def options(self) -> str:
        """As it is written on the command line."""
        matcher = f"{self.matcher}:{self.model}" if self.model else self.matcher
        judge = f" --judge {self.judge}" if self.judge else " --judge-entities"
        pairs = f" --judge-pairs {self.judge_pairs}" if self.judge_pairs != "all" else ""
        variant = f" --variant {self.variant}" if self.variant != BY_NAMES.variant else ""
        judged = f"{judge}{pairs}" if self.judge_entities else ""
        return f"--matcher {matcher}{judged}{variant}"

    def resolved(self, system: Mapping[str, Any] | None) -> Self:
        """With the models filled in: the run's own for the role, else the run's agent.

        Raises InputError if there is none, or if it is `offline`, which cannot judge.
        """
        matcher = self._model("matcher", self.model, system) if self.matcher != "lexical" else None
        judge = self._model("judge", self.judge, system) if self.judge_entities else None
        return replace(self, model=matcher, judge=judge)

    def _model(self, role: str, named: str | None, system: Mapping[str, Any] | None) -> str:
        settings = system or {}
        spec = named or (settings.get("roles") or {}).get(role) or settings.get("model")
        if spec is None:
            raise InputError(f"no model is named as {role}", remedy=_remedy(role))
        if spec == "offline":
            raise InputError(
                f"offline cannot be the {role}: it is not a model", remedy=_remedy(role)
            )
        if is_replay(str(spec)):
            raise no_replay(role)
        return located(str(spec))


BY_NAMES = ScoringChoice()
"""The default: no model takes part."""


def _check_variant(task: str, variant: ScoreVariant, where: str | None) -> None:
    try:
        get_task(task, variant)
    except InputError as error:
        raise InputError(error.what, where=where, remedy=error.remedy) from None


def _remedy(role: str) -> str:
    return f"name one, for example --{role} openai:gpt-5-mini"


def _kind_or_model(text: str) -> tuple[str, str]:
    if text in KINDS:
        return text, ""
    if ":" in text or text == "offline":
        return "llm", text
    near: list[str] = nearest(text, KINDS, cutoff=_PERHAPS)
    spec = suggested(text)
    if spec not in (None, "offline") and not nearest(text, KINDS, cutoff=_NEAR):
        near.append(str(spec))
    known = "lexical, llm, both, a model such as openai:gpt-5-mini, or both:MODEL"
    remedy = f"did you mean {' or '.join(near)}?" if near else f"write {known}"
    raise InputError(f"unknown matcher {text[:80]!r}", remedy=remedy)
