"""Forks: an item re-entered at a step of its trace and run to its end with a change.

No response is copied: the fork would read it back instead of asking anew.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from branchwise.agents.response_bodies import MAX_CALLS, make_call
from branchwise.agents.restraints import Restraints
from branchwise.base.errors import InputError, did_you_mean, warn
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.process import run_blocking
from branchwise.base.text import one_line, whole_characters
from branchwise.corpora.questions import QuestionSet, questions_digest
from branchwise.eval.scoring_choice import BY_NAMES, ScoringChoice
from branchwise.graphs.list_replies import MAX_CHARS, MAX_READINGS
from branchwise.graphs.system import System
from branchwise.runs.continuing import check_not_moved, tell_kept_keys, with_kept_keys
from branchwise.runs.costs.prices import keep_prices, kept_prices
from branchwise.runs.experiment import Run, make_agent, resume, run_spec
from branchwise.runs.runner import Observer
from branchwise.runs.store import ItemRow, RunReader, RunSpec, create_run, open_run
from branchwise.runs.studies.folder import default_folder
from branchwise.tools.tool_results import bounded
from branchwise.trace.conversation import conversation_at, execution_of, left_before
from branchwise.trace.events import (
    BudgetSpent,
    Checked,
    Event,
    Expansion,
    Extraction,
    Model,
    Node,
    Stage,
    Start,
    Tool,
)
from branchwise.trace.parts import Body, Call

if TYPE_CHECKING:
    from branchwise.graphs.agent import Agent


EDITABLE = (
    "the question, a stage, an expansion, a model turn, a tool result, an extraction, a check, a "
    "budget note"
)
_MAX_BYTES = 20_000_000


def editable(event: Event) -> str | None:
    """A step's text to edit (calls as JSON, readings one a line); None: it has none."""
    text = _text(event)
    return None if text is None else text + "\n" * (not text.endswith("\n"))


def edited(event: Event, text: str) -> Event:
    """The step, marked, with `text` in place of its own; a newline at its end is the file's."""
    own = _text(event)
    if own is None:
        problem = f"step {event.seq} ({event.kind}) has no editable text"
        raise InputError(problem, remedy=f"leave out the edit, or choose another step: {EDITABLE}")
    text = whole_characters(text)
    if not own.endswith("\n"):
        text = text.removesuffix("\n")
    if text == own:
        return event
    try:
        body = _edited(event.body, text)
    except InputError as error:
        where = f"the text for step {event.seq}"
        raise InputError(error.what, where=where, remedy=error.remedy) from None
    return event if body == event.body else event.with_body(body.changed(edited=True))


def read_edit(path: Path) -> str:
    """The text of a file, unchanged. Raises InputError."""
    try:
        with path.open("rb") as file:
            body = file.read(_MAX_BYTES + 1)
        if len(body) > _MAX_BYTES:
            raise InputError("is longer than 20 MB", where=str(path), remedy="shorten the text")
        return body.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(
            f"cannot be read ({why})", where=str(path), remedy="name a text file with the edit"
        ) from error


def _text(event: Event) -> str | None:
    match event.body:
        case Start() | Stage() | Tool() | Extraction() | Checked() as body:
            return body.content
        case Expansion() as body:
            return "\n".join(body.readings)
        case BudgetSpent() as body:
            return body.text
        case Model(is_repair=False) as body:
            return written_turn(body)
    return None


def _edited(body: Body, text: str) -> Body:
    match body:
        case Start() | Stage() if not text.strip():
            raise InputError(
                "the user's message is empty", remedy="write what the agent should be asked"
            )
        case Expansion():
            lines = [one_line(line) for line in text.splitlines()]
            readings = tuple(dict.fromkeys(filter(None, lines)))
            if len(readings) > MAX_READINGS or max(map(len, readings), default=0) > MAX_CHARS:
                raise InputError(
                    f"there are at most {MAX_READINGS} readings of at most {MAX_CHARS} characters",
                    remedy="write one reading per line",
                )
            how = "readings" if readings else "none"
            return body.changed(readings=readings, dropped=(), how=how)
        case Model():
            return read_turn(body, text)
        case Tool():
            # What the agent now sees did not come from these passages and rows.
            return body.changed(content=bounded(text), artifact={}, error=None, failure=None)
        case Extraction():
            return body.changed(content=bounded(text))
        case Checked() if not text.strip():
            raise InputError(
                "the agent would be told nothing", remedy="write what it should be sent back for"
            )
        case BudgetSpent():
            return body.changed(text=text)
    return body.changed(content=text)


