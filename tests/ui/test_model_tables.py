"""Reports of several models: every cell, error share and p-value of a small study, worked out anew.

What is expected follows from the study as it is written, by arithmetic that shares no code with
what it tests.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import comb

import pytest

from branchwise.report.figures.changes import model_change_figures
from branchwise.report.figures.errors import error_shares
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.table import ChangeCell, Table
from branchwise.report.tables import report_tables
from support.ui.model_study import GOLD, ITEMS, MODELS, SETTINGS, model_study, name_of
from support.ui.report_cases import make_report

METRICS = ("precision", "recall", "em")
SUBSETS = {"ambiguous": ("q1", "q2", "q3"), "unambiguous": ("q4", "q5", "q6"), "all": (*GOLD,)}
Scores = Mapping[str, tuple[float, float, float]]
"""Question to precision, recall, exact match."""


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return model_study()


@pytest.fixture(scope="module")
def tables(report: StudyReport) -> dict[str, Table]:
    return {table.name: table for table in report_tables(report)}


def pairs_of(id: str, said: str) -> set[tuple[int, str]]:
    """Branch and letter of each answer."""
    parts = "" if said.startswith("failed") else said.split()[0]
    return {(n, letter) for n, part in enumerate(parts.split("|")) for letter in part}


def scored(gold: set[object], given: set[object]) -> tuple[float, float, float]:
    right = len(gold & given)
    precision = right / len(given) if given else 0.0
    return precision, right / len(gold), float(gold == given)


def strict(model: str, setting: str) -> Scores:
    items = zip(GOLD, ITEMS[model, setting], strict=True)
    return {id: scored({*pairs_of(id, GOLD[id])}, {*pairs_of(id, said)}) for id, said in items}


def pooled(model: str, setting: str) -> Scores:
    items = zip(GOLD, ITEMS[model, setting], strict=True)
    return {
        id: scored({x for _, x in pairs_of(id, GOLD[id])}, {x for _, x in pairs_of(id, said)})
        for id, said in items
    }


WAYS: dict[str, tuple[str, Callable[[str, str], Scores]]] = {
    "": ("strict", strict),
    "-more": ("pooled", pooled),
}


def means(scores: Scores, subset: str) -> list[float]:
    ids = SUBSETS[subset]
    return [sum(scores[id][n] for id in ids) / len(ids) for n in range(3)]


def rows_of(table: Table) -> dict[tuple[object, object], Sequence[object]]:
    """Model (or system) and subset to the cells after them."""
    return {(row[0], row[1]): row[2:] for row in table.rows}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WAYS)
def test_scores_are_a_model_a_row_and_a_setting_a_group(
    tables: dict[str, Table], kind: str
) -> None:
    table, (family, way) = tables[f"models{kind}"], WAYS[kind]
    columns = [(one.group, one.key.split("_", 1)[1], one.title) for one in table.columns[2:]]
    assert columns == [
        (setting, f"{family}_{metric}", title)
        for setting in SETTINGS
        for metric, title in zip(METRICS, ("P", "R", "EM"), strict=True)
    ]
    assert list(rows_of(table)) == [(model, subset) for subset in SUBSETS for model in MODELS]
    for (model, subset), cells in rows_of(table).items():
        expected = [x for one in SETTINGS for x in means(way(str(model), one), str(subset))]
        assert cells == pytest.approx(expected), (model, subset)


@pytest.mark.parametrize("kind", WAYS)
def test_changes_are_against_each_models_base_with_corrected_p(
    tables: dict[str, Table], kind: str
) -> None:
    table, (_, way) = tables[f"model-changes{kind}"], WAYS[kind]
    changed = SETTINGS[1:]
    assert [one.group for one in table.columns[2:]] == [one for one in changed for _ in METRICS]
    found = rows_of(table)
    for subset, ids in SUBSETS.items():
        for n in range(3):
            differences = {
                (model, setting): [
                    way(model, setting)[id][n] - way(model, "base")[id][n] for id in ids
                ]
                for model in MODELS
                for setting in changed
            }
            corrected = holm({key: p_value(values) for key, values in differences.items()})
            for (model, setting), values in differences.items():
                cell = found[model, subset][3 * changed.index(setting) + n]
                assert isinstance(cell, ChangeCell)
                assert cell.difference == pytest.approx(sum(values) / len(values))
                assert cell.p == pytest.approx(corrected[model, setting])


def p_value(differences: Sequence[float]) -> float:
    """Of all ways to turn the questions' signs, how many give so large a sum; for 0 and 1 this is
    McNemar's exact test."""
    observed = abs(sum(differences))
    flips = list(product((1, -1), repeat=len(differences)))
    sums = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in flips]
    p = sum(value >= observed - 1e-9 for value in sums) / len(flips)
    if all(d in (-1, 0, 1) for d in differences):
        gained, n = differences.count(1), sum(d != 0 for d in differences)
        tail = sum(comb(n, k) for k in range(min(gained, n - gained) + 1)) / 2**n
        assert p == pytest.approx(min(1.0, 2 * tail))
    return p


