"""Putting shards together, of a run or of a study: their stores, prices and pilots."""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from branchwise.corpora.errors import InputError
from branchwise.eval.costs.kept_prices import PRICES, keep_limit, keep_prices, limit_of
from branchwise.eval.pilots import is_pilot, mark_pilot, unmark_pilot
from branchwise.eval.store import RunSpec, open_run
from branchwise.eval.store.connection import DATABASE
from branchwise.eval.store.merging import Merged, ShardRun, difference, merge_shards
from branchwise.eval.store.shards import Shard
from branchwise.eval.studies.folder import STUDY_FILE, StudyFolder, StudyRecord


@dataclass(frozen=True)
class ShardFolder:
    """A folder that was given: which shard it is, and how many of its items have ended."""

    path: Path
    shard: str
    items: int
    ended: int


@dataclass(frozen=True)
class MergedFolder:
    """A run or study that was put together. `runs`: it itself, or one of each system."""

    path: Path
    is_study: bool
    given: tuple[ShardFolder, ...]
    runs: tuple[Merged, ...]

    @property
    def of(self) -> int:
        """Into how many shards it is divided."""
        return self.runs[0].of

    @property
    def items(self) -> int:
        """How many items all runs have."""
        return sum(run.items for run in self.runs)

    @property
    def ended(self) -> int:
        """How many of them have ended."""
        return sum(run.ended for run in self.runs)

    @property
    def twice(self) -> int:
        """How many were answered in two folders."""
        return sum(run.twice for run in self.runs)

    @property
    def unended(self) -> list[ShardFolder]:
        """The shards that were given and have items left."""
        return [one for one in self.given if one.ended < one.items]

    @property
    def missing(self) -> Mapping[int, int]:
        """The items of each shard that was never given, by its number."""
        numbers = sorted({number for run in self.runs for number in run.missing})
        return {n: sum(run.missing.get(n, 0) for run in self.runs) for n in numbers}

    def to_json(self) -> dict[str, Any]:
        """JSON-serialisable."""
        return {
            "path": str(self.path),
            "items": self.items,
            "ended": self.ended,
            "paid_twice": self.twice,
            "shards": [{**vars(one), "path": str(one.path)} for one in self.given],
            "missing": {f"{n}/{self.of}": items for n, items in self.missing.items()},
        }


def merge_folders(paths: Sequence[Path], out: Path) -> MergedFolder:
    """Put shards of one run, or of one study, together at `out`.

    Raises InputError as `merge_shards` does, and for a study's folder among runs; StoreError if
    `out` cannot be written.
    """
    if not any((path / STUDY_FILE).is_file() for path in paths):
        run = _merge_runs(paths, out)
        given = (ShardFolder(s.path, str(s.shard), s.items, s.ended) for s in run.shards)
        return MergedFolder(out, False, tuple(given), (run,))
    studies = [StudyFolder.open(path) for path in paths]
    _check_studies(studies)
    whole = _make_study(studies, out)
    names = [system.slug for system in whole.record.systems]
    runs = [_merge_runs([one.run_path(n) for one in studies], whole.run_path(n)) for n in names]
    given = (_study_shard(study.path, parts) for study, parts in _by_study(studies, runs))
    return MergedFolder(out, True, tuple(given), tuple(runs))


def shard_groups(paths: Sequence[Path]) -> list[list[Path]]:
    """The folders in order, those together that are shards of one run, or of one study.

    Folders that hold neither stand alone: who reads them says so.
    """
    groups: list[tuple[_Whole | None, list[Path]]] = []
    for path in paths:
        whole = _Whole.of_folder(path)
        for known, group in groups:
            if whole and known and whole.is_same(known):
                group.append(path)
                break
        else:
            groups.append((whole, [path]))
    return [group for _, group in groups]