_BEGINS = re.compile(r'\s*\{\s*"(?:text|tool_calls)')
_FORM = 'write {"text": "...", "tool_calls": [{"name": "...", "args": {...}}]}'


def written_turn(turn: Model) -> str:
    """A recorded turn as text; `read_turn` of it gives the same turn."""
    calls, text = turn.calls, turn.text
    if not calls and not _is_form(text):
        return text
    listed = [{"name": call.name, "args": call.args} for call in calls]
    return json.dumps({"text": text, "tool_calls": listed}, ensure_ascii=False, indent=2)


def read_turn(turn: Model, written: str) -> Model:
    """The recorded turn with another reply; calls keep the ids of those that they replace."""
    text, calls = _read_form(written) if _is_form(written) else (written, [])
    # The ids that the turn's calls had, then new ones.
    ids = [str(call.id) for call in turn.calls][: len(calls)]
    numbered = (f"edited_{n}" for n in range(2 * len(calls) + len(ids)))
    free = [id for id in numbered if id not in ids]
    valid: list[Call] = []
    invalid: list[Call] = []
    for call, id in zip(calls, [*ids, *free], strict=False):
        made = make_call(call["name"] or "", call.get("args", {}), id)
        (invalid if "error" in made else valid).append(Call(id, call["name"], made["args"]))
    reply = turn.changed(text=text, tool_calls=tuple(valid), invalid_tool_calls=tuple(invalid))
    return turn if reply == turn else reply.changed(finish="tool_calls" if calls else "stop")


