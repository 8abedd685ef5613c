"""A scored run, saved in its store and reused while store, settings, prices and code are the same.

Only scores by names alone are saved: what models judged is kept reply by reply (`eval.judging`),
and what a plug-in measures may depend on anything."""

import functools
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from branchwise.base.errors import warn
from branchwise.eval.breakdowns import Places, groupings_of
from branchwise.eval.ceilings import EFFORTS, CeilingScores, Curve, Effort
from branchwise.eval.epochs import EpochSpread
from branchwise.eval.errors.item_errors import ErrorTotals, ItemErrors
from branchwise.eval.errors.module_work import ModuleWork
from branchwise.eval.grouping import BinPlace
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import ItemScore, Scores
from branchwise.eval.tasks import get_task
from branchwise.runs.costs.usage import Costs, OmittedField, RemarkedReplies
from branchwise.runs.scoring.scored import Analysis, ScoredAnswers, TracedRun
from branchwise.runs.store import StoreError
from branchwise.runs.store.results import keep_reach, save_scored_run, save_scores

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SCORED_BY = ("base", "trace", "kg", "corpora", "tools", "agents", "graphs", "eval", "runs")
_LIBRARIES = ("numpy", "scipy", "sacrebleu", "pydantic")


class SavedPlaces(NamedTuple):
    """The bins of items by a property: all different ones, and which of them each item has."""

    bins: tuple[tuple[BinPlace, ...], ...]
    items: tuple[int, ...]

    @classmethod
    def of_rows(cls, rows: Iterable[ItemScore], places: Places) -> "SavedPlaces":
        places_of_rows = [tuple(places[row.id, row.epoch]) for row in rows]
        numbers = {bins: number for number, bins in enumerate(dict.fromkeys(places_of_rows))}
        return cls(tuple(numbers), tuple(map(numbers.__getitem__, places_of_rows)))

    def by_item(self, rows: Iterable[ItemScore]) -> Places:
        numbered = zip(rows, self.items, strict=True)
        return {(row.id, row.epoch): self.bins[number] for row, number in numbered}


@dataclass(frozen=True)
class SavedScores:
    """What `ScoredAnswers` of a run hold, without items; `of`: digest of what they were made of."""

    of: str
    scores: Scores
    costs: Costs
    modules: ModuleWork
    left_out: tuple[OmittedField, ...]
    remarks: tuple[RemarkedReplies, ...]
    errors: ErrorTotals | None = None
    ceilings: CeilingScores | None = None
    epochs: EpochSpread | None = None
    right: Mapping[str, int] = field(default_factory=dict)
    curves: Mapping[Effort, Curve] = field(default_factory=dict)
    places: Mapping[str, SavedPlaces] = field(default_factory=dict)

    @classmethod
    def of_run(cls, of: str, run: ScoredAnswers) -> "SavedScores":
        analysis = run.analysis
        saved = cls(of, run.scores, run.costs, run.modules, run.left_out, run.remarks)
        if analysis is None:
            return saved
        return replace(
            saved,
            errors=analysis.errors,
            ceilings=analysis.ceilings,
            epochs=analysis.epochs,
            right=analysis.right,
            curves={by: analysis.curve(by) for by in EFFORTS},
            places={
                by: SavedPlaces.of_rows(run.scores.items, analysis.places(by))
                for by in groupings_of(analysis.task)
            },
        )

    @classmethod
    def read(cls, body: bytes | None) -> "SavedScores | None":
        """What `to_bytes` wrote; None for anything else."""
        try:
            return None if body is None else _adapter().validate_json(body)
        except ValueError:
            return None

    def to_bytes(self) -> bytes:
        return _adapter().dump_json(self)

    def analysis(
        self,
        read: Callable[[], TracedRun],
        read_errors: Callable[[], tuple[ItemErrors, ...]],
        read_answered: Callable[[], Sequence[AnsweredItem]],
    ) -> Analysis | None:
        """The run's analysis; the readers give its items with traces, errors, and items without."""
        if self.errors is None or self.ceilings is None:
            return None
        task, rows = get_task(self.scores.scorer.task), self.scores.items
        analysis = Analysis(read, task, rows, read_errors=read_errors, read_answered=read_answered)
        # As computed before: these are what an analysis makes of its items when it is asked.
        vars(analysis).update(errors=self.errors, ceilings=self.ceilings, epochs=self.epochs)
        places = {by: saved.by_item(self.scores.items) for by, saved in self.places.items()}
        vars(analysis).update(right=self.right, _curves=dict(self.curves), _places=places)
        return analysis


@functools.cache
def _adapter() -> "TypeAdapter[SavedScores]":
    from pydantic import TypeAdapter

    return TypeAdapter(SavedScores)


def save_scored(
    scored: ScoredAnswers, key: str | None, saving: tuple[str, str, str] | None
) -> None:
    """Save scores, what is behind them where `saving` names it, and under `key` the reach."""
    analysis, lexical = scored.analysis, scored.lexical
    errors: Iterable[tuple[int, Mapping[str, Any]]] = ()
    if analysis:
        pairs = zip(analysis.items, analysis.item_errors, strict=True)
        errors = ((traced.item.item or 0, of_item.to_json()) for traced, of_item in pairs)
    reach = analysis.reach if analysis else None
    try:
        if reach and key:
            keep_reach(scored.path, key, reach.to_json())
        # What reads saved scores does not load plug-ins, and finds them without their metrics.
        plain = scored.scores.without_plugins()
        save_scores(scored.path, plain.digest, plain.to_json(), errors)
        both = filter(None, (scored.scores, lexical))
        further = [scores for scores in both if scores.scorer.metrics]
        for scores in (*([lexical.without_plugins()] if lexical else []), *further):
            save_scores(scored.path, scores.digest, scores.to_json())
        if saving and reach and reach.final:
            made, _, own = saving
            save_scored_run(scored.path, own, SavedScores.of_run(made, scored).to_bytes())
    except StoreError as error:
        warn(str(error))


def settings_digest(*parts: Any) -> str:
    """What scores are saved under: a digest of JSON-serialisable settings."""
    return hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def made_of(store: str) -> str:
    """A digest of what scores are made of: the state of a store, and the code."""
    return hashlib.sha256(f"{store} {_code_digest()}".encode()).hexdigest()


@functools.cache
def _code_digest() -> str:
    # Of code and libraries, not a version number, which someone would have to remember to raise.
    digest = hashlib.sha256(repr([(name, version(name)) for name in _LIBRARIES]).encode())
    for folder in _SCORED_BY:
        root = Path(str(files(f"branchwise.{folder}")))
        for file in sorted(root.rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()
