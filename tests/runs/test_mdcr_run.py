"""Conditional answers: from generated questions over runs to scores, in every setting."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from branchwise import System, run, score
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import QuestionSet
from support.chat_server import call, say
from support.conditions.cases import WORKED, WORKED_RELATIONS, conditions_file

HINTS = ("none", "documents", "values", "relations", "all")
STRATEGIES = ({}, {"shots": 1}, {"shots": 1, "reasoning": "steps"})
SETTINGS = [strategy | {"hints": hints} for strategy, hints in product(STRATEGIES, HINTS)]
"""The fifteen of the paper's Table 1."""


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> QuestionSet:
    """180 questions of 60 scenarios."""
    from branchwise.__main__ import main

    path = tmp_path_factory.mktemp("generated") / "mdcr.json"
    with pytest.MonkeyPatch.context() as patch:
        arguments = ["--documents", "12", "--groups", "12", "--scenarios", "60", "--out", str(path)]
        patch.setattr("sys.argv", ["branchwise", "mdcr", "generate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    found = load_questions(f"mdcr:{path}")
    assert len(found) == 180
    return found


def asked_about(body: Any, questions: QuestionSet) -> ConditionsQuestion:
    """The question that a request's message puts: its scenario and its line."""
    message = body["messages"][1]["content"]
    for question in questions.questions:
        found = ConditionsQuestion.of(question)
        documents = [f"Document {one.id}: " for one in found.problem.documents]
        situation = f"\n\nSituation: {found.scenario_text}\n\n"
        is_asked = situation in message and message.endswith(f"\n\nQuestion: {found.asked}")
        if is_asked and all(one in message for one in documents):
            return found
    raise AssertionError(message)


def gold_reply(found: ConditionsQuestion) -> str:
    return f"<ans>{found.gold.short}</ans> <cond>{json.dumps(found.gold.groups)}</cond>"


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(map(str, one.values())))
def test_offline_answers_and_scores_all_in_every_setting(generated, tmp_path, settings):
    made = run(generated, System(**settings), out=tmp_path / "R")
    found = score(made)
    assert (found.counts.answered, found.counts.failed, found.counts.format_errors) == (180, 0, 0)
    assert all(row.metrics["exact_f1"] is not None for row in found.items)
    # A floor: better than nothing, and nothing that looks into gold.
    mean = found.mean("short_accuracy", "all").mean
    assert mean is not None
    assert 0.3 < mean < 1


@pytest.mark.slow
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(map(str, one.values())))
def test_a_model_that_knows_gold_scores_one_in_every_setting(
    generated, chat_server, scripted, tmp_path, settings
):

    def answer(body: Any) -> Any:
        found = asked_about(body, generated)
        reasoning = "It follows.\n" if settings.get("reasoning") else ""
        return say(reasoning + gold_reply(found))

    chat_server.play(answer)
    system = scripted(**settings)
    made = run(generated, system, out=tmp_path / "R", limit=12)
    found = score(made)
    means = found.aggregates["all"]
    assert {one.mean for one in means.values()} == {1.0}
    told = chat_server.requests[0]["messages"][0]["content"]
    assert ("An example:" in told) is bool(settings.get("shots"))
    assert ("step by step" in told) is (settings.get("reasoning") == "steps")
    assert ("The user is sixteen" in told) is (settings.get("reasoning") == "steps")
    assert "response_format" not in chat_server.requests[0]


@pytest.fixture
def scripted(make_system: Any) -> Any:
    """Makes a system on the scripted server, without tools."""
    without = {"tools": None, "corpus": None, "k": None}
    return lambda **settings: make_system().model_copy(update=without | settings)


@pytest.fixture
def worked(tmp_path: Path) -> str:
    return f"mdcr:{conditions_file(tmp_path / 'q.json', WORKED, WORKED_RELATIONS)}"


def test_hints_that_a_file_lacks_end_the_command_in_one_line(worked, tmp_path, type_in):
    path = Path(worked.removeprefix("mdcr:"))
    record = json.loads(path.read_text())
    (scenario,) = record["scenarios"]
    del scenario["values"]
    scenario |= {"kinds": ["q3"], "gold": {"q3": {"short": 2, "groups": [["C-c5", "C-c6"]]}}}
    path.write_text(json.dumps(record))
    arguments = ("run", "--questions", worked, "--out", tmp_path / "R", "--hints", "values")
    code, _, error = type_in(*arguments)
    where = f"{worked}: question 's-q3': hints of values: the file does not give them"
    assert (code, where in error, error.count("\n")) == (2, True, 1)
    assert not (tmp_path / "R").exists()
    study = tmp_path / "s.yaml"
    study.write_text(f"name: s\nquestions: {worked}\nfactors: {{hints: [none, values]}}\n")
    code, _, error = type_in("ablate", study, "--dry-run")
    assert (code, "hints of values" in error) == (2, True)
    plain = Path(__file__).parents[2] / "examples" / "films" / "questions.jsonl"
    study.write_text(f"name: s\nquestions: {plain}\nfactors: {{shots: [0, 1]}}\n")
    code, _, error = type_in("ablate", study, "--dry-run")
    assert code == 2
    assert f"{study}:3: shots: has no effect in the task branches (system 'shots=1')" in error


