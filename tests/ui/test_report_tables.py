"""The tables of a report, against numbers worked out by hand from `report_cases`."""

import re
from dataclasses import replace

import pytest

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.breakdowns import bins_of
from branchwise.report.run_folders import factor_levels
from branchwise.report.study_report import StudyReport
from branchwise.report.table import CellValue, Table
from branchwise.report.tables import report_tables
from branchwise.runs.studies.folder import SystemRecord
from support.ui.report_cases import BASE, EXPANDED, EXTRACTED, factorial, make_report


@pytest.fixture(scope="module")
def report() -> StudyReport:
    return make_report()


def table(report: StudyReport, name: str) -> Table:
    (found,) = [one for one in report_tables(report) if one.name == name]
    return found


def row(found: Table, *first: CellValue) -> dict[str, CellValue]:
    """The one row whose first text cells are these, by column key."""
    keys = [column.key for column in found.columns]
    rows = [dict(zip(keys, cells, strict=True)) for cells in found.rows]
    (only,) = [one for one in rows if set(first) <= {v for v in one.values() if type(v) is str}]
    return only


def mean(cell: CellValue) -> float | None:
    assert isinstance(cell, Aggregate)
    return cell.mean


def test_changes_have_an_interval_and_a_corrected_p(report: StudyReport) -> None:
    found = row(table(report, "changes"), "+expansion", "ambiguous")
    change = found["strict_recall"]
    assert isinstance(change, Aggregate)
    # Differences 2/3 and 1/3; t(.975, 1) = 12.7062, s = (1/3) / sqrt(2).
    half = 12.7062 * (1 / 3) / 2**0.5 / 2**0.5
    assert change.mean == pytest.approx(1 / 2)
    assert (change.low, change.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-4)
    # EM of all questions: q1 and q4 gained, none lost, so p = 1/2; twice that after Holm.
    everything = row(table(report, "differences"), "+expansion", "all", "strict_em")
    assert (everything["p"], everything["p_holm"], everything["family"]) == (0.5, 1.0, 2)
    assert (everything["higher"], everything["lower"], everything["same"]) == (2, 0, 2)
    assert row(table(report, "changes"), "+expansion", "all")["strict_em_p_holm"] == 1.0


def test_effects_of_a_factorial_study() -> None:
    found = table(make_report(factorial()), "effects")
    # By question: with extraction or not, 2/3 + 1, 0 + 1/2, 1/3 + 1/3, 1 + 1; the half of each.
    expansion = row(found, "+expansion", "all")
    assert (expansion["n"], expansion["of"]) == (4, "main")
    assert mean(expansion["strict_recall"]) == pytest.approx((5 / 6 + 1 / 4 + 1 / 3 + 1) / 4)
    # All signs of four alike: 2 of 16; twice over expansion and the interaction, whose
    # differences of differences are 1/3, 1/2, 0, 0: p = 1/2, and so of extraction.
    assert expansion["strict_recall_p_holm"] == pytest.approx(3 * 2 / 16)
    interaction = row(found, "+expansion × +extraction", "all")
    assert mean(interaction["strict_recall"]) == pytest.approx((1 / 3 + 1 / 2) / 4)
    assert interaction["strict_recall_p_holm"] == 1.0
    assert not [one for one in report_tables(make_report()) if one.name == "effects"]


def test_effects_say_what_they_do_without() -> None:
    base, expanded, extracted, both = factorial()
    third = replace(expanded, name="x", levels={"expansion": "expansion: own"})
    pair = {"expansion": "+expansion", "extraction": "+extraction"}
    notes = table(make_report([base, expanded, third, replace(both, levels=pair)]), "effects").notes
    assert "Each level of expansion is compared with the base's level." in notes
    (unknown,) = [note for note in notes if note.startswith("Unknown")]
    assert unknown.endswith("taken as 0: +expansion × +extraction, expansion: own × +extraction.")
    several = [
        replace(one, base="base", place=("m", "")) for one in (base, expanded, extracted, both)
    ]
    more = [replace(one, name=f"n, {one.name}", base="n, base", place=("n", "")) for one in several]
    models = table(make_report([*several, *more]), "effects")
    assert [cells[0] for cells in models.rows[:6]] == ["m"] * 3 + ["n"] * 3
    # The same twice: six tests in one family.
    assert row(models, "m", "+expansion", "all")["strict_recall_p_holm"] == pytest.approx(
        6 * 2 / 16
    )


