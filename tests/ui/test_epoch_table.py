"""The table of spread over epochs."""

from rich.console import Console

from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.ceilings.epochs import EpochSpread, MetricSpread
from branchwise.eval.tasks import get_task
from branchwise.ui.epoch_table import epoch_tables

SPREAD = EpochSpread(
    3,
    {
        "all": {
            "strict_precision": MetricSpread(8, 0.1, 0.02, 0.6, 0.5),
            "strict_recall": MetricSpread(8, 0.25, 0.125, 0.75, 0.5),
            "strict_em": MetricSpread(0),
        }
    },
    {
        "all": {
            "union_recall": Aggregate(0.875, 8, None, None),
            "mean_recall": Aggregate(0.625, 8, None, None),
        }
    },
)


def shown(*runs: tuple[str, EpochSpread]) -> list[str]:
    console = Console(width=80, no_color=True)
    with console.capture() as captured:
        headline = get_task("branches").headline
        for part in epoch_tables([(*run, headline) for run in runs]):
            console.print(part)
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_a_row_a_metric_and_what_asking_again_finds() -> None:
    lines = shown(("base", SPREAD))
    assert "strict R 8 3 .25 .12 .75 .50" in lines
    assert "strict EM 0 3 – – – –" in lines
    assert "all epochs together find .88 of the gold answers, one finds .62" in " ".join(lines)


def test_runs_with_one_epoch_show_nothing() -> None:
    assert shown() == []


def test_names_show_as_text() -> None:
    assert any("[bold]x" in line for line in shown(("[bold]x\x1b[31m", SPREAD)))