def holm(p_values: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """The smallest times how many there are, the next times one fewer, never falling, at most 1."""
    corrected, least = {}, 0.0
    for place, key in enumerate(sorted(p_values, key=lambda key: p_values[key])):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[key]))
        corrected[key] = least
    return corrected


TYPES = {
    "extraction": ("not_retrieved", "not_in_corpus", "branch_not_retrieved", "lost_in_extraction"),
    "reasoning": (
        *("left_out", "dropped", "wrong_branch", "ambiguous", "wrong_in_evidence", "unsupported"),
    ),
    "tool_call": ("wrong_tool_call",),
    "other": (
        *("perhaps_stated", "taken_out", "merged_away", "unreadable", "format_error"),
        *("cut_reply", "budget_spent", "failed"),
    ),
}


PAPER = ("extraction", "reasoning")
"""The classes that the paper words otherwise."""


def types_of(id: str, said: str) -> set[str]:
    """What went wrong, read off the item as it is written."""
    found = {"wrong_tool_call"} if "!" in said else set()
    if said.startswith("failed"):
        return found | {"failed"}
    marks = {part[0]: part[1:] for part in said.split()[1:]}
    gold, given = pairs_of(id, GOLD[id]), pairs_of(id, said)
    wrong = {x for _, x in given - gold}
    moved = wrong & {x for _, x in gold}
    missing = {x for _, x in gold - given} - moved
    unseen, dropped = set(marks.get("-", "")), set(marks.get("/", ""))
    branches = [set(part) for part in GOLD[id].split("|")]
    happened = {
        "not_retrieved": missing & unseen,
        "branch_not_retrieved": [one for one in branches if one <= missing & unseen],
        "lost_in_extraction": missing & dropped,
        "left_out": missing - unseen - dropped,
        "wrong_branch": moved,
        "wrong_in_evidence": wrong & {"y"},
        "unsupported": wrong & {"x"},
        "extraction_paper": unseen,
        "reasoning_paper": {x for _, x in gold} - unseen - {x for _, x in given},
    }
    return found | {name for name, what in happened.items() if what}


def paper_of(group: str) -> list[str]:
    return [f"{group}_paper"] if group in PAPER else []


def counted(model: str, setting: str, subset: str) -> tuple[list[set[str]], list[set[str]]]:
    """The types of all items, and of those that are not exact."""
    items = dict(zip(GOLD, ITEMS[model, setting], strict=True))
    ids = SUBSETS[subset]
    inexact = [id for id in ids if strict(model, setting)[id][2] < 1]
    return [types_of(id, items[id]) for id in ids], [types_of(id, items[id]) for id in inexact]


