"""Many systems on a terminal in few lines: what matters first, the rest with --full."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

from rich.console import Console

from branchwise.eval.errors.module_work import ExpansionWork, ModuleWork
from branchwise.report.study_report import SystemReport
from branchwise.report.terminal.overview import study_changes
from branchwise.report.terminal.run_report import run_report
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, make_report

NAMES = {"expansion": "+expansion", "extraction": "+extraction", "k": "k=10"}


def study(modules: Mapping[str, ModuleWork] | None = None) -> list[SystemReport]:
    """2 x 2 x 2 systems: with expansion they answer as EXPANDED, without it as BASE."""
    cases = []
    for keys in (dict(zip(NAMES, on, strict=True)) for on in product((0, 1), repeat=3)):
        levels = {key: NAMES[key] for key, on in keys.items() if on}
        case = EXPANDED if keys["expansion"] else BASE
        cases.append(replace(case, name=", ".join(levels.values()) or "base", levels=levels))
    cases[1] = replace(EXTRACTED, name=cases[1].name, levels=cases[1].levels)
    own = modules or {}
    return [
        replace(system, run=replace(system.run, modules=own.get(system.name, system.run.modules)))
        for system in make_report(cases).systems
    ]


def shown(systems: Sequence[SystemReport]) -> list[str]:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        for part in (*run_report(systems, full=False), *study_changes(systems)):
            console.print(part)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_eight_systems_are_told_in_forty_lines() -> None:
    lines = shown(study())
    assert len(lines) <= 40 - 6  # what to type next, and where published numbers are
    assert max(map(len, lines)) <= 80
    # Strict P (5/8), R, EM; left out, in extraction, never found, unknown; failed; USD;
    # tokens: 4 of 9 answers are right, for a million tokens a question.
    left = ["3", "0", "2", "0", "0", ".4000", "1.00M"]
    assert lines[4].split() == ["base", ".63", ".42", ".25", *left]
    row = next(line for line in lines if line.startswith("+expansion  "))
    # Recall of q1 to q4 is 1, 1, 2/3, 1.
    assert row.split()[1:4] == ["1.00", ".92", ".75"]
    effects = lines[lines.index("effects of the factors") :]
    (expansion,) = [line for line in effects if line.startswith("+expansion  ")]
    # Against 5/12 three times and (0 + 1/2 + 1/3 + 0) / 4 once.
    assert expansion.split()[1] == f"+{11 / 12 - (3 * 5 / 12 + 5 / 24) / 4:.2f}".replace("0.", ".")
    assert "changes against" not in " ".join(lines)


def test_what_all_systems_share_is_said_once() -> None:
    resent = {"agent": Counter(rate_limit=3, timeout=1)}
    failing = ModuleWork(ExpansionWork(Counter(server=4), Counter(), 4), resent=resent)
    whole = " ".join(" ".join(shown(study({"+expansion": failing, "k=10": failing}))).split())
    assert "agent: 8 requests sent again for" in whole
    assert "6 refused for the rate (429), 2 without an answer in time" in whole
    said = "expand: readings for 0 of 4 questions, 4 failed (server 4) (k=10 and 1 more)"
    assert whole.count(said) == 1
    assert "caution: expansion did nothing: it wrote readings for none of 4 items" in whole


def test_few_systems_have_their_changes_in_a_table_with_intervals() -> None:
    systems = [system for system in study() if len(system.levels) < 2][:3]
    lines = [" ".join(line.split()) for line in shown(systems)]
    table = lines[lines.index("changes against base") :]
    assert table[1] == "n strict P p strict R p strict EM p"
    assert any(line.startswith("k=10 4 ") for line in table)
    assert "Below a number: Student's paired 95% interval; p: after Holm." in table
