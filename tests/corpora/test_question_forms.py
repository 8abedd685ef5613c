"""Question sets in the forms in which others publish them: what becomes of every field.

The samples have the exact fields of published files, read in public repositories: FlashRAG's
examples, HotpotQA and MuSiQue as HippoRAG keeps them, ASQA's JSON of splits and ALCE's array.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.passages import passage_id
from branchwise.corpora.questions import Question
from support.corpora.published_sets import SAMPLES, sample
from support.needs import DATA, needs_data


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def _load(form: str, *entries: object, name: str = "data.json", lines: bool = False) -> Any:
        path = tmp_path / name
        text = "\n".join(map(json.dumps, entries)) if lines else json.dumps(entries)
        path.write_text(text)
        return load_questions(f"{form}:{path}").questions

    return _load


def gold(question: Question) -> dict[str, list[tuple[str, ...]]]:
    return {b.name: [answer.forms for answer in b.answers] for b in question.branches}


def test_flashrag_takes_any_golden_answer_for_the_one_that_is_right(load: Any) -> None:
    entry = {
        "id": "test_12",
        "question": "how many episodes are there in dragon ball z",
        "golden_answers": ["291 episodes", "291"],
        "metadata": {"hops": 1},
    }
    [question] = load("flashrag", entry, lines=True, name="test.jsonl")
    assert (question.id, gold(question)) == ("test_12", {"default": [("291 episodes", "291")]})
    assert not question.ambiguous
    assert question.meta == {"metadata": {"hops": 1}}


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
def test_qampari_as_its_authors_publish_it(load: Any, lines: bool) -> None:
    answers = [
        {"answer_text": "Heat", "aid": "1__0", "aliases": ["Heat", "Heat (manga)"], "proof": []},
        {"answer_text": "Sanctuary", "aid": "1__1", "aliases": []},
    ]
    entry = {"qid": "1__simple", "question_text": "What was drawn?", "answer_list": answers}
    [question] = load("qampari", entry, lines=lines)
    assert (question.id, question.question) == ("1__simple", "What was drawn?")
    assert gold(question) == {"default": [("Heat", "Heat (manga)"), ("Sanctuary",)]}
    assert question.meta == {"benchmark": "qampari"}


def test_qampari_as_alce_has_it_with_what_is_empty_or_repeated_left_out(load: Any) -> None:
    listed = [["Heat"], [""], ["Crying Freeman", "CF", ""], ["Heat"]]
    entry = {"id": "799", "question": "What?", "answers": listed, "answer": "Heat, Crying Freeman"}
    with pytest.warns(UserWarning, match="left out") as told:
        [question] = load("qampari", entry)
    assert gold(question) == {"default": [("Heat",), ("Crying Freeman", "CF")]}
    assert question.meta == {"benchmark": "qampari", "answer": "Heat, Crying Freeman"}
    said = [str(warning.message).partition("data.json: ")[2] for warning in told]
    assert said == [
        "empty answers left out: 1 (entry 1)",
        "empty aliases left out: 1 (entry 1)",
        "repeated answers left out: 1 (entry 1)",
    ]


CONTEXT = [
    ["Alû", ["In Akkadian mythology, Alû is a spirit.", " It roams at night."]],
    ["Lilu", ["A lilu is a masculine word for a spirit."]],
    ["Demon Dice", ["It is a game."]],
]


def test_hotpotqa_brings_passages_of_which_some_support_the_answer(load: Any) -> None:
    entry = {
        "_id": "5a77",
        "question": "If Gallu is a demon Lilu is what?",
        "answer": "a spirit",
        "supporting_facts": [["Alû", 1], ["Lilu", 0]],
        "context": CONTEXT,
        "type": "bridge",
        "level": "easy",
    }
    [question] = load("hotpotqa", entry)
    texts = [
        "In Akkadian mythology, Alû is a spirit. It roams at night.",
        "A lilu is a masculine word for a spirit.",
        "It is a game.",
    ]
    assert [(p.title, p.text) for p in question.passages] == [
        (title, text) for (title, _), text in zip(CONTEXT, texts, strict=True)
    ]
    [answer] = question.branches[0].answers
    assert answer.support == (passage_id("Alû", texts[0]), passage_id("Lilu", texts[1]))
    assert question.meta == {
        "benchmark": "hotpotqa",
        "type": "bridge",
        "level": "easy",
        "supporting_facts": [["Alû", 1], ["Lilu", 0]],
    }


def test_2wiki_has_sentences_without_spaces_and_the_answers_item(load: Any) -> None:
    entry = {
        "_id": "8813",
        "type": "compositional",
        "question": "Who is the mother of the director?",
        "context": [["Film", ["It is a film.", "X directed it."]]],
        "entity_ids": "Q1_Q2",
        "supporting_facts": [["Film", 1]],
        "evidences": [["Film", "director", "X"]],
        "answer": "Małgorzata Braunek",
        "evidences_id": [["Q1", "director", "Q2"]],
        "answer_id": "Q274277",
    }
    [question] = load("2wiki", entry)
    [answer] = question.branches[0].answers
    assert (answer.forms, answer.qid) == (("Małgorzata Braunek",), "Q274277")
    assert question.passages[0].text == "It is a film. X directed it."
    assert question.meta.keys() == {
        *("benchmark", "type", "entity_ids", "supporting_facts", "evidences", "evidences_id")
    }


def test_derived_files_of_multihop_sets_need_no_more_than_question_and_answer(load: Any) -> None:
    one, two = load(
        "2wiki",
        {"question": "Who?", "answer": ["Mask of Fu Manchu", "The Mask of Fu Manchu"]},
        {"question": "Who else?", "answer": "no"},
    )
    assert (one.id, gold(one)) == (
        "1",
        {"default": [("Mask of Fu Manchu", "The Mask of Fu Manchu")]},
    )
    assert (two.id, gold(two)) == ("2", {"default": [("no",)]})


MUSIQUE = {
    "id": "2hop__150763_14904",
    "paragraphs": [
        {"idx": 0, "title": "JPI", "paragraph_text": "A journal.", "is_supporting": True},
        {"idx": 1, "title": "Physics", "paragraph_text": "Other.", "is_supporting": False},
    ],
    "question": "Who was the first president?",
    "question_decomposition": [{"id": 150763, "question": "Which?", "answer": "APA"}],
    "answer": "G. Stanley Hall",
    "answer_aliases": ["Stanley Hall"],
    "answerable": True,
}


def test_musique_has_aliases_and_paragraphs_that_support(load: Any) -> None:
    [question] = load("musique", MUSIQUE, lines=True)
    [answer] = question.branches[0].answers
    assert answer.forms == ("G. Stanley Hall", "Stanley Hall")
    assert answer.support == (passage_id("JPI", "A journal."),)
    assert [passage.title for passage in question.passages] == ["JPI", "Physics"]
    assert question.meta.keys() == {"benchmark", "question_decomposition"}
    with pytest.raises(InputError, match=r"data\.json:1: is marked as unanswerable"):
        load("musique", MUSIQUE | {"answerable": False}, lines=True)


PAIRS = [
    {
        "question": "Who has the highest goals in men's football?",
        "short_answers": ["Daei", "Ali Daei"],
        "context": "No context provided",
        "wikipage": None,
    },
    {
        "question": "Who has the highest goals in women's football?",
        "short_answers": ["Sinclair", "Christine Sinclair"],
        "context": "Sinclair reached 100 goals.",
        "wikipage": "List of women's footballers",
    },
]
READINGS = {
    PAIRS[0]["question"]: [("Daei", "Ali Daei")],
    PAIRS[1]["question"]: [("Sinclair", "Christine Sinclair")],
}
TOLD = {"annotations": [{"long_answer": "Ali Daei ...", "knowledge": []}], "wikipages": []}


@pytest.mark.parametrize("indent", [None, 2])
def test_asqa_is_an_object_of_splits(tmp_path: Path, indent: int | None) -> None:
    entry = {"ambiguous_question": "Who has the highest goals?", "qa_pairs": PAIRS, **TOLD}
    path = tmp_path / "ASQA.json"
    path.write_text(json.dumps({"train": {"7": entry}, "dev": {"-70": entry}}, indent=indent))
    one, two = load_questions(f"asqa:{path}").questions
    assert (one.id, one.meta["split"]) == ("7", "train")
    assert (two.id, two.meta["split"]) == ("-70", "dev")
    assert two.ambiguous
    assert gold(two) == READINGS
    assert two.meta == {
        "benchmark": "asqa",
        "split": "dev",
        "contexts": {PAIRS[1]["question"]: "Sinclair reached 100 goals."},
        **TOLD,
    }
    assert load_questions(f"asqa:{path}:dev").questions == (two,)
    with pytest.raises(InputError, match="holds no questions"):
        load_questions(f"asqa:{path}:test")


def test_asqa_as_alce_has_it(load: Any) -> None:
    entry = {"sample_id": "-70", "question": "Who?", "qa_pairs": PAIRS, "answer": "Ali Daei ..."}
    [question] = load("asqa", entry)
    assert (question.id, gold(question)) == ("-70", READINGS)
    assert question.meta["answer"] == "Ali Daei ..."


def test_asqa_that_is_no_object_of_entries_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ASQA.json"
    path.write_text(json.dumps({"dev": {"7": 3}}))
    with pytest.raises(InputError, match=r"ASQA\.json:dev 7: expected a JSON object, found a num"):
        load_questions(f"asqa:{path}")
    path.write_text(json.dumps({"dev": {}, "train": []}))
    with pytest.raises(InputError, match=r"split 'train' is an array, not an object of entries"):
        load_questions(f"asqa:{path}")


def test_a_test_set_without_answers_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "test.json"
    for form, entry in {
        "fanoutqa": {"id": "1", "question": "?", "necessary_evidence": [], "categories": []},
        "hotpotqa": {"_id": "1", "question": "?", "context": []},
        "musique": {"id": "1", "question": "?", "paragraphs": []},
    }.items():
        path.write_text(json.dumps([entry]))
        [question] = load_questions(f"{form}:{path}", require_gold=False).questions
        assert question.branches == ()
        assert ("ambiguous" in question.model_fields_set) == (form == "fanoutqa")  # none is


@pytest.mark.parametrize(
    ("form", "entry", "message"),
    [
        ("flashrag", {"golden_answers": []}, 'answer: "golden_answers" holds no answer'),
        ("flashrag", {"golden_answers": {"A": 1}}, '"golden_answers" is an object; it is a text'),
        ("flashrag", {"golden_answers": [["A"]]}, "a form of the answer is an array"),
        ("flashrag", {"golden_answers": [""]}, '"golden_answers" holds no answer'),
        ("flashrag", {"question": " ", "golden_answers": ["A"]}, '"question" is empty'),
        ("flashrag", {"id": [], "golden_answers": ["A"]}, "has an array as id"),
        ("qampari", {"answer_list": 7}, '"answer_list" is a number; it is a list'),
        ("qampari", {"answer_list": [{"aliases": ["A"]}]}, "a form of the answer is null"),
        ("hotpotqa", {"answer": True, "context": []}, '"answer" is true or false'),
        ("hotpotqa", {"answer": "A", "context": [["T", "x"]]}, '"context" is not a list of'),
        ("hotpotqa", {"answer": "A", "context": {}}, '"context" is an object; it is a list'),
        (
            "hotpotqa",
            {"answer": "A", "supporting_facts": ["T"]},
            '"supporting_facts" is not a list of',
        ),
        ("2wiki", {"answer": "A", "evidences": [], "answer_id": 7}, '"answer_id" is a number'),
        ("musique", {"answer": "A", "paragraphs": [{"title": "T"}]}, '"paragraphs" is not a list'),
        ("asqa", {"qa_pairs": [7]}, "reading 1 is a number; it is an object"),
        ("asqa", {"qa_pairs": [{"short_answers": ["A"]}]}, "lacks the question of reading 1"),
        ("asqa", {"qa_pairs": [{"question": "?"}]}, 'lacks "short_answers of reading 1"'),
        ("fanoutqa", {"decomposition": [], "answer": {}}, "its answer is empty"),
        ("fanoutqa", {"decomposition": [{"evidence": {}}]}, 'evidence lacks "title"'),
    ],
)
def test_what_is_wrong_is_one_line_with_the_entry(
    load: Any, form: str, entry: dict[str, object], message: str
) -> None:
    good = {"id": "1", "question": "Who?"}
    with pytest.raises(InputError) as caught:
        load(form, good | entry)
    assert message.removeprefix("answer: ") in str(caught.value)
    assert "data.json:entry 1" in str(caught.value)
    assert "\n" not in str(caught.value)


# ALCE's QAMPARI has the fields of our own format, HotpotQA's files those of 2WikiMultihopQA's.
_ALSO = {("", "qampari"), ("2wiki", "hotpotqa")}
_PAIRS = [(given, written) for given in (*SAMPLES, "") for written in (*SAMPLES, "")]
_PAIRS.remove(("qampari", ""))


@pytest.mark.filterwarnings("ignore:.* kept in meta")
@pytest.mark.parametrize(("given", "written"), _PAIRS)
def test_a_form_that_does_not_fit_says_which_does(tmp_path: Path, given: str, written: str) -> None:
    path = sample(tmp_path, written)
    source = f"{given}:{path}" if given else str(path)
    if given == written or (given, written) in _ALSO:
        assert load_questions(source).questions
        return
    with pytest.raises(InputError, match="does not fit: it has") as caught:
        load_questions(source, require_gold=False)
    fits = f"{written}:{path}" if written not in ("", "qampari") else str(path)
    assert str(caught.value).endswith(f"its fields fit {fits}")
    assert "\n" not in str(caught.value)


def test_a_form_that_nothing_fits_says_how_to_name_fields(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"q": "Who?", "gold": "A"}]))
    with pytest.raises(InputError) as caught:
        load_questions(f"flashrag:{path}")
    assert str(caught.value) == (
        f'{path}:entry 1: the form flashrag does not fit: it lacks "golden_answers"; name its '
        f"fields: jsonl:{path} --field question=FIELD --field answers=FIELD (they are q, gold)"
    )


def test_unknown_fields_of_a_published_form_are_kept_and_told(load: Any) -> None:
    with pytest.warns(UserWarning, match=r"kept in meta: colour \(1\)$"):
        [question] = load("musique", MUSIQUE | {"colour": "red", "none": None}, lines=True)
    assert question.meta["colour"] == "red"
    assert "none" not in question.meta


@pytest.mark.slow
@needs_data
@pytest.mark.filterwarnings("ignore:.* answers left out")
@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("ambignq:ambignq/train_light.json", 10_036),
        ("qampari:qampari/half.json", 504),
        ("fanoutqa:fanoutqa/dev.json", 310),
        ("2wiki:2wiki/questions.json", 12_576),
    ],
)
def test_published_files_load_with_nothing_lost(source: str, count: int) -> None:
    form, _, name = source.partition(":")
    entries = json.loads((DATA / name).read_text("utf-8"))
    loaded = load_questions(f"{form}:{DATA / name}").questions
    assert len(loaded) == len(entries) == count
    counted: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for question, entry in zip(loaded, entries, strict=True):
        assert " ".join(question.question.split()) == " ".join(entry["question"].split())
        counted.update(_counts(question))
        expected.update(_EXPECTED[form](entry))
    assert counted == expected


def _counts(question: Question) -> Counter[str]:
    branches = [branch for gold in question.gold_sets for branch in gold]
    answers = [answer for branch in branches for answer in branch.answers]
    return Counter(
        readings=sum(branch.name != "default" for branch in branches),
        annotators=question.meta.get("annotators", 1),
        answers=len(answers),
        forms=sum(len(answer.forms) for answer in answers),
    )


def _of_ambignq(entry: dict[str, Any]) -> Counter[str]:
    """Of all annotators; those who say the same are one."""
    annotations = {
        json.dumps([one.get("qaPairs"), one.get("answer")]) for one in entry["annotations"]
    }
    pairs = [pair["answer"] for one in annotations for pair in json.loads(one)[0] or ()]
    single = [answer for one in annotations if (answer := json.loads(one)[1]) is not None]
    groups = pairs + single
    return Counter(
        readings=len(pairs),
        annotators=len(entry["annotations"]),
        answers=len(groups),
        forms=sum(len({form.strip() for form in group} - {""}) for group in groups),
    )


def _of_qampari(entry: dict[str, Any]) -> Counter[str]:
    first = {forms[0]: forms for forms in entry["answers"] if any(form.strip() for form in forms)}
    forms = {
        name: {form for other in entry["answers"] if other[0] == name for form in other}
        for name in first
    }
    return Counter(
        annotators=1, answers=len(first), forms=sum(len(found - {""}) for found in forms.values())
    )


def _of_fanoutqa(entry: dict[str, Any]) -> Counter[str]:
    """The keys are readings; in a list, what is there twice counts once."""
    return Counter(annotators=1) + _of_nested(entry["answer"])


def _of_nested(answer: Any) -> Counter[str]:
    if isinstance(answer, dict):
        inner = [_of_nested(value) for value in answer.values()]
        keys = sum(not isinstance(value, dict) for value in answer.values())
        return sum(inner, Counter(readings=keys))
    if isinstance(answer, list):
        return sum(map(_of_nested, dict.fromkeys(answer)), Counter[str]())
    two = isinstance(answer, bool) or (isinstance(answer, float) and answer.is_integer())
    return Counter(answers=1, forms=1 + two)


def _of_2wiki(entry: dict[str, Any]) -> Counter[str]:
    return Counter(annotators=1, answers=1, forms=1)


_EXPECTED = {
    "ambignq": _of_ambignq,
    "qampari": _of_qampari,
    "fanoutqa": _of_fanoutqa,
    "2wiki": _of_2wiki,
}