@pytest.mark.parametrize(("model", "setting"), ITEMS)
def test_errors_are_shares_of_failed_and_of_all_items(
    tables: dict[str, Table], model: str, setting: str
) -> None:
    for subset in SUBSETS:
        everything, inexact = counted(model, setting, subset)
        sizes = (len(everything), len(inexact))
        row = rows_of(tables["items"])[name_of(model, setting), subset]
        assert row[:2] == sizes
        keys = [one.key for one in tables["items"].columns[4:]]
        names = [one for group, own in TYPES.items() for one in (*own, *paper_of(group))]
        assert keys == [f"items_{one}{end}" for one in names for end in ("", "_inexact")]
        assert list(row[2:]) == [
            sum(one in found for found in among) for one in names for among in (everything, inexact)
        ]
        row = rows_of(tables["errors"])[name_of(model, setting), subset]
        assert row[:2] == sizes
        assert [one.key for one in tables["errors"].columns[4:]] == [
            f"{one}_of_{end}"
            for group in TYPES
            for one in (group, *paper_of(group))
            for end in ("inexact", "all")
        ]
        assert list(row[2:]) == [
            pytest.approx(sum(bool(found & {*group}) for found in among) / len(among))
            if among
            else None
            for name, own in TYPES.items()
            for group in (own, *([one] for one in paper_of(name)))
            for among in (inexact, everything)
        ]


def test_figures_hold_the_numbers_of_the_tables(
    report: StudyReport, tables: dict[str, Table]
) -> None:
    changes = rows_of(tables["model-changes"])
    bands = model_change_figures(report)
    assert [band[0].setting for band in bands] == list(SETTINGS[1:])
    for place, band in enumerate(bands):
        assert [one.metric.key for one in band] == [f"strict_{one}" for one in METRICS]
        for n, figure in enumerate(band):
            assert [name for name, _ in figure.rows] == list(MODELS)
            for name, differences in figure.rows:
                assert [one.subset for one in differences] == ["ambiguous", "unambiguous"]
                for one in differences:
                    cell = changes[name, one.subset][3 * place + n]
                    assert cell == ChangeCell(one.difference, one.corrected_p)
    shares = rows_of(tables["errors"])
    for subset in ("ambiguous", "unambiguous"):
        found = error_shares(report, subset)
        assert found
        assert [name for name, _ in found.systems] == [one.name for one in report.systems]
        for name, counts in found.systems:
            drawn = [
                share
                for group in found.classes
                for kind in group.shown
                for share in (counts.of_inexact(kind), counts.of_all(kind))
            ]
            assert list(shares[name, subset][2:]) == drawn


def tables_of(report: StudyReport, systems: Sequence[SystemReport]) -> dict[str, Table]:
    """Of a report with these systems alone."""
    names = {one.name for one in systems}
    compared = {name: found for name, found in report.comparisons.items() if name in names}
    kept = replace(report, systems=tuple(systems), comparisons=compared)
    return {table.name: table for table in report_tables(kept)}


def test_one_model_or_two_of_one_setting_have_no_such_tables(report: StudyReport) -> None:
    systems = report.systems
    laid = {"models", "models-more", "model-changes", "model-changes-more"}
    assert laid.isdisjoint(tables_of(report, systems[:4]))
    assert laid <= tables_of(report, systems[:8]).keys()
    # Two bases alone have nothing that changes.
    bases = tables_of(report, (systems[0], systems[4]))
    assert laid & bases.keys() == {"models", "models-more"}
    same = replace(systems[5], setting="base")
    assert laid.isdisjoint(tables_of(report, (*systems[:5], same)))
    assert laid.isdisjoint(one.name for one in report_tables(make_report()))


def test_a_setting_that_a_model_lacks_is_unknown_there(report: StudyReport) -> None:
    found = tables_of(report, report.systems[:6])
    scores, changes = rows_of(found["models"]), rows_of(found["model-changes"])
    assert scores["middle", "all"][6:] == (None,) * 6
    assert changes["middle", "all"][3:] == (None,) * 6
    assert None not in scores["small", "all"]


def test_a_model_that_is_compared_with_another_ones_base_has_no_changes_of_its_own(
    report: StudyReport,
) -> None:
    found = tables_of(report, [replace(one, base="small") for one in report.systems])
    assert "models" in found
    assert "model-changes" not in found
