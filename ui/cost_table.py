"""What runs cost as a table for a terminal: roles under each other, tokens, seconds, money."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from branchwise.agents.spec import is_replay
from branchwise.corpora.errors import nearest
from branchwise.eval.costs.usage import COUNTS, Costs, RoleCost
from branchwise.ui.cells import NOTHING, heading, indented, new_table, plain, run_name
from branchwise.ui.console import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.padding import Padding
    from rich.table import Table

NamedCosts = tuple[str, Costs]
"""A run's name and what it cost."""

_SHOWN = 3
_NEAR = 0.6
_LEAST_USD = 1e-6
_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def cost_tables(runs: Sequence[NamedCosts]) -> "Iterator[RenderableType]":
    """What to print for one run or several, in order: the table, and what stands behind it.

    Unknown is –, and a note says which model's price is missing and how to give it.
    """
    if not runs:
        return
    yield heading("costs", [name for name, _ in runs])
    yield _table(runs)
    yield _notes(runs)


def _table(runs: Sequence[NamedCosts]) -> "Table":
    table = new_table()
    for title in (*COUNTS, "USD"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, found in runs:
        if len(runs) > 1:
            table.add_section()
            table.add_row(plain(run_name(name), "bold"))
        for label, values in _rows(found):
            counts = [count_cell(values[count]) for count in COUNTS]
            table.add_row(plain(label), *counts, usd_cell(values["cost"]))
    return table


def _rows(found: Costs) -> Iterator[tuple[str, Mapping[str, float | None]]]:
    for role in found.roles:
        yield printable(role.role)[:40], {**vars(role.usage), "cost": role.cost}
    if len(found.roles) != 1 or found.unsplit.items:
        # Sums of tokens that were not kept by role would leave those out that were not.
        sums = dict.fromkeys(COUNTS) if found.unsplit.items else vars(found.usage)
        yield "all", {**sums, "cost": found.cost}
    yield "per item", found.per_item


def count_cell(value: float | None) -> str:
    """Whole below 10,000, one digit behind the point for a small mean, else three digits."""
    if value is None:
        return NOTHING
    if value >= 9999.5:
        # The largest unit that leaves a whole digit, after rounding: 999,600 is 1.00M.
        size, unit = next((u for u in _UNITS if value >= 0.9995 * u[0]), _UNITS[-1])
        scaled = value / size
        return f"{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"
    return f"{value:,.0f}" if value >= 99.95 or value == int(value) else f"{value:.1f}"


def usd_cell(value: float | None) -> str:
    """Four digits behind the point below 1, then two, then none; of what is less than .001, two
    digits that tell. 0 only where nothing is paid."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    if value < _LEAST_USD:
        return f"<{_LEAST_USD:.6f}".replace("0.", ".", 1)
    if value < 0.000995:
        behind = 1 - math.floor(math.log10(value / 0.995))
        return f"{value:.{behind}f}".removeprefix("0")
    if value < 0.99995:
        return f"{value:.4f}".removeprefix("0")
    return f"{value:,.2f}" if value < 9999.995 else f"{value:,.0f}"


def _notes(runs: Sequence[NamedCosts]) -> "Padding":
    lines = [""]
    for name, found in runs:
        before = f"{run_name(name)}: " if len(runs) > 1 else ""
        lines += [before + line for line in _about(found)]
    lines += _prices_are_from([found for _, found in runs])
    lines.append("cached is part of input, reasoning of output; seconds are summed over requests")
    missing = dict.fromkeys(model for _, found in runs for model in found.unpriced)
    lines += [_how_to_give(model) for model in missing]
    return indented(plain("\n".join(lines), "dim"))


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
    # A file of many prices is no mistake, so those that look like one come first.
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
    if found.unsplit.items:
        price = ", and what that cost is unknown" if found.unsplit.cost is None else ""
        yield (
            f"items from before usage was kept by role: {found.unsplit.items} "
            f"({found.unsplit.tokens:,} tokens, failed ones not counted), in no row{price}"
        )
    if any(is_replay(role.model) for role in found.roles):
        yield "replayed: tokens and seconds are those of the run that was recorded; nothing is paid"
    yield from (_uncounted(role) for role in found.roles if role.uncounted and role.cost is None)


def _uncounted(role: RoleCost) -> str:
    return printable(f"{role.role}: the server of {role.model} did not count tokens")


def _how_to_give(model: str) -> str:
    return printable(
        f"{NOTHING}: no price is known for {model}; give one (USD per million tokens) with "
        f'--prices FILE, as in: models: {{"{model}": {{input: 0.25, output: 2}}}}'
    )
