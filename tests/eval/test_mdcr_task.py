"""The task `mdcr`: scores and errors of hand-made answers, what is told, what is broken down by."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError, SettingError
from branchwise.corpora.conditions.question import ConditionsQuestion
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.eval.errors.labels import found_errors
from branchwise.eval.grouping import ScoredItem
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.eval.tasks.mdcr.flow import QuestionHints
from branchwise.eval.tasks.registry import check_questions, flow_of
from branchwise.graphs.system import System
from support.conditions.cases import (
    WORKED,
    WORKED_RELATIONS,
    conditional_item,
    conditional_question,
    conditions_file,
)

TASK = get_task("mdcr")
EITHER = {"A": "c1 OR c2", "B": "c1 AND c2"}


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Question:
    """Gold: 2, [[C-c5, C-c6]]; C-c5 is equivalent to B-c3."""
    path = tmp_path_factory.mktemp("worked") / "q.json"
    return conditional_question(path, "q3", WORKED, WORKED_RELATIONS)


def headline(item: AnsweredItem) -> tuple[float | None, ...]:
    found = TASK.score(item)
    return tuple(found[key] for key in ("short_accuracy", "exact_f1", "relaxed_f1", "answer_em"))


def test_the_worked_example_is_scored_as_by_hand(worked: Question) -> None:
    gold = ConditionsQuestion.of(worked).gold
    assert (gold.short, gold.groups) == (2, (("C-c5", "C-c6"),))
    assert headline(conditional_item(worked, "2", [["C-c6", "C-c5"]])) == (1, 1, 1, 1)
    assert headline(AnsweredItem(worked, TASK.gold_prediction(worked))) == (1, 1, 1, 1)
    said = [["C-c5", "C-c6", "C-c0"]]
    assert headline(conditional_item(worked, "2", said)) == pytest.approx((1, 0, 0.8, 0))
    assert headline(conditional_item(worked, "3", [["C-c5", "C-c6"]])) == (0, 1, 1, 0)
    assert headline(conditional_item(worked, "7", [])) == (0, 0, 0, 0)


def test_which_of_two_equivalent_conditions_is_named_matters_only_modulo(worked: Question) -> None:
    found = TASK.score(conditional_item(worked, "2", [["B-c3", "C-c6"]]))
    assert (found["exact_f1"], found["relaxed_f1"]) == (0, 0.5)
    assert (found["modulo_exact_f1"], found["modulo_relaxed_f1"]) == (1, 1)


def test_a_question_without_its_documents_is_scored_but_for_equivalents(worked: Question) -> None:
    item = conditional_item(worked, "2", [["C-c5"]])
    whole = TASK.score(item)
    bare = conditional_item(worked.model_copy(update={"passages": ()}), "2", [["C-c5"]])
    found = TASK.score(bare)
    unknown = {key for key in found if key.startswith("modulo_")}
    assert {key: whole[key] for key in found.keys() - unknown} == {
        key: found[key] for key in found.keys() - unknown
    }
    assert {found[key] for key in unknown} == {None}
    assert TASK.beside(bare.question, bare.prediction) == TASK.beside(worked, item.prediction)


@pytest.mark.parametrize("said", [[], [["A-c1"], ["B-c1"]]])
def test_no_against_no_is_right_whatever_groups_are_given(tmp_path: Path, said: list[Any]) -> None:
    asked = conditional_question(
        tmp_path / "q.json", "q2", EITHER, values={"A-c1": False, "A-c2": False}
    )
    found = TASK.score(conditional_item(asked, "no", said))
    assert set(found.values()) == {1}


def test_an_answer_that_could_not_be_read_is_0_even_where_nothing_was_needed(
    tmp_path: Path,
) -> None:
    asked = conditional_question(tmp_path / "q.json", "q1", EITHER, values={"A-c1": True})
    assert ConditionsQuestion.of(asked).gold.groups == ()
    assert headline(conditional_item(asked, "yes")) == (1, 1, 1, 1)
    assert set(TASK.score(conditional_item(asked, None)).values()) == {0}
    assert set(TASK.score(conditional_item(asked, None, error="time-out")).values()) == {0}


def test_variants_combine_questions_otherwise(worked: Question, tmp_path: Path) -> None:
    other = conditional_question(tmp_path / "q.json", "q1", {"A": "c1 OR c2"})
    items = [
        conditional_item(worked, "2", [["C-c5", "C-c6"]]),
        # Half of the only group is right by either of two gold ones.
        conditional_item(other, "yes", [["A-c1", "A-c2"]]),
    ]

    def mean(variant: str, key: str) -> float | None:
        return score_items(get_task("mdcr", variant), items).mean(key, "all").mean

    assert mean("", "relaxed_f1") == pytest.approx((1 + 0.5) / 2)
    assert mean("group-f1", "relaxed_f1") == pytest.approx((1 + 1 / 3) / 2)
    # (1 + 1/2) of 2 predicted, (1 + 1) of 3 gold groups.
    assert mean("summed", "relaxed_precision") == pytest.approx(1.5 / 2)
    assert mean("summed", "relaxed_recall") == pytest.approx(2 / 3)
    assert mean("summed", "relaxed_f1") == pytest.approx(2 * 0.75 * (2 / 3) / (0.75 + 2 / 3))
    assert mean("summed", "exact_precision") == pytest.approx(1 / 2)


def errors(item: AnsweredItem) -> set[str]:
    assert TASK.error_classes is not None
    found = found_errors("q", 0, False, TASK.error_classes, TASK.examined(item))
    assert not found.found & found.unknown
    return {*found.found, *(f"{key}?" for key in found.unknown)}


@pytest.mark.parametrize(
    ("kind", "documents", "relations", "values", "answer", "groups", "expected"),
    [
        # Gold: yes, [[B-c1]].
        ("q1", {"A": "c1 AND c2", "B": "c1"}, (), {"A-c1": False}, "no", [], {"over_reaction"}),
        # Gold: 2, nothing more.
        ("q3", {"A": "c1", "B": "c1"}, (), {"A-c1": True, "B-c1": True}, "1", [],
         {"wrong_association"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "3", [["C-c5", "C-c6"]], {"missed_conflict"}),
        # More than there are documents: no conflict stands against it.
        ("q3", WORKED, WORKED_RELATIONS, {}, "7", [["C-c5", "C-c6"]], set()),
        # Too large, against a false condition: none of the three.
        ("q2", {"A": "c1", "B": "c1"}, (), {"A-c1": False}, "yes", [], set()),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c5"]], {"incomplete"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [], {"incomplete"}),
        ("q1", {"A": "c1 AND c2"}, (), {"A-c1": True}, "yes", [["A-c1", "A-c2"]], {"redundant"}),
        # The narrower C-c6 makes B-c4 true.
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["B-c4", "C-c5", "C-c6"]], {"redundant"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c5", "C-c6"], ["A-c1"]],
         {"out_of_reach"}),
        ("q1", {"A": "c1 OR c2"}, (), {}, "yes", [["A-c1", "A-c2"]], {"merged"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c5"], ["C-c6"]], {"split"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c5", "C-c6", "C-c0"]], {"irrelevant"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c5", "C-c6"], ["Z-c9"]], {"irrelevant"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "1", [["A-c1"], ["C-c0"]],
         {"wrong_association", "incomplete", "out_of_reach", "irrelevant"}),
        ("q3", WORKED, WORKED_RELATIONS, {}, "2", [["C-c6", "C-c5"]], set()),
        ("q3", WORKED, WORKED_RELATIONS, {}, None, [], {"format_error"}),
        # Groups count for nothing with "no" and 0.
        ("q1", {"A": "c1 OR c2"}, (), {}, "no", [["C-c0"]], {"wrong_association"}),
    ],
)  # fmt: skip
def test_every_error_is_told_by_answer_and_gold(
    tmp_path: Path,
    kind: str,
    documents: Mapping[str, str],
    relations: Sequence[tuple[str, str, str]],
    values: Mapping[str, bool],
    answer: str | None,
    groups: Sequence[Sequence[str]],
    expected: set[str],
) -> None:
    asked = conditional_question(tmp_path / "q.json", kind, documents, relations, values)
    assert errors(conditional_item(asked, answer, groups)) == expected


def test_a_failed_item_has_no_other_error(worked: Question) -> None:
    assert errors(conditional_item(worked, "1", [["A-c1"]], error="time-out")) == {"failed"}


@pytest.fixture
def bare(tmp_path: Path) -> str:
    """A file that gives an answer, and neither values nor relations."""
    record = json.loads(conditions_file(tmp_path / "q.json", WORKED).read_text())
    (scenario,) = record["scenarios"]
    del record["relations"], scenario["values"]
    scenario["kinds"] = ["q3"]
    scenario["gold"] = {"q3": {"short": 2, "groups": [["C-c5", "C-c6"]]}}
    (tmp_path / "q.json").write_text(json.dumps(record))
    return f"mdcr:{tmp_path / 'q.json'}"


def test_what_a_file_does_not_give_leaves_errors_and_scores_unknown(bare: str) -> None:
    (asked,) = load_questions(bare).questions
    low, high = conditional_item(asked, "1", [["C-c5"]]), conditional_item(asked, "3", [["C-c0"]])
    assert errors(low) == {
        "over_reaction?", "wrong_association?", "redundant?", "out_of_reach?", "incomplete",
    }  # fmt: skip
    assert errors(high) >= {"missed_conflict?", "incomplete", "irrelevant"}
    assert errors(conditional_item(asked, "2", [["C-c5", "C-c6"]])) == set()
    found = TASK.score(low)
    assert (found["relaxed_f1"], found["modulo_relaxed_f1"]) == (pytest.approx(2 / 3), None)


@pytest.mark.parametrize(
    ("hints", "refused"),
    [("none", ""), ("documents", ""), ("values", "values"), ("relations", "relations"),
     ("all", "values|relations")],
)  # fmt: skip
def test_hints_that_a_file_lacks_are_refused_by_name(
    bare: str, hints: QuestionHints, refused: str
) -> None:
    questions = load_questions(bare)
    system = System(hints=hints)
    if not refused:
        check_questions(TASK, system, questions.questions, has_tools=False, source=bare)
        return
    what = rf"q\.json: question 's-q3': hints of ({refused}): the file does not give them; ask"
    with pytest.raises(InputError, match=what):
        check_questions(TASK, system, questions.questions, has_tools=False, source=bare)


def message(question: Question, hints: QuestionHints) -> str:
    return TASK.brief(question, has_tools=False, system=System(hints=hints)).message


def test_each_hint_tells_what_it_should(tmp_path: Path) -> None:
    record = json.loads(
        conditions_file(tmp_path / "q.json", WORKED, WORKED_RELATIONS, {"C-c6": True}).read_text()
    )
    # A sentence of B that states two conditions.
    record["documents"][1]["conditions"] = {"c3": "c3", "x": "c3", "c4": "c4"}
    record["documents"][1]["expression"] = "c3 AND x AND c4"
    (tmp_path / "q.json").write_text(json.dumps(record))
    loaded = load_questions(f"mdcr:{tmp_path / 'q.json'}")
    asked = loaded.questions[0]
    plain = message(asked, "none")
    assert "Document B: Offer B\nB-c0: <p>Sentence 0 of B.</p>\nB-c3: <p>" in plain
    question = ConditionsQuestion.of(asked).asked
    assert plain.endswith(f"\n\nSituation: I am new here.\n\nQuestion: {question}")
    told = {
        "documents": "Document A: Offer A\nA-c1: <p>Sentence 1 of A.</p>\nA-c2: ",
        "values": "here.\n\nConditions that the situation mentions:\nC-c6: true\n",
        "relations": "A-c1 conflicts with B-c3 (condition 1)\n",
    }
    for name, text in told.items():
        assert text not in plain
        assert text in message(asked, name)  # type: ignore[arg-type]
        assert text in message(asked, "all")
        others = [other for other in told if other != name]
        assert not any(told[other] in message(asked, name) for other in others)  # type: ignore[arg-type]
    assert "C-c6 is narrower than B-c4" in message(asked, "relations")
    assert message(asked, "documents").startswith("Of each document only the sentences that state")
    assert "-c0: " not in message(asked, "documents") + message(asked, "all")


@pytest.mark.parametrize("settings", [{"shots": 1}, {"reasoning": "steps"}, {"hints": "all"}])
def test_settings_of_conditional_answers_are_refused_elsewhere(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(SettingError, match=f"^--{name}: has no effect in the task branches; leave"):
        flow_of(get_task("branches"), System(**settings))
    assert flow_of(TASK, System(**settings)) is TASK.flow
    for other in ({"at_most": 2}, {"expand": True}):
        with pytest.raises(SettingError, match="has no effect in the task mdcr"):
            flow_of(TASK, System(**other))


def test_the_examples_answer_is_the_solvers(tmp_path: Path) -> None:
    """The example of the prompt, taken from its own text."""
    prompts = Prompts.load()
    shown = prompts.render("mdcr_example_documents")
    documents: dict[str, dict[str, str]] = {}
    for line in shown.splitlines():
        if found := re.fullmatch(r"Document (\S+): .*", line):
            documents[found[1]] = {}
        elif found := re.fullmatch(r"(\S+)-(c\d+): (.*)", line):
            documents[found[1]][found[2]] = found[3]
    stating = re.findall(r"^(\S+)-(c\d+):", prompts.render("mdcr_example_stating"), re.MULTILINE)
    relations = []
    for one, verb, other in re.findall(
        r"^(\S+) (conflicts with|is narrower than) (\S+)$",
        prompts.render("mdcr_example_relations"),
        re.MULTILINE,
    ):
        relations.append(
            {"kind": "conflicting", "between": [one, other]}
            if verb == "conflicts with"
            else {"kind": "inclusive", "narrower": one, "wider": other}
        )
    values = re.findall(r"^(\S+): (true|false)$", prompts.render("mdcr_example_values"), re.M)
    # What the sentences of the two documents say in words.
    expressions = {"doc31": "c2 AND c3", "doc44": "c2 AND (c3 OR c4 OR c5)"}
    assert set(documents) == set(expressions)
    record = {
        "mdcr": 1,
        "documents": [
            {
                "id": id,
                "title": id,
                "domain": "offers",
                "sentences": documents[id],
                "conditions": {c: c for document, c in stating if document == id},
                "expression": expressions[id],
            }
            for id in documents
        ],
        "relations": relations,
        "scenarios": [
            {
                "id": "s",
                "documents": list(documents),
                "text": "As in the example.",
                "values": {id: value == "true" for id, value in values},
                "kinds": ["q3"],
            }
        ],
    }
    (tmp_path / "q.json").write_text(json.dumps(record))
    loaded = load_questions(f"mdcr:{tmp_path / 'q.json'}")
    gold = ConditionsQuestion.of(loaded.questions[0]).gold
    read = TASK.flow.format.read_text(prompts.render("mdcr_example_answer"))
    assert read is not None
    assert read.is_exact
    answer = read.prediction.task_output
    assert answer["answer"] == str(gold.short)
    assert {*map(frozenset, answer["groups"])} == {*map(frozenset, gold.groups)}


def test_breakdowns_know_type_documents_domain_and_relations(worked: Question) -> None:
    item = ScoredItem(conditional_item(worked, "2"))
    found = {one.name: one.bins(item) for one in TASK.groupings}
    labels = {name: [label for _, label in bins or ()] for name, bins in found.items()}
    assert labels == {
        "type": ["maximum (Q3)"],
        "documents": ["3"],
        "domain": ["offers"],
        "relations": ["they decide"],
    }


def test_answers_and_groups_stand_beside_gold(worked: Question) -> None:
    item = conditional_item(worked, "1", [["C-c6"], ["A-c1"]])
    found = TASK.beside(worked, item.prediction)
    assert found is not None
    pairs = [(one.gold and one.gold[1], one.predicted and one.predicted[1]) for one in found]
    assert pairs == [(("2",), ("1",)), (("C-c5", "C-c6"), ("C-c6",)), (None, ("A-c1",))]


def test_a_set_of_one_task_is_not_asked_as_another(worked: Question) -> None:
    plain = [Question(id="q", question="Who?")]
    with pytest.raises(InputError, match="'q' is not about documents with conditions"):
        check_questions(TASK, System(), plain, has_tools=False, source="q")