def _is_form(text: str) -> bool:
    """Whether a text is meant as JSON with a reply, even if broken: an answer may be JSON, too."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        keys = set(json.loads(text))
    except (ValueError, RecursionError):
        return '"tool_calls"' in text or bool(_BEGINS.match(text))
    return "tool_calls" in keys or keys == {"text"}


def _read_form(text: str) -> tuple[str, list[Mapping[str, Any]]]:
    try:
        form = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the reply is not valid JSON ({error})", remedy=_FORM) from None
    text, calls = form.get("text") or "", form.get("tool_calls", [])
    others = form.keys() - {"text", "tool_calls"}
    if others or not isinstance(text, str) or not isinstance(calls, list):
        raise InputError(
            "the reply does not have the form of a reply with tool calls", remedy=_FORM
        )
    if len(calls) > MAX_CALLS:
        raise InputError(f"a turn has at most {MAX_CALLS} tool calls", remedy="leave some out")
    for number, call in enumerate(calls, 1):
        match call:
            case {"name": str() | None, **rest} if rest.keys() <= {"args"}:
                if isinstance(rest.get("args", {}), dict | str):
                    continue
        raise InputError(f"tool call {number} has no name and arguments", remedy=_FORM)
    return text, calls


def opening_of(events: Sequence[Event], place: int, edit: str | None) -> list[Event]:
    """The first events of a fork at `events[place]`; without an edit its node runs again."""
    if edit is None:
        return [_replayed(event) for event in left_before(events, place)]
    if isinstance(events[place].body, Start) and any(isinstance(e.body, Stage) for e in events):
        problem = f"step {events[place].seq} is not the message of any stage"
        raise InputError(problem, remedy="edit the `stage` step whose message you mean")
    others, own, place = conversation_at(events, place)
    changed, end, body_type = edited(own[place], edit), place + 1, type(own[place].body)
    if body_type in (Tool, Extraction):
        # Other results of the step's turn come before the next node, too.
        run = execution_of(own, place)
        same = (n for n in range(run.first, run.end) if isinstance(own[n].body, body_type))
        end = 1 + max(same)
    kept = (*others, *own[:place], changed, *own[place + 1 : end])
    return [_replayed(event) for event in kept]


def _replayed(event: Event) -> Event:
    match event.body:
        case Extraction() as body:
            read = tuple(passage.changed(replayed=True) for passage in body.passages)
            asked = tuple(request.changed(replayed=True) for request in body.requests)
            return event.with_body(body.changed(passages=read, requests=asked))
        case Expansion() as body:
            looked = tuple(search.changed(replayed=True) for search in body.looked)
            return event.with_body(body.changed(replayed=True, looked=looked))
        case Model() | Tool() | Node() | Checked() as body:
            return event.with_body(body.changed(replayed=True))
    return event


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
        with closing(open_run(path)) as reader:
            row = _ended_item(reader, question, epoch)
            return cls(path, reader.name, reader.meta, row, list(reader.events(row.item)))

    def place(self, step: int) -> int:
        for place, event in enumerate(self.events):
            if event.seq == step:
                return place
        remedy = f"its steps are {f'0 to {self.events[-1].seq}' if self.events else 'none'}"
        raise InputError(f"the trace has no step {step}", where=str(self.path), remedy=remedy)


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
        record = {
            "run": begun.name,
            "path": str(begun.path.resolve()),
            "question": begun.row.question.id,
            "epoch": begun.row.epoch,
            "step": step,
            "copied": len(opening),
            "system_digest": begun.meta["system_digest"],
            "changes": asdict(changes),
        }
        spec = _spec(begun, agent, record)
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
    with closing(open_run(path)) as reader:
        keys = with_kept_keys(NO_KEYS, reader.system, str(path))
    # Already announced when the fork was made.
    return resume(path, concurrency=1, observer=observer, restraints=restraints, keys=keys)


def _ended_item(reader: RunReader, question: str, epoch: int) -> ItemRow:
    rows = list(reader.items())
    epochs = [row for row in rows if row.question.id == question]
    where = str(reader.path)
    if row := next((row for row in epochs if row.epoch == epoch), None):
        if row.status not in ("done", "failed"):
            remedy = f"end it with `branchwise resume {reader.path}`, or fork another question"
            raise InputError(f"{question[:80]!r} has not ended yet", where=where, remedy=remedy)
        return row
    if epochs:
        remedy = f"there are: {', '.join(str(row.epoch) for row in epochs)}"
        raise InputError(f"{question[:80]!r} has no epoch {epoch}", where=where, remedy=remedy)
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
    changed = {"model": changes.model, "tools": changes.tools}
    settings |= {key: value for key, value in changed.items() if value is not None}
    return System.model_validate(settings)


def _check_entry(parent: _Parent, place: int, agent: "Agent", opening: Sequence[Event]) -> None:
    if agent.flow.graph is not None and not (agent.flow.stages or agent.flow.leads):
        problem = f"the task {parent.meta['task']} has its own graph, which a fork cannot enter"
        remedy = "run the question again instead: branchwise run --ids FILE"
        raise InputError(problem, where=str(parent.path), remedy=remedy)
    node = execution_of(parent.events, place).node
    if node in ("tools", "extract") and not agent.tools:
        problem = f"step {parent.events[place].seq} calls tools, and the fork has none"
        remedy = "name a tool with --tool, or choose another step"
        raise InputError(problem, where=str(parent.path), remedy=remedy)
    try:
        if opening:
            agent.entry(opening)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        problem = f"the trace cannot be continued ({type(error).__name__}: {str(error)[:100]})"
        remedy = "it is damaged or from a newer version; choose an earlier step, or run it again"
        raise InputError(problem, where=str(parent.path), remedy=remedy) from error


def _warn_of_differences(parent: _Parent, agent: "Agent", changes: Changes) -> None:
    meant = {"model", "expander", "extractor", "checker"} if changes.model is not None else set()
    meant |= {"tools"} if changes.tools is not None else set()
    was, now = parent.meta["identity"], dict(agent.identity)
    keys = (was.keys() | now.keys()) - meant
    if others := sorted(key for key in keys if was.get(key) != now.get(key)):
        warn(
            f"{parent.path}: the system is no longer the one of this run (changed: "
            f"{', '.join(others)}); the steps before the fork stay as the run recorded them"
        )


def _spec(parent: _Parent, agent: "Agent", record: Mapping[str, Any]) -> RunSpec:
    meta, questions = parent.meta, (parent.row.question,)
    chosen = QuestionSet(meta["source"], meta["task"], questions, questions_digest(questions))
    spec = run_spec(chosen, agent.system, agent, 1, BY_NAMES)
    if scoring := meta.get("scoring") or {}:
        # By the parent's own models: changing the agent must not change the judge.
        scoring = ScoringChoice(**scoring).resolved(meta["system"]).to_json()
    return replace(spec, scoring=scoring, fork=record)
