"""What a run is expected to take, from what its system took for some questions: a pilot's, or an
earlier run's.

The estimate of a total is the sample's mean times the items, with the cost of those that the run
keeps as it is. Its range is mean * exp(+-t s / (m sqrt(n))), m and s the mean and the standard
deviation of n items, t of Student's distribution: costs are skewed, and never below 0.
From five answers, nothing cleverer came nearer in simulations.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from branchwise.base.errors import InputError
from branchwise.corpora.questions import Question
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import run_costs
from branchwise.runs.options import ESTIMATE_FROM
from branchwise.runs.store import open_run
from branchwise.runs.store.connection import DATABASE
from branchwise.runs.studies.folder import STUDY_FILE, folder_runs

_MARK = "pilot"


def pilot_ids(questions: Sequence[Question], count: int) -> frozenset[str]:
    """Questions drawn by the ids alone, one of each share, from few gold answers to many."""
    ordered = sorted(questions, key=_size)
    shares = min(count, len(ordered))
    drawn = random.Random("\n".join(sorted(question.id for question in questions)))
    bounds = [len(ordered) * n // shares for n in range(shares + 1)]
    chosen = (ordered[drawn.randrange(first, end)] for first, end in pairwise(bounds))
    return frozenset(question.id for question in chosen)


def _size(question: Question) -> tuple[int, int, str]:
    answers = sum(len(branch.answers) for branch in question.branches)
    return answers, len(question.question), question.id


def mark_pilot(run: Path) -> None:
    (run / _MARK).touch()


def unmark_pilot(run: Path) -> None:
    (run / _MARK).unlink(missing_ok=True)


def is_pilot(run: Path) -> bool:
    """Whether a run folder holds a pilot so far, which the same command continues."""
    return (run / _MARK).is_file()


_T_90 = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83, 1.81, 1.80, 1.78, 1.77, 1.76, 1.75)
"""Student's t with 1, 2, ... degrees of freedom of a 90% interval; beyond them that of a normal."""
_NORMAL_90 = 1.64


@dataclass(frozen=True)
class Expected:
    """A total, and the range in which it is with a probability of about 90%."""

    value: float
    low: float
    high: float

    def plus(self, other: "Expected") -> "Expected":
        """The sum: systems that answer the same questions are off in the same direction."""
        return Expected(self.value + other.value, self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Estimate:
    """What all items are expected to take, from `sample` of them: model `calls` by role, `seconds`
    from now on, `cost` in USD (None: unknown)."""

    sample: int
    calls: Mapping[str, float]
    tool_calls: float
    tokens: Expected
    cost: Expected | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        cost = vars(self.cost) if self.cost else None
        return {**vars(self), "calls": dict(self.calls), "tokens": vars(self.tokens), "cost": cost}


@dataclass(frozen=True)
class Sample:
    """Answered items of a system: their outcomes. `kept`: they are the run's own items."""

    system: Mapping[str, Any]
    outcomes: tuple[Mapping[str, Any], ...]
    kept: bool

    @classmethod
    def read(cls, run: Path, digest: str, questions: str, *, own: bool) -> "Sample | None":
        """The sample of a run; None if it is of another system, or nothing has been answered.
        `questions`: the digest of those that it is for; `own`: the run may be the one that goes
        on, if these are its."""
        with closing(open_run(run)) as reader:
            if reader.meta["system_digest"] != digest:
                return None
            kept = own and reader.meta["questions_digest"] == questions
            rows = [row.outcome for row in reader.items() if row.status == "done"]
            outcomes = tuple(row for row in rows if row is not None and "usage" in row)
            return cls(reader.system, outcomes, kept) if outcomes else None

    def estimate(self, items: int, prices: Prices, concurrency: int) -> Estimate:
        """What `items` are expected to take, `concurrency` at a time."""
        done = len(self.outcomes) if self.kept else 0
        costs = [run_costs([outcome], self.system, prices) for outcome in self.outcomes]
        tokens = [float(cost.usage.input + cost.usage.output) for cost in costs]
        usd = [cost.cost for cost in costs if cost.cost is not None]
        of_all = run_costs(self.outcomes, self.system, prices)
        share = items / len(self.outcomes)
        seconds = fmean(float(outcome.get("seconds", 0.0)) for outcome in self.outcomes)
        left = max(0, items - done)
        return Estimate(
            len(self.outcomes),
            {role.role: role.usage.calls * share for role in of_all.roles},
            sum(outcome.get("calls", 0) for outcome in self.outcomes) * share,
            _expected(tokens, done, left),
            _expected(usd, done, left) if len(usd) == len(costs) else None,
            seconds * left / min(concurrency, left or 1),
        )


def _expected(values: Sequence[float], done: int, left: int) -> Expected:
    """The total of the first `done` values, and of `left` more like all of them."""
    paid, mean = math.fsum(values[:done]), fmean(values)
    # One item says nothing of how they differ: a factor of 2 each way.
    spread = math.log(2.0) if mean else 0.0
    if len(values) > 1 and mean:
        freedom = len(values) - 1
        t = _T_90[freedom - 1] if freedom <= len(_T_90) else _NORMAL_90
        spread = t * (stdev(values) / mean / math.sqrt(len(values)))
    factor = math.exp(spread)
    return Expected(paid + mean * left, paid + mean * left / factor, paid + mean * left * factor)


def together(estimates: Iterable[Estimate | None]) -> Estimate | None:
    """The estimate of several systems; None if one has none."""
    every = list(estimates)
    known = [estimate for estimate in every if estimate is not None]
    if not known or len(known) < len(every):
        return None
    calls: dict[str, float] = {}
    tokens, cost = known[0].tokens, known[0].cost
    for n, estimate in enumerate(known):
        for role, count in estimate.calls.items():
            calls[role] = calls.get(role, 0.0) + count
        if n:
            tokens = tokens.plus(estimate.tokens)
            cost = cost.plus(estimate.cost) if cost and estimate.cost else None
    sample = min(estimate.sample for estimate in known)
    tool_calls = sum(estimate.tool_calls for estimate in known)
    seconds = sum(estimate.seconds for estimate in known)
    return Estimate(sample, calls, tool_calls, tokens, cost, seconds)


def samples_of(
    runs: Mapping[str, tuple[str, str]], folder: Path | None, source: Path | None
) -> dict[str, Sample]:
    """Samples for runs by name, from `source` or a pilot in `folder`. `runs`: the digests of their
    systems and questions. Raises InputError."""
    place = source or folder
    if place is None:
        return {}
    if source is None and not any((place / file).is_file() for file in (STUDY_FILE, DATABASE)):
        return {}
    samples: dict[str, Sample] = {}
    before = [run for run, _ in folder_runs(place)]
    for name, digests in runs.items():
        of_runs = (Sample.read(run, *digests, own=source is None) for run in before)
        if known := [sample for sample in of_runs if sample is not None]:
            samples[name] = max(known, key=lambda each: (each.kept, len(each.outcomes)))
    if source is not None and not samples:
        problem = f"it has no answers of {'these systems' if len(runs) > 1 else 'this system'}"
        remedy = "name a run of the same model, settings and corpus, or ask a few: --pilot 5"
        raise InputError(problem, where=f"{ESTIMATE_FROM} {source}", remedy=remedy)
    return samples
