"""What a user chooses of a run and of its scoring, each option declared once.

The command line, Python and study files are made of these models, as they are of `System`.
"""

import os
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)

from branchwise.agents.decoding import Decoding
from branchwise.agents.outages import PATIENCE, Outages
from branchwise.agents.refusals import ApiChoice
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.numbers import EXAMPLE, MOST_SECONDS, read_duration
from branchwise.base.setting import NamedSettings, Setting, Text, refused
from branchwise.eval.scoring_choice import CheckChoice, JudgePairs, ScoringChoice, check_of
from branchwise.eval.selection import CONCURRENCY, MAX_CONCURRENCY, MAX_EPOCHS, Selection, Shard
from branchwise.eval.tasks import TASKS, known_variants
from branchwise.graphs.own_settings import SCORERS, RoleDecoding, asked_by, checked_roles
from branchwise.runs.costs.prices import Prices
from branchwise.runs.on_ray.connection import RayPlace

SCORING = "Scoring"
ESTIMATE_FROM = "--estimate-from"
_MOST_QUESTIONS = 2**31


def _seconds(value: Any) -> float | None:
    try:
        return None if value is None else read_duration(value)
    except InputError as error:
        raise refused(f"is {error.what.partition(' is ')[2]}", EXAMPLE) from None


def _scorers(value: Any) -> RoleDecoding:
    roles = checked_roles(value)
    for role in roles:
        if role not in SCORERS:
            raise refused(f"{role} takes no part in scoring", f"set {' or '.join(SCORERS)}")
    return roles


def _variant(value: str | None) -> str | None:
    known = known_variants()
    if value is not None and value not in known:
        raise refused(f"unknown variant {value[:80]!r}", did_you_mean(value, known))
    return value


class _Options(BaseModel, metaclass=NamedSettings):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


Concurrency = Annotated[
    int, Field(ge=1, le=MAX_CONCURRENCY), Setting("Questions at a time.", changes="requests")
]
Pilot = Annotated[
    int | None,
    Field(ge=1),
    Setting(
        "Ask only this many questions, say what all are expected to cost, and stop. They are "
        "kept: the same command without --pilot goes on.",
        metavar="N",
    ),
]


class PatienceOptions(_Options):
    """`patience`: how long a server that is gone is waited for, in seconds or as "2m"."""

    patience: Annotated[
        float | None,
        BeforeValidator(_seconds),
        Setting(
            "How long to wait for a server that is gone, before stopping: 90s, 10m. 0: not at "
            "all, its questions fail. Default: 2m.",
            metavar="DURATION",
        ),
    ] = None

    @property
    def outages(self) -> Outages:
        """The watches of servers, made anew at each call."""
        return Outages(PATIENCE if self.patience is None else self.patience)


class PriceOptions(_Options):
    """`prices`: a YAML file with model prices, before the built-in ones."""

    prices: Annotated[
        Text | None,
        BeforeValidator(lambda path: os.fspath(path) if isinstance(path, os.PathLike) else path),
        Setting(
            "YAML file with model prices that override the built-in ones.",
            panel=SCORING,
            holds="folder",
        ),
    ] = None

    @property
    def price_file(self) -> Path | None:
        return Path(self.prices) if self.prices else None

    @property
    def priced(self) -> Prices:
        """The built-in prices, overridden by the file's. Raises InputError."""
        return Prices.load(self.price_file)


class CostOptions(PatienceOptions, PriceOptions):
    """`max_cost`: in USD, the most that requests may cost."""

    max_cost: Annotated[
        float | None,
        Field(ge=0, le=1_000_000, allow_inf_nan=False),
        Setting(
            "USD: stop before the cost exceeds this. Needs prices and a limit of output tokens."
        ),
    ] = None


class PlaceOptions(CostOptions):
    """Where questions are answered. `on`: "ray" or "ray://HOST:PORT", by as many `workers`
    (default: one a core)."""

    on: Annotated[
        Text | None,
        Setting(
            "Where to answer: ray (all cores of this machine) or ray://HOST:PORT (a cluster). "
            "Default: one core.",
            metavar="PLACE",
        ),
    ] = None
    workers: Annotated[
        int | None, Field(ge=1), Setting("With --on: processes that answer. Default: one a core.")
    ] = None

    @field_validator("workers")
    @classmethod
    def _has_place(cls, workers: int | None, info: ValidationInfo) -> int | None:
        if workers is not None and info.data.get("on") is None:
            raise refused("has no effect alone", "add --on ray")
        return workers

    @property
    def place(self) -> RayPlace | None:
        """Where Ray answers; None: this process does. Raises InputError, also without Ray."""
        return None if self.on is None else RayPlace.parse(self.on, self.workers)


