from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from branchwise.eval.judging.settle import Settled
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.graphs.ledger import RoleUsage
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.costs import costs_table
from branchwise.report.terminal.costs import cost_tables
from branchwise.runs.costs.prices import Prices
from branchwise.runs.costs.usage import Costs, RoleSpending, run_costs
from branchwise.runs.scoring.scored import ScoredAnswers
from support.ui.report_cases import BASE, make_report

PRICES = Prices.load()
SCORES = score_items(get_task("branches"), [])


def printed(runs: Sequence[tuple[str, Costs]], width: int = 80) -> str:
    console = Console(width=width, force_terminal=False, highlight=False, legacy_windows=False)
    with console.capture() as capture:
        for part in cost_tables(StudyReport.beside([system(*run) for run in runs])):
            console.print(part)
    return capture.get()


def system(name: str, costs: Costs) -> SystemReport:
    return SystemReport(name, ScoredAnswers(Path(name), SCORES, costs, Settled(())))


def some(model: str = "openai:gpt-6-luna", extractor: str | None = None) -> Costs:
    usage = {
        "agent": vars(RoleUsage(5, 1_000_000, 200_000, 0, 150_000, 12.5)),
        "extractor": vars(RoleUsage(40, 40_000, 2_000, 0, 0, 30.0)),
    }
    items = [{"error": None, "usage": usage}, {"error": "boom", "usage": {}}]
    return run_costs(items, {"model": model, "roles": {"extractor": extractor}}, PRICES)


def rows(text: str, label: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.strip().startswith(label)]


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_roles_stand_under_each_other_with_their_sum_and_the_mean() -> None:
    text = printed([("base", some())])
    # agent: 1 million at .1 and .2 million at .5; extractor: .04 at .1 and .002 at .5
    assert rows(text, "agent")[0][1:] == ["5", "1.00M", "0", "200k", "150k", "12.5", ".2000"]
    assert rows(text, "extractor")[0][1:] == ["40", "40.0k", "0", "2,000", "0", "30", ".0050"]
    assert rows(text, "all")[0][1:] == ["45", "1.04M", "0", "202k", "150k", "42.5", ".2050"]
    assert rows(text, "per item")[0][2:] == ["22.5", "520k", "0", "101k", "75.0k", "21.3", ".1025"]
    assert "items 2, 1 of them failed · agent and extractor openai:gpt-6-luna" in one_line(text)
    assert "as of 2026-11-21" in one_line(text)
    assert "no price" not in text


def test_an_unknown_price_is_a_dash_and_the_note_says_what_to_do() -> None:
    text = printed([("base", some(extractor="openai:m@http://localhost:8000/v1"))])
    assert rows(text, "agent")[0][-1] == ".2000"
    assert rows(text, "extractor")[0][-1] == "–"
    assert rows(text, "all")[0][-1] == "–"
    assert rows(text, "per item")[0][-1] == "–"
    note = one_line(text).split("–: ")[1]
    assert note.startswith("no price is known for openai:m@http://localhost:8000/v1; give one")
    assert "--prices FILE" in note


def test_the_note_is_a_table_that_can_be_read(tmp_path: object) -> None:
    import yaml

    from branchwise.runs.costs.prices import PriceTable

    note = one_line(printed([("base", some("openai:m"))], width=400))
    table = PriceTable.model_validate(yaml.safe_load(note.split("as in: ")[1]))
    assert set(table.models) == {"openai:m"}


def test_several_runs_stand_under_each_other_and_fit_80_columns() -> None:
    big = RoleUsage(10**7, 9 * 10**12, 10**12, 10**12, 10**12, 10.0**8)
    huge = run_costs(
        [{"usage": {"agent": vars(big), "extractor": vars(big)}}],
        {"model": "openai:gpt-6.2-sol"},
        PRICES,
    )
    text = printed([("base", some()), ("huge", huge)])
    assert len(rows(text, "agent")) == 2
    assert "base: items 2" in text
    assert "huge: items 1" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_server_that_counts_no_tokens_is_named() -> None:
    usage = {"agent": vars(RoleUsage(calls=2))}
    text = printed(
        [("base", run_costs([{"usage": usage}], {"model": "openai:gpt-6.2-sol"}, PRICES))]
    )
    assert rows(text, "agent")[0][-1] == "–"
    assert "the server of openai:gpt-6.2-sol did not count tokens" in one_line(text)


