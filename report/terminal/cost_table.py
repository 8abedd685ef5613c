"""What runs cost on a terminal: roles under each other, and where the prices are from."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from branchwise.agents.spec import is_replay
from branchwise.base.errors import nearest
from branchwise.base.numbers import UNKNOWN
from branchwise.base.text import printable
from branchwise.report.study_report import StudyReport
from branchwise.report.tables.costs import costs_table
from branchwise.report.terminal.cells import notes, run_name
from branchwise.report.terminal.report_table import drawn
from branchwise.runs.costs.usage import Costs, RoleCost

if TYPE_CHECKING:
    from rich.console import RenderableType

_SHOWN = 3
_NEAR = 0.6
_IN_NOTES = ("model", "ratio")


def cost_tables(report: StudyReport) -> "Iterator[RenderableType]":
    """The table, and notes on it.

    Unknown is –, and a note says which model's price is missing and how to give it.
    """
    table = costs_table(report)
    yield from drawn(table.with_columns([c.key for c in table.columns if c.key not in _IN_NOTES]))
    yield notes(_notes(report))


def _notes(report: StudyReport) -> Iterator[str]:
    costs = [system.run.costs for system in report.systems]
    for system in report.systems:
        before = f"{run_name(system.name)}: " if len(report.systems) > 1 else ""
        yield from (before + line for line in _about(system.run.costs))
    yield from _prices_are_from(costs)
    yield "cached is part of input, reasoning of output; seconds are summed over requests"
    for model in dict.fromkeys(model for found in costs for model in found.unpriced):
        yield how_to_give(model, "with --prices FILE")


def _prices_are_from(runs: Sequence[Costs]) -> Iterator[str]:
    published = next((found for found in runs if found.source), None)
    if published:
        as_of = f" as of {published.as_of}" if published.as_of else ""
        yield f"USD by {published.source}{as_of}, or by --prices"
    elif any(role.cost for found in runs for role in found.roles):
        yield "USD by --prices"
    # Without servers: an address is longer than what is misspelt.
    models = [model.partition("@http")[0] for found in runs for model in found.models]
    unused = [name for name in runs[0].unused if all(name in found.unused for found in runs)]
    told = {name: nearest(name, models, cutoff=_NEAR) for name in unused}
    # A file of many prices is normal, so names that look misspelt come first.
    for name in sorted(told, key=lambda name: not told[name])[:_SHOWN]:
        near = f"; near: {told[name][0]}" if told[name] else ""
        yield printable(f"--prices: no model of this run is called {name}{near}")
    if len(told) > _SHOWN:
        yield f"--prices: … nor by {len(told) - _SHOWN} more of its names"


def _about(found: Costs) -> Iterator[str]:
    failed = f", {found.failed} of them failed" if found.failed else ""
    models: dict[str, list[str]] = {}
    for role in found.roles:
        models.setdefault(role.model, []).append(role.role)
    named = (f"{' and '.join(roles)} {model}" for model, roles in models.items())
    yield printable(" · ".join([f"items {found.items}{failed}", *named]))
    if any(is_replay(role.model) for role in found.roles):
        yield "replayed: tokens and seconds are those of the run that was recorded; nothing is paid"
    yield from (_uncounted(role) for role in found.roles if role.uncounted and role.cost is None)


def _uncounted(role: RoleCost) -> str:
    return printable(f"{role.role}: the server of {role.model} did not count tokens")


def how_to_give(model: str, where: str) -> str:
    """How to give a model's price."""
    return printable(
        f"{UNKNOWN}: no price is known for {model}; give one (USD per million tokens) {where}, "
        f'as in: models: {{"{model}": {{input: 0.25, output: 2}}}}'
    )