class PaceOptions(PlaceOptions):
    """Where questions are answered, and how many at a time."""

    concurrency: Concurrency = CONCURRENCY


class StudyOptions(PlaceOptions):
    """What is chosen of a study beside its file: `concurrency` is by default the file's."""

    concurrency: Annotated[
        int | None,
        Field(ge=1, le=MAX_CONCURRENCY),
        Setting("Questions at a time, over all systems. Default: the study's."),
    ] = None
    pilot: Pilot = None


class QuestionOptions(_Options):
    """Which questions are asked, as what `task` (default: their own), how many times each."""

    task: Annotated[
        Text | None, Setting("Task, if it is not the question set's own.", words=lambda: TASKS)
    ] = None
    limit: Annotated[
        int | None, Field(ge=1, le=_MOST_QUESTIONS), Setting("Run at most this many questions.")
    ] = None
    sample: Annotated[
        int | None,
        Field(ge=1, le=_MOST_QUESTIONS),
        Setting("Run this many questions, drawn by --sample-seed, in their order."),
    ] = None
    sample_seed: Annotated[
        int, Field(ge=0, le=_MOST_QUESTIONS), Setting("The same seed draws the same questions.")
    ] = 0
    epochs: Annotated[
        int, Field(ge=1, le=MAX_EPOCHS), Setting("Number of times that each question is answered.")
    ] = 1

    def selection(
        self, ids: Collection[str] | None = None, shard: Shard | None = None
    ) -> Selection:
        return Selection(ids, self.limit, shard, self.sample, self.sample_seed)


class RunOptions(PaceOptions, QuestionOptions):
    """All that is chosen of a run besides its system and its scoring.

    `shard`: of the chosen questions only a part, "1/4" to "4/4" for four. `pilot`: only so many
    questions now; the same run without it goes on in the same folder.
    """

    shard: Annotated[
        str | None,
        Setting(
            "Run only part I of N of the questions: 1/4 to 4/4 on four machines. "
            "`branchwise merge` joins their runs.",
            metavar="I/N",
        ),
    ] = None
    pilot: Pilot = None

    @property
    def part(self) -> Shard | None:
        """The shard; None: all questions. Raises InputError."""
        return None if self.shard is None else Shard.parse(self.shard)


class MatchOptions(_Options):
    """What aligns branches and settles answers: names alone, or models."""

    matcher: Annotated[
        Text,
        Setting(
            "How to align branches: lexical (names), llm (the run's model) or both; "
            "MODEL, llm:MODEL or both:MODEL name another model, such as openai:gpt-6-luna.",
            panel=SCORING,
            metavar="WHO",
            shows_default=False,
            changes="scores",
        ),
    ] = "lexical"
    judge_entities: Annotated[
        bool,
        Setting(
            "Let a model judge answers that spelling and aliases leave open.",
            panel=SCORING,
            flag="--judge-entities",
            changes="scores",
        ),
    ] = False
    judge: Annotated[
        Text | None,
        Setting(
            "Model that judges entities (implies --judge-entities), or grades free text.",
            panel=SCORING,
            changes="scores",
        ),
    ] = None

    @property
    def choice(self) -> ScoringChoice:
        """Raises InputError for a value that is neither a kind of matcher nor a model."""
        return ScoringChoice.parse(
            self.matcher, judge_entities=self.judge_entities, judge=self.judge
        )

    @property
    def chosen(self) -> ScoringChoice | None:
        """The choice that the options make; None if they make none: then the run's own applies."""
        return replace(self.choice, metrics=()) if self.model_fields_set & _CHOOSING else None


def listed_metrics(given: Any) -> tuple[Any, ...]:
    """Metrics as a tuple, also one that is given by itself."""
    is_one = isinstance(given, str) or not isinstance(given, Iterable)
    return (given,) if is_one else tuple(given)


