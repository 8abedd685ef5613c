"""Protocols beside each other, bands of scores, and scores by the number of conditions."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.settle import Settled
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.graphs.system import System
from branchwise.report.figures.lines import protocol_figure
from branchwise.report.study_report import StudyReport, SystemReport
from branchwise.report.tables.protocols import protocol_tables
from branchwise.report.terminal.run_report import run_report
from branchwise.runs.costs.usage import NO_COSTS
from branchwise.runs.scoring.scored import ScoredAnswers
from support.eval.scoring_cases import branches

GOLD = {"q1": {"a": ["red blue"]}, "q2": {"a": ["red blue"], "b": ["green"]}}


def system(protocol: str, said: dict[str, str]) -> SystemReport:
    items = [
        AnsweredItem(
            Question(id=id, question="?", branches=branches(gold)),
            Prediction(answers={"a": (said[id],)}),
            protocol=protocol,
        )
        for id, gold in GOLD.items()
    ]
    scores = score_items(get_task("condambigqa"), items)
    run = ScoredAnswers(
        Path(protocol), scores, NO_COSTS, Settled(items), system=System(protocol=protocol)
    )
    return SystemReport(protocol, run, {"protocol": protocol}, model="m")


# Answer F1 by hand: 1 and 1 / 2; 2/3 and 0.
OWN = system("default", {"q1": "red blue", "q2": "red blue"})
GUIDED = system("guided", {"q1": "red", "q2": "black"})


def test_protocols_of_a_model_stand_in_a_row() -> None:
    table, _, _ = protocol_tables(StudyReport.beside([OWN, GUIDED]))
    ((model, without, own, gold, closed),) = table.rows
    assert (model, without, closed) == ("m", None, None)
    assert own.mean == pytest.approx(0.75)
    assert gold.mean == pytest.approx(1 / 3)
    figure = protocol_figure(StudyReport.beside([OWN, GUIDED]))
    assert figure is not None
    assert figure.columns == ("own", "gold")


def test_what_differs_in_more_than_the_protocol_stays_out() -> None:
    other = replace(GUIDED, changes={"protocol": "guided", "k": 3})
    report = StudyReport.beside([OWN, other])
    assert next(iter(protocol_tables(report))).rows == ()
    assert protocol_figure(report) is None


def test_bands_begin_with_their_lower_end_and_name_questions() -> None:
    _, bands, by = protocol_tables(StudyReport.beside([OWN]))
    answers = [row[2:] for row in bands.rows if row[1] == "answer F1"]
    assert answers == [
        ("below .20", 0, None),
        (".20 to .35", 0, None),
        (".35 to .50", 0, None),
        (".50 and above", 2, "q1, q2"),
    ]
    assert "Answers are sentences" in bands.notes[1]
    assert [(row[1], row[2], row[3].mean) for row in by.rows] == [("1", 1, 1.0), ("2", 1, 0.5)]


def test_a_terminal_shows_scores_by_conditions_where_they_are_asked_for() -> None:
    console = Console(record=True, width=100, file=StringIO())
    console.print(*run_report([OWN], ["conditions"]))
    text = console.export_text()
    assert "by gold conditions" in text
    assert "Answers are sentences" in text