def test_lost_answers_are_counted_by_place_and_add_up(report: StudyReport) -> None:
    found = table(report, "missing")
    base = row(found, "base", "all")
    assert (base["gold"], base["right"], base["missing"]) == (9, 4, 5)
    assert (base["missing_left_out"], base["missing_never_retrieved"]) == (3, 2)
    assert (base["missing_extraction"], base["missing_unknown"]) == (0, 0)
    extracted = row(found, "+extraction", "all")
    assert (extracted["missing_left_out"], extracted["missing_extraction"]) == (2, 2)
    assert (extracted["missing_never_retrieved"], extracted["missing_unknown"]) == (2, 1)
    for cells in found.rows:
        assert cells[2] == sum(cells[3:5])
        assert cells[4] == sum(cells[5:])
    wrong = table(report, "wrong")
    assert row(wrong, "base", "all")["wrong_unsupported"] == 2
    assert all(cells[2] == sum(cells[3:]) for cells in wrong.rows)
    assert row(table(report, "items"), "+extraction", "all")["items_failed"] == 1


def test_costs_are_by_role_and_unknown_ones_are_not_zero(report: StudyReport) -> None:
    found = table(report, "costs")
    # 1 million input tokens an item at .1 USD a million, four items.
    assert row(found, "base", "agent")["cost_usd"] == pytest.approx(0.4)
    assert row(found, "base", "per item")["ratio"] == pytest.approx(1.0)
    assert row(found, "+expansion", "per item")["cost_usd"] == pytest.approx(0.2)
    assert row(found, "+expansion", "per item")["ratio"] == pytest.approx(2.0)
    assert row(found, "+extraction", "per item")["cost_usd"] is None
    assert row(found, "+extraction", "per item")["ratio"] == pytest.approx(1.0)  # of tokens
    assert any("openai:local@http://localhost:8000/v1" in note for note in found.notes)


def test_breakdowns_and_curves_are_there(report: StudyReport) -> None:
    steps = table(report, "by-steps")
    assert mean(row(steps, "base", "2")["strict_recall"]) == pytest.approx((1 / 3 + 1) / 2)
    assert mean(row(steps, "base", "3")["strict_recall"]) == pytest.approx((1 / 3 + 0) / 2)
    curve = {cells[:2]: cells[2] for cells in table(report, "retrieved-by-calls").rows}
    assert mean(curve["base", 1]) == pytest.approx((2 / 3 + 1 / 2 + 0 + 1) / 4)
    assert mean(curve["base", 2]) == pytest.approx((2 / 3 + 1 + 2 / 3 + 1) / 4)
    ceilings = row(table(report, "ceilings"), "+extraction", "ambiguous")
    assert mean(ceilings["ceiling_retrieved"]) == pytest.approx(2 / 3)
    assert mean(ceilings["ceiling_shown"]) == pytest.approx(1 / 3)
    assert mean(ceilings["extraction_loss"]) == pytest.approx(1 / 3)


PUBLISHED = "published-modules"


def test_published_numbers_stand_only_beside_the_same_benchmark() -> None:
    found = table(make_report([BASE], meta={"benchmark": "deepambigqa"}), PUBLISHED)
    assert len(found.rows) == 20
    gpt = row(found, "GPT-5", "ambiguous")
    assert (gpt["base_precision"], gpt["base_recall"], gpt["base_em"]) == (0.91, 0.48, 0.13)
    assert (gpt["KG_precision"], gpt["KG_recall"], gpt["KG_em"]) == (0.14, 0.12, 0.02)
    assert {cells[0] for cells in found.rows} == {"published"}
    assert "origin" not in {column.key for column in found.as_printed().columns}
    said = " ".join(found.notes)
    assert "the numbers of Ji et al. 2025, arXiv:2511.01323 (base: its Tables 4 and 7;" in said
    assert "To be read beside pooled P, pooled R, pooled EM (lexical)." in said
    assert "Tables 4 and 7 swap the rows of GPT-4o and GPT-4o-mini" in said
    assert "The nearest reading is pooled" in said
    for other in ({}, {"benchmark": "../deepambigqa"}, {"benchmark": 3}):
        names = {one.name for one in report_tables(make_report([BASE], meta=other))}
        assert PUBLISHED not in names


