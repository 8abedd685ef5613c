"""`branchwise score` and `branchwise report` on files and runs; what `--matcher` means."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from branchwise.base.errors import InputError
from branchwise.commands.report import report
from branchwise.commands.score import score
from branchwise.corpora.questions import Question
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.runs.forks import make_fork
from branchwise.runs.options import MatchOptions
from branchwise.runs.store import RunSpec, RunStore, create_run, open_run
from branchwise.runs.store.recordings import open_recordings
from support.eval.scoring_cases import question

app = typer.Typer()
app.command()(score)
app.command()(report)

HEATS = {"Heat (1986 film)": ["Burt Reynolds"], "Heat (1995 film)": ["Al Pacino"]}


def run(*arguments: object) -> str:
    """Standard output. Raises what the command raises, InputError above all."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "q.jsonl"
    lines = [
        question("q1", HEATS).model_dump(mode="json"),
        {"id": "q2", "question": "?", "answers": {"default": ["A"]}},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    return file


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    file = tmp_path / "mine.jsonl"
    file.write_text(json.dumps({"id": "q1", "answers": {"1995": ["Al Pacino"]}}))
    return file


@pytest.fixture
async def run_folder(tmp_path: Path) -> Path:
    """Two questions: one answered, one pending."""
    asked = [question("q1", HEATS), question("q2", {"default": ["A"]})]
    return await one_answered(tmp_path / "run", asked)


async def one_answered(path: Path, asked: Sequence[Question], task: str = "branches") -> Path:
    """A run in which the first question is answered."""
    spec = RunSpec(task, "q.jsonl", "", {"model": "offline"}, {}, "", 1, "0")
    create_run(path, spec, asked)
    with RunStore(path) as store:
        journal = store.begin(next(store.pending()))
        prediction = {"answers": {"Heat 1995": ["Al Pacino"]}}
        record = {"evidence": [], "how": "strict", "usage": {}, "error": None}
        await journal.finish("done", {"prediction": prediction} | record)
    return path


def test_the_count_of_questions_without_a_prediction_is_shown(questions, predictions):
    text = run("score", "--questions", questions, "--predictions", predictions)
    assert "without a prediction 1" in " ".join(text.split())


def test_another_task_may_score_the_same_file(questions: Path, predictions: Path) -> None:
    arguments = ["--questions", questions, "--predictions", predictions, "--task", "condambigqa"]
    document = json.loads(run("score", *arguments, "--json"))
    assert document["aggregates"]["ambiguous"]["answer_f1"]["mean"] == 0.5


def test_a_run_is_scored_and_its_scores_are_kept(run_folder: Path) -> None:
    document = json.loads(run("score", run_folder, "--json"))
    assert document["name"] == "run"
    assert document["aggregates"]["all"]["strict_precision"]["mean"] == 1.0
    saved = open_run(run_folder).saved_scores(document["digest"])
    assert saved is not None
    assert saved["aggregates"] == document["aggregates"]


def test_items_that_have_not_ended_are_said_and_not_counted(run_folder: Path) -> None:
    result = CliRunner().invoke(app, ["score", str(run_folder), "--json"])
    assert "1 of 2 items have not ended" in " ".join(result.stderr.split())
    assert json.loads(result.stdout)["counts"]["items"] == 1


def test_report_compares_runs_with_the_first_in_json(run_folder: Path) -> None:
    first, second = json.loads(run("report", run_folder, run_folder, "--json"))
    assert first["comparison"] is None
    found = {(d["metric"], d["subset"]): d for d in second["comparison"]["differences"]}
    assert found["strict_recall", "all"]["difference"] == 0.0
    assert found["strict_recall", "all"]["n"] == 1


def test_report_prints_or_writes_its_tables(run_folder: Path, tmp_path: Path) -> None:
    printed = run("report", run_folder, "--markdown", "-")
    assert printed.startswith("# run\n")
    assert "| run | ambiguous | 1 | 1.00 | .50 | .00 |" in printed
    assert run("report", run_folder, "--csv", tmp_path / "csv") == ""
    assert (tmp_path / "csv" / "results.csv").is_file()
    with pytest.raises(InputError, match="is named twice"):
        run("report", run_folder, run_folder, "--latex", "-")


def test_published_numbers_are_shown_where_they_are_asked_for(run_folder: Path) -> None:
    assert "GPT-4o-mini" not in run("report", run_folder)
    printed = run("report", run_folder, "--published", "deepambigqa")
    assert "ambiguous · measured" in printed
    assert "  GPT-4o-mini" in printed
    assert "The questions of this report are not the paper's" in " ".join(printed.split())
    written = run("report", run_folder, "--published", "deepambigqa", "--markdown", "-")
    assert "| published | GPT-4o-mini | ambiguous | .83 | .33 | .03 |" in written
    assert "## Published" not in run("report", run_folder, "--markdown", "-")


@pytest.mark.slow
async def test_published_numbers_are_shown_where_the_questions_say_so(tmp_path: Path) -> None:
    said = question("q1", HEATS).model_copy(update={"meta": {"benchmark": "deepambigqa"}})
    path = await one_answered(tmp_path / "run", [said])
    assert "GPT-4o-mini" not in run("report", path)
    printed = run("report", path, "--full")
    assert "  GPT-4o-mini" in printed
    assert "are not the paper's" not in printed
    assert "GPT-4o-mini" not in run("report", path, "--published", "none")
    assert "## Published" not in run("report", path, "--published", "none", "--markdown", "-")


async def test_published_numbers_that_there_are_not_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'deepambigq' here; did you mean deepambigqa\\?"):
        run("report", "R", "--published", "deepambigq")
    path = await one_answered(tmp_path / "run", [question("q1", HEATS)], task="condambigqa")
    with pytest.raises(InputError, match="of deepambigqa was not scored as condambigqa; leave"):
        run("report", path, "--published", "deepambigqa")


@pytest.mark.parametrize(
    "arguments", ["", "--questions q", "--predictions p", "R --questions q", "R --task t"]
)
def test_an_unclear_request_is_refused(arguments: str) -> None:
    with pytest.raises(InputError, match="name either a run folder, or --questions and"):
        run("score", *arguments.split())


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for command in ("score", "report"):
        with pytest.raises(InputError, match="no such run"):
            run(command, tmp_path / "nothing")
    # Nor is a folder without parents.
    with pytest.raises(InputError, match="is not a run folder"):
        run("report", Path("/"))


def test_a_run_in_which_nothing_has_ended_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new"
    spec = RunSpec("branches", "q", "", {}, {}, "", 1, "0")
    create_run(path, spec, [question("q1", HEATS)])
    for command in ("score", "report"):
        with pytest.raises(InputError, match=r"no item has ended yet; .*: branchwise resume"):
            run(command, path)


def test_a_run_of_a_study_goes_on_with_the_study(tmp_path: Path) -> None:
    path = tmp_path / "S" / "runs" / "base"
    create_run(path, RunSpec("branches", "q", "", {}, {}, "", 1, "0"), [question("q1", HEATS)])
    (tmp_path / "S" / "study.json").write_text("{}")
    with pytest.raises(InputError, match=r"continue with: branchwise resume .*/S$"):
        run("report", path)


def test_a_fork_or_a_replay_of_a_study_names_its_runs(tmp_path: Path) -> None:
    for name in ("base", "a b", "c", "d", "e", "f"):
        path = tmp_path / "study" / "runs" / name
        create_run(path, RunSpec("branches", "q", "", {}, {}, "", 1, "0"), [question("q", HEATS)])
    with pytest.raises(InputError) as forked:
        make_fork(tmp_path / "study", "q", 0)
    with pytest.raises(InputError) as replayed:
        open_recordings(tmp_path / "study")
    assert str(forked.value) == str(replayed.value)
    assert "is not a run folder; name one of its runs: " in str(forked.value)
    assert f"{tmp_path}/study/runs/base, " in str(forked.value)
    assert str(forked.value).endswith("/study/runs/e and 1 more")


MODEL = "openai:gpt-6-luna"


@pytest.mark.parametrize(
    ("text", "kind", "model"),
    [
        ("lexical", "lexical", None),
        ("llm", "llm", None),
        ("both", "both", None),
        (MODEL, "llm", MODEL),
        (f"llm:{MODEL}", "llm", MODEL),
        (f"both:{MODEL}@http://localhost:1/v1", "both", f"{MODEL}@http://localhost:1/v1"),
    ],
)
def test_a_matcher_is_a_kind_or_a_model(text: str, kind: str, model: str | None) -> None:
    choice = ScoringChoice.parse(text)
    assert (choice.matcher, choice.model) == (kind, model)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lexcal", "did you mean lexical?"),
        ("lmm", "did you mean llm or openai:lmm?"),
        ("gpt-6-luna", "did you mean openai:gpt-6-luna?"),
        ("llama3.1", "did you mean openai:llama3.1?"),
        ("Qwen/Qwen3-8B", "did you mean openai:Qwen/Qwen3-8B?"),
        ("both:gpt-6.2-sol", "--matcher: .*did you mean openai:gpt-6.2-sol?"),
        ("openai:", "--matcher: unknown model 'openai:'; write openai:gpt-6-luna \\(or anthropic"),
        ("two words", "write lexical, llm, both, a model such as openai:gpt-6-luna"),
        ("sk-abcdef", "write lexical"),
    ],
)
def test_what_is_neither_is_refused(text: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint.replace("?", r"\?")) as refused:
        ScoringChoice.parse(text)
    assert "offline" not in str(refused.value)