def test_matcher_and_judge_have_their_rows() -> None:
    judge = RoleSpending("openai:gpt-6.2-sol", RoleUsage(1, 200, 12))
    found = run_costs([], {"model": "offline"}, PRICES, {"judge": judge})
    # 200 at 2 and 12 at 10 per million
    assert rows(printed([("x", found)]), "judge")[0][-1] == ".00052"


def given(path: Path, *lines: str) -> Prices:
    """The user's prices over the built-in ones."""
    path.write_text("models:\n" + "\n".join(f"  {line}" for line in lines))
    return Prices.load(path)


def test_a_price_that_no_model_goes_by_is_named_with_the_model_it_may_mean(tmp_path: Path) -> None:
    prices = given(
        tmp_path / "p.yaml",
        "openai:Qwen3-8B: {input: 1, output: 1}",
        *(f"openai:zz{n}: {{input: 1, output: 1}}" for n in range(4)),
    )
    usage = {"agent": vars(RoleUsage(2, 3000, 10))}
    found = run_costs(
        [{"usage": usage}], {"model": "openai:Qwen/Qwen3-8B@http://a-long-address:8000/v1"}, prices
    )
    text = one_line(printed([("base", found)], width=200))
    told = "no model of this run is called"
    assert f"{told} openai:Qwen3-8B; near: openai:Qwen/Qwen3-8B" in text
    assert text.count(told) == 3
    assert "nor by 2 more of its names" in text
    used = run_costs([{"usage": usage}], {"model": "openai:Qwen3-8B@http://h:1/v1"}, prices)
    assert "openai:Qwen3-8B;" not in printed([("base", found), ("other", used)])


def test_published_prices_are_cited_only_where_one_was_used(tmp_path: Path) -> None:
    prices = given(tmp_path / "p.yaml", "openai:gpt-6.2-sol: {input: 1, output: 1}")
    usage = {"agent": vars(RoleUsage(2, 3000, 10)), "extractor": vars(RoleUsage(1, 10, 10))}
    own = run_costs([{"usage": usage}], {"model": "openai:gpt-6.2-sol"}, prices)
    assert "USD by --prices" in printed([("base", own)])
    assert "developers.openai.com" not in printed([("base", own)])
    system = {"model": "openai:gpt-6.2-sol", "roles": {"extractor": "openai:gpt-6-luna"}}
    both = run_costs([{"usage": usage}], system, prices)
    assert "developers.openai.com" in printed([("base", both)])
    free = run_costs([{"usage": usage}], {"model": "offline"}, Prices.load())
    assert "USD by" not in printed([("base", free)])


def test_hostile_names_are_shown_as_text() -> None:
    text = printed([("[red]\x1b[2J", some("openai:[b]x\x1b]0;y"))])
    assert "[red]" in text
    assert "openai:[b]x" in text
    assert "\x1b" not in text


def test_tokens_a_right_answer_are_of_all_roles_and_unknown_where_none_is_right() -> None:
    base, lost = make_report([BASE, replace(BASE, name="lost", answers={})]).systems
    judge = RoleSpending("openai:gpt-6.2-sol", RoleUsage(1, 300, 100))
    usage = {"agent": vars(RoleUsage(5, 3_000, 600))}
    costs = run_costs([{"usage": usage}], {"model": "offline"}, PRICES, {"judge": judge})
    runs = [replace(system.run, costs=costs) for system in (base, lost)]
    # Four of BASE's nine gold answers are right (tests/support/ui/report_cases.py).
    assert [run.tokens_per_right for run in runs] == [4_000 / 4, None]
    report = StudyReport.beside([SystemReport("x", run) for run in runs])
    assert [row[-1] for row in costs_table(report).rows if row[1] == "per item"] == [1_000, None]
    assert [row[-1] for row in costs_table(report).rows if row[1] == "all"] == [None, None]