def test_own_systems_stand_above_the_published_in_the_same_settings() -> None:
    report = make_report(meta={"benchmark": "deepambigqa"})
    settings = ("base", "+expansion", "tools: +wikisparql")
    systems = [
        replace(one, model="mine", setting=setting)
        for one, setting in zip(report.systems, settings, strict=True)
    ]
    again = replace(systems[0], name="again")
    unlike = replace(systems[0], name="unlike", model="other", setting="k=9")
    found = table(replace(report, systems=(*systems, again, unlike)), PUBLISHED)
    first, second, *published = [cells for cells in found.rows if cells[2] == "ambiguous"]
    # Means of two questions; nothing is of "+extraction".
    shown = [1 / 2 * (1 + 1 / 2), 1 / 3, 0, 1, (1 + 2 / 3) / 2, 1 / 2]
    assert first[:9] == ("measured", "mine", "ambiguous", *map(pytest.approx, shown))
    assert first[9:12] == (None, None, None)
    assert first[12] == mean(systems[2].mean("pooled_precision", "ambiguous"))
    # A second system of one model and setting takes a row of its own.
    assert second == (*first[:6], *[None] * 9)
    assert [cells[:2] for cells in published[:2]] == [
        ("published", "GPT-4o-mini"),
        ("published", "GPT-4o"),
    ]
    assert any(note.startswith("Measured: this report's systems") for note in found.notes)
    assert "origin" in {column.key for column in found.as_printed().columns}


def test_a_single_run_has_no_changes_and_a_task_of_sentences_no_losses(report: StudyReport) -> None:
    names = {found.name for found in report_tables(make_report([BASE]))}
    assert names.isdisjoint({"changes", "differences"})
    systems = tuple(replace(s, run=replace(s.run, analysis=None)) for s in report.systems)
    names = {found.name for found in report_tables(replace(report, systems=systems))}
    assert names == {
        "systems",
        "results",
        "results-answered-and-retrieval",
        "changes",
        "differences",
        "costs",
        "tools",
    }


def test_systems_say_what_they_change_and_how_their_items_ended(report: StudyReport) -> None:
    found = row(table(report, "systems"), "+extraction")
    assert found["changes"] == "extraction: on, tools: local_retriever + wikisparql"
    base = row(table(report, "systems"), "base")
    assert base["changes"] == "expansion: off, extraction: off, tools: default"
    at = {"model": "openai:large-1@http://127.0.0.1:8811/v1"}
    large = make_report([BASE, replace(EXPANDED, changes=at)])
    assert row(table(large, "systems"), "+expansion")["changes"] == "model: large-1"
    assert (found["items"], found["answered"], found["failed"]) == (4, 2, 1)


def test_every_row_fits_its_columns_and_names_are_safe_and_different() -> None:
    tables = report_tables(make_report([BASE, EXPANDED, EXTRACTED], meta={"domain": "../film"}))
    names = [found.name for found in tables]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z][a-z-]*", name) for name in names)
    for found in tables:
        keys = [column.key for column in found.columns]
        assert len(set(keys)) == len(keys)
        assert all(len(cells) == len(keys) for cells in found.rows)


def test_questions_are_in_bins_by_their_own_meta() -> None:
    meta_of = {"q1": {"domain": "film"}, "q2": {"domain": "film"}, "q3": {"domain": "ape"}}
    [(_, _, analysis)] = make_report([BASE], meta_of=meta_of).analysed
    assert bins_of(analysis.places("meta.domain")) == {"ape": {"q3"}, "film": {"q1", "q2"}}


def record(name: str, setting: str, system: object = None, **changes: object) -> SystemRecord:
    own = {"set": "q", "slug": "s", "changes": changes, "digest": "", "base": "base"}
    return SystemRecord(name=name, setting=setting, model="m", system=system or {}, **own)  # type: ignore[arg-type]


def test_levels_are_named_as_the_systems_that_change_nothing_else() -> None:
    tools, at = ("local_retriever", "wikisparql"), "@http://127.0.0.1:8811/v1"
    records = [
        record("base", "base", {"model": f"openai:small-1{at}", "k": 3}),
        record("Tools", "tools: +wikisparql", tools=tools),
        record("model=large-1", "base", model=f"openai:large-1{at}"),
        # No system changes k alone; the model is in several systems.
        record("both", "tools: +wikisparql, k=9", tools=tools, k=9),
        record("two", "k=9", model=f"openai:large-1{at}", k=9),
    ]
    assert factor_levels(records) == {
        "base": {},
        "Tools": {"tools": "Tools"},
        "model=large-1": {"model": "model=large-1"},
        "both": {"tools": "Tools", "k": "k=9"},
        "two": {"model": "model=large-1", "k": "k=9"},
    }
    # Without a system of the model alone it has the same short name.
    assert factor_levels([records[0], records[4]])["two"] == {"model": "model=large-1", "k": "k=9"}


def test_levels_of_several_models_are_named_by_the_setting() -> None:
    records = [
        record("small-1", "base"),
        record("small-1, k=9", "k=9", k=9),
        record("large-1", "base"),
        record("large-1, k=9", "k=9", k=9),
    ]
    assert factor_levels(records)["large-1, k=9"] == {"k": "k=9"}