class ScoreOptions(MatchOptions):
    """How a run is scored; `metrics`: specs of further ones."""

    judge_pairs: Annotated[
        JudgePairs | None,
        Setting(
            "Free text: grade all pairs of a question's properties, or those that shared tokens "
            "align.",
            panel=SCORING,
            changes="scores",
        ),
    ] = None
    variant: Annotated[
        str | None,
        AfterValidator(_variant),
        Setting(
            "Free text: align graded properties one-to-one, or as CondAmbigQA's paper-code or "
            "rewrite-code does. Options and answers to them: compare by substring, subsequence, or "
            "as CAmbigNQ's published-code does. Conditional answers: F1 summed over all questions, "
            "or by group-f1.",
            panel=SCORING,
            words=known_variants,
            changes="scores",
        ),
    ] = None
    metrics: Annotated[
        tuple[Any, ...],
        BeforeValidator(listed_metrics),
        Setting(
            "Additional metric: file.py:NAME, module:NAME, the name of an installed one, or "
            "for questions back bertscore:FOLDER[@LAYER]; repeatable.",
            panel=SCORING,
            flag="--metric",
            metavar="SPEC",
            changes="scores",
        ),
    ] = ()

    @property
    def choice(self) -> ScoringChoice:
        """As of `MatchOptions`, with the metrics."""
        return ScoringChoice.parse(
            self.matcher,
            judge_entities=self.judge_entities,
            judge=self.judge,
            metrics=self.metrics,
            judge_pairs=self.judge_pairs,
            variant=self.variant,
        )


_CHOOSING = frozenset(ScoreOptions.model_fields) - {"metrics"}


class JudgingOptions(ScoreOptions, CostOptions):
    """How a run, or a file of predictions, is scored now, and how models are asked for it.

    `judge_check`: let the judge grade this many items twice; `judge_beside`: compare with another
    model's grades instead. `roles`: decoding of matcher and judge; `api`: the protocol that they
    are asked by (default: the run's). `scan_corpus`: search the whole corpus for answers whose
    passages gold does not name. `timeout` in seconds.
    """

    judge_check: Annotated[
        int | None,
        Field(ge=1),
        Setting(
            "Free text: let the judge grade this many items twice, and say how far its grades "
            "agree.",
            panel=SCORING,
            metavar="N",
        ),
    ] = None
    judge_beside: Annotated[
        Text | None,
        Setting(
            "With --judge-check: compare with another model's grades instead.",
            panel=SCORING,
            metavar="MODEL",
        ),
    ] = None
    roles: Annotated[
        RoleDecoding,
        BeforeValidator(_scorers),
        Setting(
            "Decoding of matcher or judge, repeatable: judge.temperature=0.",
            panel=SCORING,
            flag="--role",
            metavar="ROLE.KEY=VALUE",
        ),
    ] = {}
    api: Annotated[
        ApiChoice | None,
        Setting(
            "The protocol that matcher and judge are asked by. Default: the run's.", panel=SCORING
        ),
    ] = None
    scan_corpus: Annotated[
        bool,
        Setting(
            "Search the whole corpus for answers whose passages gold does not name, also where "
            "that takes over a minute.",
            panel=SCORING,
            flag="--scan-corpus",
        ),
    ] = False
    concurrency: Annotated[
        int, Field(ge=1, le=MAX_CONCURRENCY), Setting("Concurrent requests to matcher and judge.")
    ] = CONCURRENCY
    timeout: Annotated[
        float,
        Field(ge=0.1, le=MOST_SECONDS),
        Setting("Time limit in seconds of a request to matcher or judge.", panel=SCORING),
    ] = 120.0
    attempts: Annotated[
        int, Field(ge=1, le=100), Setting("Maximum number of attempts per request.", panel=SCORING)
    ] = 6

    @property
    def check(self) -> CheckChoice | None:
        """What is graded twice. Raises InputError for a model that cannot judge."""
        return check_of(self.judge_check, self.judge_beside)

    @property
    def decoding(self) -> Decoding:
        """How matcher and judge are asked."""
        return Decoding(timeout=self.timeout, attempts=self.attempts)

    @property
    def scorers(self) -> RoleDecoding:
        """The decoding of matcher and judge by role, their protocol included."""
        return asked_by(self.api, self.roles)
