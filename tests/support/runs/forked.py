"""Forks made and run, and what is compared of them and their parents."""

from branchwise.runs.forks import Changes, make_fork, run_fork
from branchwise.runs.store import open_run
from branchwise.trace.conversation import executions, left_before


def plain(data):
    """Without what no two runs share: seconds, and whether a reply was recalled."""
    if isinstance(data, dict):
        kept = {k: v for k, v in data.items() if k not in ("seconds", "replayed")}
        return {key: plain(value) for key, value in kept.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def steps_of(events):
    """The trace, results of one turn in the order of their calls: they may end in any."""
    found = [(event.kind, plain(dict(event.data))) for event in events]
    for execution in executions(events):
        if execution.node == "tools":
            own = found[execution.first : execution.end]
            own.sort(key=lambda step: step[1].get("of", -1))
            found[execution.first : execution.end] = own
    return found


def read(path, item=1):
    """The item's row and its trace."""
    reader = open_run(path)
    row = next(row for row in reader.items() if row.item == item)
    events = list(reader.events(row.item))
    reader.close()
    return row, events


def asked_for(events):
    """How many requests to models these events stand for."""
    each = {"extraction": lambda event: len(event.body.model_calls)}
    one = ("model", "expansion", "context_trimmed", "repair_failed", "error")
    return sum(each.get(e.kind, lambda e: int(e.kind in one))(e) for e in events)


def step_of(events, kind, n=0):
    """The number of the n-th step of a kind."""
    return [event.seq for event in events if event.kind == kind][n]


def fork_of(path, question, step, out, **changes):
    """Make and run a fork; returns its row and trace."""
    made = make_fork(path, question, step, Changes(**changes), out=out)
    run_fork(made)
    return read(made)


def goes_on_from_every_step(path, chat_server, folder, **changes):
    """Forks of every step of a run's first item end as it did, and ask for what was behind them
    (nothing, where they replay)."""
    row, events = read(path)
    for place, event in enumerate(events):
        sent = len(chat_server.requests)
        out = folder / str(event.seq)
        forked, trace = fork_of(path, row.question.id, event.seq, out, **changes)
        assert steps_of(trace) == steps_of(events), (event.seq, event.kind)
        assert plain(forked.outcome) == plain(row.outcome), (event.seq, event.kind)
        behind = [] if changes else events[len(left_before(events, place)) :]
        assert len(chat_server.requests) - sent == asked_for(behind), (event.seq, event.kind)
