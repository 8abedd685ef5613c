"""Making a fork and running it to its end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError, did_you_mean, warn
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.process import run_blocking
from branchwise.corpora.loaders import questions_digest
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.graphs.system import System
from branchwise.runs.continuing import check_not_moved, tell_kept_keys, with_kept_keys
from branchwise.runs.costs.prices import keep_prices, kept_prices
from branchwise.runs.experiment import Run, make_agent, resume, run_spec
from branchwise.runs.forks.edits import opening_of
from branchwise.runs.runner import Observer
from branchwise.runs.store import ItemRow, RunReader, RunSpec, create_run, open_run
from branchwise.runs.studies.folder import default_folder
from branchwise.trace.conversation import executions
from branchwise.trace.events import Event

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


@dataclass(frozen=True)
class Changes:
    """What a fork does differently; None is as in the parent. `edit`: another text of the step."""

    model: str | None = None
    tools: tuple[str, ...] | None = None
    edit: str | None = None


@dataclass(frozen=True)
class _Parent:
    path: Path
    name: str
    meta: Mapping[str, Any]
    row: ItemRow
    events: Sequence[Event]

    @classmethod
    def read(cls, path: Path, question: str, epoch: int) -> "_Parent":
        reader = open_run(path)
        try:
            row = _ended_item(reader, question, epoch)
            return cls(path, reader.name, reader.meta, row, list(reader.events(row.item)))
        finally:
            reader.close()

    def place(self, step: int) -> int:
        for place, event in enumerate(self.events):
            if event.seq == step:
                return place
        steps = f"0 to {self.events[-1].seq}" if self.events else "none"
        raise InputError(
            f"the trace has no step {step}", where=str(self.path), remedy=f"its steps are {steps}"
        )


def make_fork(
    parent: Path,
    question: str,
    step: int,
    changes: Changes = Changes(),
    *,
    epoch: int = 0,
    out: Path | None = None,
    corpus: Path | None = None,
    kg: str | None = None,
    keys: Keys = NO_KEYS,
) -> Path:
    """Make the run that re-enters an ended item at a step; sends no request yet. `out`: None is
    beside the parent, which is only read; `corpus`, `kg`: where these are now; `keys` go before
    those that the parent names. Warns if the system differs by more than the changes. Raises
    InputError."""
    begun = _Parent.read(parent, question, epoch)
    place = begun.place(step)
    opening = opening_of(begun.events, place, changes.edit)
    agent = make_agent(_system(begun, changes, corpus, kg, keys), begun.meta["task"])
    try:
        _check_entry(begun, place, agent, opening)
        _warn_of_differences(begun, agent, changes)
        spec = _spec(begun, agent, _record(begun, step, changes, len(opening)))
        path = out or default_folder(parent, question, step)
        create_run(path, spec, [begun.row.question], opening)
        keep_prices(path, kept_prices(parent))
    finally:
        run_blocking(agent.aclose())
    return path


def run_fork(
    path: Path, *, observer: Observer | None = None, restraints: Restraints | None = None
) -> Run:
    """Run the rest of a fork, as `resume` does after a kill. Raises InputError and StoreError."""
    reader = open_run(path)
    keys = with_kept_keys(NO_KEYS, reader.system, str(path))
    reader.close()
    # Already announced when the fork was made.
    return resume(path, concurrency=1, observer=observer, restraints=restraints, keys=keys)


def _ended_item(reader: RunReader, question: str, epoch: int) -> ItemRow:
    """Raises InputError if there is no such item, with similar ids, or if it has not ended."""
    rows = list(reader.items())
    epochs = [row for row in rows if row.question.id == question]
    where = str(reader.path)
    for row in epochs:
        if row.epoch != epoch:
            continue
        if row.status not in ("done", "failed"):
            raise InputError(
                f"{question[:80]!r} has not ended yet",
                where=where,
                remedy=f"end it with `branchwise resume {reader.path}`, or fork another question",
            )
        return row
    if epochs:
        there = ", ".join(str(row.epoch) for row in epochs)
        raise InputError(
            f"{question[:80]!r} has no epoch {epoch}", where=where, remedy=f"there are: {there}"
        )
    ids = list(dict.fromkeys(row.question.id for row in rows))
    first = f"the first ids are {', '.join(ids[:3])}"
    remedy = did_you_mean(question, ids, else_=first, most=3)
    raise InputError(f"no question has the id {question[:80]!r}", where=where, remedy=remedy)


def _system(
    parent: _Parent, changes: Changes, corpus: Path | None, kg: str | None, keys: Keys
) -> System:
    begun = parent.meta["system"]
    moved = {"corpus": str(corpus) if corpus else None, "kg": kg}
    check_not_moved(f"branchwise fork {parent.path} …", begun, moved)
    prompts = begun.get("prompts")
    if prompts and not Path(prompts).is_dir():
        raise InputError(
            "the prompts of this run are missing", where=prompts, remedy="put the folder back"
        )
    settings = {**begun, **{name: value for name, value in moved.items() if value}}
    kept = with_kept_keys(keys, begun, str(parent.path))
    tell_kept_keys(kept, keys, str(parent.path))
    settings["keys"] = dict(kept.variables)
    if changes.model is not None:
        settings["model"] = changes.model
    if changes.tools is not None:
        settings["tools"] = changes.tools
    return System.model_validate(settings)


def _check_entry(parent: _Parent, place: int, agent: "Agent", opening: Sequence[Event]) -> None:
    if agent.flow.graph is not None:
        raise InputError(
            f"the task {parent.meta['task']} has its own graph, which a fork cannot enter",
            where=str(parent.path),
            remedy="run the question again instead: branchwise run --ids FILE",
        )
    node = next(e.node for e in executions(parent.events) if e.first <= place < e.end)
    if node in ("tools", "extract") and not agent.tools:
        raise InputError(
            f"step {parent.events[place].seq} calls tools, and the fork has none",
            where=str(parent.path),
            remedy="name a tool with --tool, or choose another step",
        )
    try:
        if opening:
            agent.entry(opening)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"the trace cannot be continued ({type(error).__name__}: {str(error)[:100]})",
            where=str(parent.path),
            remedy="it is damaged or from a newer version; choose an earlier step, or run it again",
        ) from error


_OF_MODEL = ("model", "expander", "extractor")


def _warn_of_differences(parent: _Parent, agent: "Agent", changes: Changes) -> None:
    """What differs from the parent, apart from the requested changes."""
    meant: Collection[str] = {
        *(_OF_MODEL if changes.model is not None else ()),
        *(("tools",) if changes.tools is not None else ()),
    }
    was, now = parent.meta["identity"], dict(agent.identity)
    differ = sorted(k for k in was.keys() | now.keys() if was.get(k) != now.get(k))
    if others := [key for key in differ if key not in meant]:
        warn(
            f"{parent.path}: the system is no longer the one of this run (changed: "
            f"{', '.join(others)}); the steps before the fork stay as the run recorded them"
        )


def _record(parent: _Parent, step: int, changes: Changes, copied: int) -> dict[str, Any]:
    return {
        "run": parent.name,
        "path": str(parent.path.resolve()),
        "question": parent.row.question.id,
        "epoch": parent.row.epoch,
        "step": step,
        "copied": copied,
        "system_digest": parent.meta["system_digest"],
        "changes": asdict(changes),
    }


def _spec(parent: _Parent, agent: "Agent", record: Mapping[str, Any]) -> RunSpec:
    meta, questions = parent.meta, (parent.row.question,)
    task, digest = meta["task"], questions_digest(questions)
    chosen = QuestionSet(meta["source"], task, questions, digest)
    spec = run_spec(chosen, agent.system, agent, 1, BY_NAMES)
    scoring = meta.get("scoring") or {}
    if scoring:
        # By the parent's own models: changing the agent must not change the judge.
        scoring = ScoringChoice(**scoring).resolved(meta["system"]).to_json()
    return replace(spec, scoring=scoring, fork=record)