@dataclass(frozen=True)
class _Whole:
    """What a folder is a shard of: the record of a study, or the settings of a run."""

    of: int
    study: StudyRecord | None
    meta: Mapping[str, Any]

    @classmethod
    def of_folder(cls, path: Path) -> "_Whole | None":
        """None for a folder that holds no shard."""
        if (path / STUDY_FILE).is_file():
            record = StudyFolder.open(path).record
            if not record.shard:
                return None
            return cls(Shard.parse(record.shard).of, record.whole, {})
        if not (path / DATABASE).is_file():
            return None
        with closing(open_run(path)) as reader:
            shard = Shard.recorded(reader.meta)
            return cls(shard.of, None, reader.meta) if shard else None

    def is_same(self, other: "_Whole") -> bool:
        """Whether the other folder is a shard of the same."""
        if self.of != other.of or (self.study is None) is not (other.study is None):
            return False
        if self.study and other.study:
            return self.study.difference(other.study) is None
        return difference(self.meta, other.meta) is None


def _by_study(
    studies: Sequence[StudyFolder], runs: Sequence[Merged]
) -> "zip[tuple[StudyFolder, tuple[ShardRun, ...]]]":
    return zip(studies, zip(*(run.shards for run in runs), strict=True), strict=True)


def _study_shard(path: Path, parts: Sequence[ShardRun]) -> ShardFolder:
    items, ended = sum(one.items for one in parts), sum(one.ended for one in parts)
    return ShardFolder(path, str(parts[0].shard), items, ended)


def _check_studies(studies: Sequence[StudyFolder]) -> None:
    for study in studies:
        if not study.record.shard:
            raise InputError(
                "is a whole study, not a shard",
                where=str(study.path),
                remedy="name folders that `branchwise ablate --shard I/N` made",
            )
    for one, other in pairwise(studies):
        if what := one.record.whole.difference(other.record.whole):
            raise InputError(
                f"is of another study than {one.path}: {what}",
                where=str(other.path),
                remedy="merge the shards of each study by themselves",
            )


def _make_study(studies: Sequence[StudyFolder], out: Path) -> StudyFolder:
    """The folder of the whole study, with a run of each system in it."""
    first = studies[0]
    record = first.record.whole
    prices = _prices([study.path for study in studies], out)
    whole = StudyFolder.create(out, record)
    specs: dict[str, RunSpec] = {}
    for system in record.systems:
        reader = open_run(first.run_path(system.slug))
        meta, questions = reader.meta, list(reader.questions())
        reader.close()
        known = {f.name: meta[f.name] for f in fields(RunSpec) if f.name in meta}
        specs[system.slug] = RunSpec(**{**known, "shard": {}})
    whole.fill(specs, questions)
    whole.keep_prices(prices)
    return whole


def _merge_runs(paths: Sequence[Path], out: Path) -> Merged:
    prices = _prices(paths, out)
    may_be_pilot = not (out / DATABASE).exists() or is_pilot(out)
    merged = merge_shards(paths, out)
    keep_prices(out, prices)
    _keep_limit(paths, out)
    pilots = may_be_pilot and all(is_pilot(path) for path in paths)
    (mark_pilot if pilots else unmark_pilot)(out)
    return merged


def _keep_limit(paths: Sequence[Path], out: Path) -> None:
    """What the whole run may cost: what its shards may together, where each has a limit."""
    limits = [limit for path in paths if (limit := limit_of(path)) is not None]
    if len(limits) == len(paths):
        keep_limit(out, max(math.fsum(limits), limit_of(out) or 0.0))


def _prices(paths: Sequence[Path], out: Path) -> Path | None:
    """The prices that shards keep; None where `out` has its own, or none have any. Raises
    InputError where they differ."""
    if (out / PRICES).is_file():
        return None
    kept = [path / PRICES for path in paths if (path / PRICES).is_file()]
    for file in kept[1:]:
        if file.read_bytes() != kept[0].read_bytes():
            raise InputError(
                f"has other prices than {kept[0]}",
                where=str(file),
                remedy="give all shards the same: branchwise score DIR --prices FILE",
            )
    return kept[0] if kept else None