def test_a_judge_that_is_no_model_is_refused_by_its_option() -> None:
    with pytest.raises(
        InputError, match=r"^--judge: unknown model 'gpt-6.2-sol'; did you mean openai:"
    ):
        ScoringChoice.parse("lexical", judge="gpt-6.2-sol")


@pytest.mark.parametrize("text", ["", " ", "llm:", "both:"])
def test_an_empty_name_is_refused_and_not_replaced_by_another(text: str) -> None:
    with pytest.raises(InputError, match="unknown"):
        ScoringChoice.parse(text)
    with pytest.raises(InputError, match="is empty"):
        MatchOptions(matcher="")
    with pytest.raises(InputError, match="unknown model"):
        ScoringChoice.parse("lexical", judge=text)


def test_models_come_from_the_option_then_the_runs_role_then_its_agent() -> None:
    llm = ScoringChoice.parse("llm", judge_entities=True)
    system = {"model": MODEL, "roles": {"matcher": "openai:other", "judge": None}}
    resolved = llm.resolved(system)
    assert (resolved.model, resolved.judge) == ("openai:other", MODEL)
    named = ScoringChoice.parse("openai:mine", judge="openai:theirs").resolved(system)
    assert (named.model, named.judge) == ("openai:mine", "openai:theirs")


@pytest.mark.parametrize("system", [None, {"model": "offline"}])
def test_without_a_model_the_choice_is_refused(system: dict[str, str] | None) -> None:
    with pytest.raises(InputError, match="--matcher openai:"):
        ScoringChoice.parse("llm").resolved(system)


def test_names_alone_need_no_model() -> None:
    assert ScoringChoice().resolved(None) == ScoringChoice()
    assert not ScoringChoice().asks
    assert ScoringChoice(judge_entities=True).asks


@pytest.mark.parametrize("text", ["lexical", "llm", f"llm:{MODEL}", f"both:{MODEL}"])
def test_options_read_back_as_the_same_choice(text: str) -> None:
    choice = ScoringChoice.parse(text)
    assert choice.options == f"--matcher {text}"
    judged = ScoringChoice.parse(text, judge=MODEL)
    assert judged.options == f"--matcher {text} --judge {MODEL}"