BAD = {
    "unbalanced": '<ans>2</ans> <cond>[["C-c5", "C-c6"</cond>',
    "unknown ids": '<ans>2</ans> <cond>[["C-c5", "C-c6"], ["Z-c99"]]</cond>',
    "beyond the documents": '<ans>9</ans> <cond>[["C-c5", "C-c6"]]</cond>',
    "tags twice": '<ans>0</ans> <cond>[]</cond> No: <ans>2</ans> <cond>[["C-c6", "C-c5"]]</cond>',
    "a megabyte of brackets": f"<ans>2</ans> <cond>{'[' * 1_000_000}",
    "no tags": "2, if C-c5 and C-c6 hold.",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "how", "metrics"),
    [
        ("unbalanced", "tolerant", (1, 1, 1)),
        ("unknown ids", "strict", (1, 2 / 3, 2 / 3)),
        ("beyond the documents", "strict", (0, 1, 1)),
        ("tags twice", "tolerant", (1, 1, 1)),
        ("a megabyte of brackets", "failed", (0, 0, 0)),
        ("no tags", "failed", (0, 0, 0)),
    ],
)
def test_answers_that_are_not_as_asked_are_recorded_and_scored(
    chat_server, scripted, worked, tmp_path, name, how, metrics
):
    chat_server.play(lambda _: say(BAD[name]))
    system = scripted()
    made = run(worked, system, out=tmp_path / "R", ids={"s-q3"})
    (row,) = score(made).items
    keys = ("short_accuracy", "exact_f1", "relaxed_f1")
    assert tuple(row.metrics[key] for key in keys) == pytest.approx(metrics)
    (item,) = made.open().answered_items()
    assert item.how == how


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"groups": []}, "is not in the form"),
        ({"answer": "perhaps", "groups": []}, "neither yes nor no nor a number"),
    ],
)
def test_predictions_of_another_shape_are_refused_with_their_line(
    worked: str, tmp_path: Path, type_in: Any, output: Any, said: str
) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"id": "s-q3", "task_output": output}))
    code, _, error = type_in("score", "--questions", worked, "--predictions", file)
    assert code == 2
    assert f"{file}:1" in error
    assert said in error


@pytest.mark.slow
def test_errors_and_breakdowns_are_told_of_a_run(worked: str, tmp_path: Path, type_in: Any) -> None:
    run(worked, System(), out=tmp_path / "R")
    code, out, _ = type_in("errors", tmp_path / "R", "--question", "s-q3")
    assert code == 0
    assert out.startswith("s-q3  I am new here.")
    code, out, _ = type_in("errors", tmp_path / "R", "--json")
    records = [json.loads(line) for line in out.splitlines()]
    assert all(one["labels"] for one in records)
    code, out, _ = type_in("report", tmp_path / "R", "--by", "type,documents,domain,relations")
    assert code == 0
    assert all(words in out for words in ("maximum (Q3)", "they decide", "offers"))
    code, _, error = type_in("report", tmp_path / "R", "--by", "branches")
    assert (code, "it is by type, documents, domain, relations" in error) == (2, True)
    code, _, error = type_in("errors", tmp_path / "R", "--lost-at", "agent")
    assert (code, "--lost-at: it is not known where" in error) == (2, True)
    code, _, error = type_in("errors", tmp_path / "R", "--label", "missing_branch")
    assert (code, "unknown label 'missing_branch'" in error) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["summed", "group-f1"])
def test_variants_are_kept_with_a_run_and_refused_elsewhere(worked, tmp_path, type_in, variant):
    code, _, _ = type_in(
        "run", "--questions", worked, "--out", tmp_path / "R", "--variant", variant
    )
    assert code == 0
    code, out, _ = type_in("score", tmp_path / "R")
    assert (code, f"sets of ids, {'summed' if variant == 'summed' else 'F1 by group'}" in out) == (
        0, True,
    )  # fmt: skip
    films = Path(__file__).parents[2] / "examples" / "films" / "questions.jsonl"
    arguments = ("run", "--questions", films, "--out", tmp_path / "S", "--variant", variant)
    code, _, error = type_in(*arguments)
    assert (code, f"the task branches has no variant '{variant}'" in error) == (2, True)


def test_an_agent_may_solve_conditions_with_a_tool(chat_server, scripted, worked, tmp_path):
    plugin = Path(__file__).parents[2] / "examples" / "plugins" / "solve_conditions.py"
    stated = {
        "question": "maximum number",
        "documents": WORKED,
        "relations": [
            {"kind": kind, "first": first, "second": second}
            for kind, first, second in WORKED_RELATIONS
        ],
        "values": {},
    }

    def answer(body: Any) -> Any:
        last = body["messages"][-1]
        if last["role"] != "tool":
            return call("solve_conditions", **stated)
        assert "C-c5" in last["content"]
        return say('<ans>2</ans> <cond>[["C-c5", "C-c6"]]</cond>')

    chat_server.play(answer)
    system = scripted(tools=(f"{plugin}:solve_conditions",))
    made = run(worked, system, out=tmp_path / "R", ids={"s-q3"})
    (row,) = score(made).items
    assert row.metrics["answer_em"] == 1
    told = chat_server.requests[0]["messages"]
    assert told[0]["content"].startswith("You have tools that may help")
    assert "Document C: Offer C" in told[1]["content"]
