"""The published numbers that ship, and what a file of such numbers may hold."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from branchwise.base.errors import InputError
from branchwise.base.numbers import as_text
from branchwise.eval.bootstrap import Aggregate
from branchwise.eval.tasks import get_task
from branchwise.graphs.system import System
from branchwise.report.published import (
    Published,
    PublishedTable,
    benchmark_of,
    benchmarks,
    published,
    published_beside,
    read_published,
)
from branchwise.report.table import column_groups
from branchwise.report.tables.published import published_tables
from branchwise.report.terminal.report_table import with_notes
from support.ui.report_cases import make_report

FOLDER = Path(__file__).parents[2] / "report" / "published"

# Tables 4, 5 and 7 as printed: precision, recall and exact match, each non-ambiguous/ambiguous.
PRINTED = """
GPT-4o-mini        .84/.83 .52/.33 .11/.03  .87/.84 .51/.42 .09/.08  .85/.85 .58/.37 .13/.05  .12/.06 .14/.07 .01/.00
GPT-4o             .91/.84 .57/.41 .14/.05  .90/.88 .60/.48 .15/.08  .92/.87 .55/.44 .15/.07  .24/.10 .18/.08 .02/.01
GPT-5-mini         .90/.87 .64/.44 .16/.09  .91/.89 .67/.54 .17/.14  .92/.89 .69/.48 .18/.10  .25/.11 .22/.10 .02/.01
GPT-5              .93/.91 .71/.48 .21/.13  .93/.90 .74/.61 .23/.18  .94/.91 .73/.52 .19/.13  .30/.14 .28/.12 .03/.02
Qwen2.5-3B         .82/.78 .34/.17 .03/.01  .84/.78 .31/.18 .04/.03  .83/.81 .37/.19 .04/.04  .08/.03 .10/.04 .00/.00
Qwen2.5-7B         .83/.80 .40/.21 .05/.01  .86/.82 .44/.25 .08/.04  .85/.80 .45/.27 .09/.04  .15/.05 .12/.05 .01/.00
Qwen3-4B           .84/.84 .45/.25 .07/.03  .85/.78 .47/.29 .09/.06  .88/.79 .48/.28 .08/.06  .18/.07 .14/.06 .01/.00
Qwen3-8B           .84/.85 .55/.39 .12/.05  .88/.84 .54/.42 .14/.07  .81/.82 .59/.42 .14/.06  .22/.08 .20/.08 .02/.01
DS-R1-distill-1.5B .73/.74 .33/.08 .02/.01  .82/.74 .35/.13 .03/.03  .77/.76 .39/.12 .03/.03  .05/.02 .08/.03 .00/.00
DS-R1-distill-7B   .82/.79 .51/.14 .06/.02  .85/.78 .54/.15 .08/.04  .83/.79 .54/.17 .07/.03  .12/.04 .11/.04 .01/.00
"""  # noqa: E501
SETTINGS = ("base", "+expansion", "+extraction", "+KG")
METRICS = ("precision", "recall", "em")

# The forms of other papers: deviations, several tables, percentages, no subsets.
OTHER: dict[str, Any] = {
    "benchmark": "other",
    "paper": "Doe 2026",
    "about": {
        "title": "Other",
        "tasks": ["condambigqa"],
        "page": "docs/other.md",
        **dict.fromkeys(("asks", "sizes", "source", "licence", "get", "cost"), "-"),
    },
    "notes": [],
    "metrics": {
        "answer": {"title": "answer", "digits": 3},
        "answer_sd": {"title": "±", "unit": "value", "digits": 3},
        "bleu": {"title": "BLEU-4", "digits": 3},
        "number": {"title": "number", "unit": "value", "digits": 1},
    },
    "tables": [
        {
            "name": "models",
            "title": "models",
            "task": "condambigqa",
            "row": "model",
            "settings": {"main": {"place": "Table 2"}},
            "subsets": ["all"],
            "metrics": ["answer", "answer_sd"],
            "rows": {"Mistral": {"main": {"all": {"answer": 0.272, "answer_sd": 0.137}}}},
        },
        {
            "name": "questions",
            "title": "questions",
            "task": "condambigqa",
            "row": "answers",
            "settings": {"none": {"place": "Table 4"}, "gold": {"place": "Table 4"}},
            "subsets": ["all"],
            "metrics": ["bleu", "number"],
            "rows": {
                "predicted": {
                    "none": {"all": {"bleu": 0.079, "number": 2.0}},
                    "gold": {"all": {"bleu": 0.154, "number": 3.7}},
                }
            },
        },
    ],
}


@dataclass(frozen=True)
class Marked:
    meta: dict[str, Any] = field(default_factory=dict)


def written(folder: Path, content: object, name: str = "other") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(
        content if isinstance(content, str) else yaml.safe_dump(content, sort_keys=False)
    )
    return path


# Table 2: mean and deviation over predictions of condition, answer and citation score.
TABLE_2 = """
Mistral  .316 .116 .272 .137 .036 .116
Qwen2.5  .317 .103 .297 .159 .050 .134
Gemma2   .309 .111 .306 .135 .077 .173
GLM4     .313 .110 .295 .153 .059 .151
LLaMA3.1 .305 .103 .276 .136 .058 .144
"""
# Answer and citation scores without, with own and with gold conditions.
FIGURE_5 = """
Mistral  .15 .05  .27 .04  .24 .09
Qwen2.5  .13 .05  .30 .05  .39 .19
Gemma2   .13 .06  .31 .08  .37 .20
GLM4     .15 .08  .29 .06  .35 .20
LLaMA3.1 .13 .07  .28 .06  .30 .21
"""


def test_condambigqa_is_as_printed() -> None:
    for table, printed in zip(published("condambigqa").tables, (TABLE_2, FIGURE_5), strict=True):
        rows = dict(zip(table.rows, values_of(table), strict=True))
        numbers = {name: [*map(float, cells)] for name, *cells in map(str.split, lines(printed))}
        assert rows == numbers


def lines(printed: str) -> list[str]:
    return printed.strip().splitlines()


def test_citations_are_shown_by_recall_over_predictions_alone() -> None:
    metrics = published("condambigqa").metrics
    assert {metrics[key].ours for key in ("citation", "citation_score")} == {("paper_citation",)}


# Tables 3 to 8, in percent but for numbers of options and answers.
DETECTION = "63.9 61.9 60.7 61.3  56.5 59.7 24.1 34.3"
QUESTIONS = """
7.9 88.9 20.2 47.3 37.4 18.2 24.5 2.0
7.9 88.9 22.8 44.0 36.9 19.0 25.1 2.0
15.4 89.6 25.2 46.9 34.3 34.4 34.3 3.7
"""


# By reader, without, with predicted and gold answers, with the gold question.
ANSWERS = """
NQ-trained 47.9 25.2 33.0 1.5  49.6 26.2 34.3 1.5  39.7 37.5 38.6 2.0  47.5 39.8 43.3 2.0
CQ-tuned   54.4 31.1 39.6 1.6  55.4 32.0 40.5 1.6  47.5 49.5 48.5 2.5  58.0 53.8 55.8 2.5
"""
WHOLE = "43.2 19.9 27.3  42.8 19.6 26.9  22.5 8.3 12.1  24.7 9.0 13.1"
GOLD_QUESTION = "CQ-tuned 58.0 53.8 55.8 35.8  InstructGPT 7.4 60.0 13.1 43.2"
DIALOGUE = "zero-shot 8.0 64.5 14.3 50.8  four-shot 11.3 64.0 19.2 49.9"


def in_percent(found: Published, table: PublishedTable) -> list[str]:
    """Each row as printed: its name, then its numbers, shares in percent."""
    times = {key: 100 if found.metrics[key].unit == "share" else 1 for key in table.metrics}
    cells = []
    for name, row in table.rows.items():
        (subset,) = table.subsets
        scores = [(key, row[one][subset][key]) for one in table.settings for key in times]
        cells += [name, *(f"{value * times[key]:.1f}" for key, value in scores)]
    return cells


def test_cambignq_is_as_printed() -> None:
    found = published("cambignq")
    tables = {table.name: in_percent(found, table) for table in found.tables}
    assert tables.pop("detection") == ["trained", *DETECTION.split()]
    rows = [line.split() for line in QUESTIONS.strip().splitlines()]
    for name, cells in (("question", (0, 2)), ("category", (2, 4)), ("options", (4, 8))):
        expected = ["trained", *(cell for row in rows for cell in row[slice(*cells)])]
        assert tables.pop(name) == expected
    by_reader = [line.split() for line in ANSWERS.strip().splitlines()]
    numbers = [[name, *cells[3::4]] for name, *cells in by_reader]
    assert tables.pop("answer-numbers") == [cell for row in numbers for cell in row]
    for row in by_reader:
        del row[4::4]
    assert tables.pop("answers") == [cell for row in by_reader for cell in row]
    assert tables.pop("whole") == ["trained", *WHOLE.split()]
    assert tables.pop("gold-question") == GOLD_QUESTION.split()
    assert tables.pop("dialogue") == DIALOGUE.split()
    assert not tables
    assert any("Tables 7 and 8" in note for note in found.notes)


def of_every_benchmark() -> list[Any]:
    pairs = [(found, table) for found in map(published, benchmarks()) for table in found.tables]
    return [pytest.param(*pair, id=f"{pair[0].benchmark}-{pair[1].name}") for pair in pairs]


@pytest.mark.parametrize(("found", "table"), of_every_benchmark())
def test_a_terminal_of_80_columns_shows_every_name_and_number(
    found: Published, table: PublishedTable
) -> None:
    report = replace(make_report(), published=found, task=get_task(table.task))
    (laid_out,) = (one for one in published_tables(report) if one.name == f"published-{table.name}")
    console = Console(width=80, highlight=False, emoji=False)
    with console.capture() as capture:
        for part in with_notes(laid_out.as_printed()):
            console.print(part)
    shown = capture.get()
    lines = [line.strip() for line in shown.splitlines()]
    assert max(map(len, shown.splitlines())) <= 80
    assert "…" not in shown
    assert len(table.settings) == 1 or all(name in shown for name in table.settings)
    for name, settings in table.rows.items():
        assert name in shown
        # A lone row is named in the title.
        own = [line for line in lines if line.startswith(f"{name}  ") or len(table.rows) == 1]
        wanted = Counter(
            as_text(scores[key], found.metrics[key].unit, found.metrics[key].digits)
            for by_subset in settings.values()
            for scores in by_subset.values()
            for key in table.metrics
        )
        assert wanted <= Counter(word for line in own for word in line.split()), name


def test_measured_protocols_stand_above_the_published_ones() -> None:
    report = make_report()
    task = get_task("condambigqa", "paper-code")
    system = report.systems[0]
    told = Aggregate(0.4, 3, None, None)
    scores = replace(system.scores, aggregates={"all": {"paper_answer": told}})
    guided = replace(
        system,
        model="m",
        changes={"protocol": "guided"},
        run=replace(system.run, scores=scores, system=System(protocol="guided")),
    )
    report = replace(report, systems=(guided,), published=published("condambigqa"), task=task)
    models, protocols = published_tables(report)
    assert protocols.rows[0] == ("measured", "m", "all", *[None] * 4, 0.4, None)
    assert all(row[0] == "published" for row in models.rows)
    # Scored in another way, by what is nearest there.
    graded = {"answer_score": replace(told, mean=0.3), "answer_f1": told}
    scores = replace(scores, aggregates={"all": graded})
    one_to_one = replace(guided, run=replace(guided.run, scores=scores))
    _, protocols = published_tables(replace(report, systems=(one_to_one,)))
    assert protocols.rows[0] == ("measured", "m", "all", *[None] * 4, 0.3, None)
    assert any("read beside answer score (" in note for note in protocols.notes)
    # Another module is another setting than the paper's.
    further = replace(guided, changes={"protocol": "guided", "expansion": True})
    _, protocols = published_tables(replace(report, systems=(further,)))
    assert all(row[0] == "published" for row in protocols.rows)


def test_deepambigqa_is_as_printed() -> None:
    (table,) = published("deepambigqa").tables
    found = dict(table.rows)
    for line in PRINTED.strip().splitlines():
        name, *cells = line.split()
        scores = found.pop(name)
        for place, pair in enumerate(cells):
            setting, metric = SETTINGS[place // 3], METRICS[place % 3]
            values = (scores[setting][kind][metric] for kind in ("unambiguous", "ambiguous"))
            assert [f"{value:.2f}"[1:] for value in values] == pair.split("/"), (name, setting)
    assert not found


# MDCR's Table 1 as printed, in percent: short answer, exact F1, relaxed F1 without hints, with
# documents, values, relations, and all three.
MDCR = """
0-shot, GPT-4o             76.4/46.8/60.8  76.4/56.1/66.2  79.5/52.5/66.3  81.2/48.5/62.8  86.3/57.2/69.4
0-shot, Llama-3-70B        59.2/19.5/40.0  66.6/27.7/47.2  60.7/25.9/43.4  57.0/16.6/33.5  73.0/38.8/55.7
0-shot, Llama-3-8B         23.4/3.01/11.3  51.4/13.4/21.0  23.8/4.82/11.8  23.7/3.29/13.8  61.6/35.7/43.4
0-shot, Gemma-7B           52.5/14.6/25.4  62.2/17.5/27.7  58.1/14.1/18.5  54.2/14.2/27.2  46.4/8.39/19.3
1-shot, GPT-4o             68.7/40.4/54.2  68.3/46.2/58.3  72.6/47.4/60.9  75.2/39.1/53.0  82.1/53.0/66.7
1-shot, Llama-3-70B        68.2/33.0/48.9  71.0/36.8/54.9  70.4/38.9/53.3  72.4/31.8/45.6  72.9/41.9/57.9
1-shot, Llama-3-8B         58.7/27.1/41.6  64.4/27.1/43.5  60.7/29.6/42.6  63.8/28.4/42.6  63.2/31.6/45.7
1-shot, Gemma-7B           58.9/23.6/34.6  59.9/27.5/39.6  62.8/21.9/27.8  67.6/25.7/38.3  74.5/25.3/38.6
1-shot, steps, GPT-4o      67.8/46.8/59.4  70.9/52.4/64.7  76.4/53.0/67.3  75.8/47.3/59.9  87.9/63.2/78.0
1-shot, steps, Llama-3-70B 63.6/30.9/45.7  65.6/37.5/52.5  63.3/32.7/45.6  64.8/27.4/41.0  71.7/40.7/57.1
1-shot, steps, Llama-3-8B  61.3/29.3/41.0  64.6/28.6/39.4  63.8/30.2/37.4  63.4/30.2/40.5  67.0/31.0/40.7
1-shot, steps, Gemma-7B    59.0/18.6/29.4  55.9/18.9/33.2  61.8/17.8/25.7  63.9/20.1/32.4  68.7/26.0/37.6
"""  # noqa: E501
# Its Table 2: by type Q1, Q2, Q3 and all, of each model with several documents and with one; its
# Table 3: without and with hints.
MDCR_TYPES = """
GPT-4o      66.1 24.0 82.1 76.9 56.2 17.9 68.7 40.4  81.0 57.8 81.2 60.1 88.5 68.5 83.5 62.0
Llama-3-70B 75.9 14.0 81.0 76.4 43.3 5.82 68.2 33.0  83.4 40.9 80.5 39.6 85.4 40.5 83.1 40.4
Llama-3-8B  62.6 9.0  80.3 79.0 37.6 4.04 58.7 27.1  50.4 25.8 50.8 26.2 63.1 24.2 54.8 25.4
Gemma-7B    59.3 12.5 78.2 76.5 47.2 3.6  58.9 23.6  72.8 27.5 53.6 25.8 78.8 25.1 68.4 26.1
"""
MDCR_ERRORS = "22 0 31 7 47 22 62 38 27 9 30 31 6 7 12 15 5 0"


def values_of(table: Any) -> list[list[float]]:
    """The numbers of each row in their order."""
    return [
        [value for by in settings.values() for value in by["all"].values()]
        for settings in table.rows.values()
    ]


def test_mdcr_is_as_printed() -> None:
    strategies, types, errors = published("mdcr").tables
    printed = [line.rsplit("  ", 4) for line in MDCR.strip().splitlines()]
    assert len(printed) == len(strategies.rows) == 12
    for (name, scores), (first, *others) in zip(strategies.rows.items(), printed, strict=True):
        *_, of_none = first.split()
        assert first.startswith(name)
        cells = [float(one) for cell in (of_none, *others) for one in cell.strip().split("/")]
        found = [scores[s]["all"][m] for s in strategies.settings for m in strategies.metrics]
        assert [100 * value for value in found] == pytest.approx(cells), name
    by_type = iter(types.rows.items())
    for model, *cells in map(str.split, MDCR_TYPES.strip().splitlines()):
        for place, (name, scores) in zip(range(0, 8, 2), by_type, strict=False):
            assert name.startswith(f"{model}, ")
            found = [value for by in scores.values() for value in by["all"].values()]
            wanted = cells[place : place + 2] + cells[place + 8 : place + 10]
            assert [100 * value for value in found] == pytest.approx([*map(float, wanted)])
    assert next(by_type, None) is None
    assert [n for row in values_of(errors) for n in row] == [*map(float, MDCR_ERRORS.split())]
    classes = get_task("mdcr").error_classes
    assert classes is not None
    assert [*errors.rows] == [one.title for one in classes.types[:9]]


def test_every_benchmark_says_what_must_be_known_to_run_it() -> None:
    root = Path(__file__).parents[2]
    for name in benchmarks():
        about = published(name).about
        assert (root / about.page).is_file()
        assert all(get_task(task) for task in about.tasks)
        assert {table.task for table in published(name).tables} <= {*about.tasks}


def test_other_papers_tables_are_laid_out_as_they_are() -> None:
    found = Published.model_validate(OTHER)
    report = replace(make_report(), published=found, task=get_task("condambigqa"))
    models, questions = published_tables(report)
    assert [column.key for column in models.columns[3:]] == ["answer", "answer_sd"]
    assert not column_groups(models.columns)
    assert models.rows == (("published", "Mistral", "all", 0.272, 0.137),)
    assert [column.key for column in questions.columns[3:]] == [
        "none_bleu", "none_number", "gold_bleu", "gold_number",
    ]  # fmt: skip
    assert questions.rows == (("published", "predicted", "all", 0.079, 2.0, 0.154, 3.7),)
    assert [models.name, questions.name] == ["published-models", "published-questions"]
    assert not any("To be read beside" in note for note in models.notes)


def at(*place: str | int) -> Callable[[Any], Any]:
    def found(content: Any) -> Any:
        for key in place:
            content = content[key]
        return content

    return found


SCORES = at("tables", 0, "rows", "Mistral", "main", "all")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: SCORES(c).pop("answer"), "the metric 'answer' is missing; every row has all"),
        (lambda c: SCORES(c).update(answr=0.1), "unknown metric 'answr'; did you mean answer?"),
        (lambda c: SCORES(c).update(answer=27.2), "answer is 27.2; a share is 0 to 1"),
        (lambda c: SCORES(c).update(answer="0.2"), "answer is '0.2': Input should be a valid num"),
        (
            lambda c: at("tables", 1, "rows", "predicted")(c).pop("gold"),
            "the setting 'gold' is missing; every row has all",
        ),
        (lambda c: at("tables", 0)(c).update(subsets=["al"]), "unknown subset 'al'; did you mean"),
        (lambda c: at("tables", 1)(c).update(name="models"), "models is the name of two tables"),
        (lambda c: at("tables", 0)(c).update(colour=1), "unknown field 'colour'"),
        (lambda c: at("metrics", "bleu")(c).pop("title"), "title is missing"),
        (
            lambda c: at("metrics", "answer")(c).update(ours=["answer_f"]),
            "condambigqa has no column 'answer_f'; did you mean answer_f1?",
        ),
        (lambda c: c.update(notes=["x" * 301]), "notes is 'xxxx"),
        (lambda c: c.update(benchmark="another"), "benchmark is 'another', the file other"),
    ],
)
def test_a_file_with_a_mistake_is_refused_in_one_line(tmp_path, change, problem):
    content = deepcopy(OTHER)
    change(content)
    path = written(tmp_path, content)
    with pytest.raises(InputError) as raised:
        read_published(path)
    message = str(raised.value)
    assert "\n" not in message
    where, _, what = message.removeprefix(f"{path}:").partition(": ")
    assert where.isdigit()
    assert what.startswith(problem)


def test_the_line_of_a_mistake_is_named(tmp_path: Path) -> None:
    text = (FOLDER / "deepambigqa.yaml").read_text()
    wrong = text.replace("precision: 0.91, recall: 0.48", "precision: 91, recall: 0.48", 1)
    path = written(tmp_path, wrong, "deepambigqa")
    line = next(n for n, one in enumerate(wrong.splitlines(), 1) if "precision: 91" in one)
    with pytest.raises(InputError, match=rf"deepambigqa\.yaml:{line}: precision is 91\.0; a share"):
        read_published(path)


def test_a_benchmark_without_published_numbers_is_refused() -> None:
    with pytest.raises(InputError, match="'deepambiqa' here; did you mean deepambigqa\\?"):
        published("deepambiqa")
    with pytest.raises(InputError, match="known are ambignq, cambignq, condambigqa, deepambigqa"):
        published("../x")


OWN = Marked({"benchmark": "deepambigqa"})
GENERATED = Marked({"benchmark": "deepambigqa", "generated": True})


def test_they_stand_beside_questions_that_all_say_so() -> None:
    assert benchmark_of([OWN, OWN]) == "deepambigqa"
    assert published_beside([OWN, OWN]) == published("deepambigqa")
    for others in ([], [Marked()], [OWN, Marked()], [OWN, Marked({"benchmark": "condambigqa"})]):
        assert published_beside(others) is None
    for strange in (3, None, ["deepambigqa"], "../deepambigqa", "nothing"):
        assert published_beside([Marked({"benchmark": strange})]) is None


@pytest.mark.parametrize("questions", [[GENERATED], [OWN, GENERATED]])
def test_beside_generated_questions_a_note_says_so(questions: list[Marked]) -> None:
    found = published_beside(questions)
    assert found is not None
    first, *others = found.notes
    assert first.startswith("The questions of this report are not the paper's: they were generated")
    assert tuple(others) == published("deepambigqa").notes


def test_they_can_be_asked_for_beside_any_questions() -> None:
    assert published_beside([OWN], "deepambigqa") == published("deepambigqa")
    asked = published_beside([Marked()], "deepambigqa")
    assert asked is not None
    assert "not the paper's" in asked.notes[0]
    with pytest.raises(InputError, match="did you mean"):
        published_beside([OWN], "deepambigq")
