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


ALU, LILU = "In Akkadian mythology, Alû is a spirit.", "A lilu is a masculine word for a spirit."
CONTEXT = [["Alû", [ALU, " It roams."]], ["Lilu", [LILU]], ["Demon Dice", ["It is a game."]]]
ALSO = {"type": "bridge", "level": "easy", "supporting_facts": [["Alû", 1], ["Lilu", 0]]}
WAY = {
    "type": "compositional", "entity_ids": "Q1_Q2", "supporting_facts": [["Film", 1]],
    "evidences": [["Film", "director", "X"]], "evidences_id": [["Q1", "director", "Q2"]],
}  # fmt: skip
MUSIQUE = {
    "id": "2hop__150763_14904", "question": "Who was the first president?",
    "answer": "G. Stanley Hall", "answer_aliases": ["Stanley Hall"], "answerable": True,
    "question_decomposition": [{"id": 150763, "question": "Which?", "answer": "APA"}],
    "paragraphs": [
        {"idx": 0, "title": "JPI", "paragraph_text": "A journal.", "is_supporting": True},
        {"idx": 1, "title": "Physics", "paragraph_text": "Other.", "is_supporting": False},
    ],
}  # fmt: skip
MEN, WOMEN = (f"Who has the highest goals in {whose} football?" for whose in ("men's", "women's"))
PAIRS = [
    {"question": MEN, "short_answers": ["Daei", "Ali Daei"],
     "context": "No context provided", "wikipage": None},
    {"question": WOMEN, "short_answers": ["Sinclair", "Christine Sinclair"],
     "context": "Sinclair reached 100 goals.", "wikipage": "List of women's footballers"},
]  # fmt: skip
READINGS = {MEN: [("Daei", "Ali Daei")], WOMEN: [("Sinclair", "Christine Sinclair")]}
TOLD = {"annotations": [{"long_answer": "Ali Daei ...", "knowledge": []}], "wikipages": []}


@pytest.mark.parametrize("lines", [True, False], ids=["lines", "array"])
@pytest.mark.parametrize(
    ("form", "entry", "id", "found", "meta"),
    [
        ("flashrag", {"id": "test_12", "question": "how many episodes are there",
         "golden_answers": ["291 episodes", "291"], "metadata": {"hops": 1}},
         "test_12", {"default": [("291 episodes", "291")]}, {"metadata": {"hops": 1}}),
        ("qampari", {"qid": "1__simple", "question_text": "What was drawn?", "answer_list": [
            {"answer_text": "Heat", "aid": "1__0", "aliases": ["Heat", "Heat (manga)"],
             "proof": []},
            {"answer_text": "Sanctuary", "aid": "1__1", "aliases": []}]},
         "1__simple", {"default": [("Heat", "Heat (manga)"), ("Sanctuary",)]},
         {"benchmark": "qampari"}),
        ("hotpotqa", {"_id": "5a77", "question": "Lilu is what?", "answer": "a spirit",
         "context": CONTEXT, **ALSO},
         "5a77", {"default": [("a spirit",)]}, {"benchmark": "hotpotqa", **ALSO}),
        ("2wiki", {"_id": "8813", "question": "Who is the mother of the director?",
         "context": [["Film", ["It is a film.", "X directed it."]]], "answer_id": "Q274277",
         "answer": "Małgorzata Braunek", **WAY},
         "8813", {"default": [("Małgorzata Braunek",)]}, {"benchmark": "2wiki", **WAY}),
        ("2wiki", {"question": "Who?", "answer": ["Mask of Fu Manchu", "The Mask of Fu Manchu"]},
         "1", {"default": [("Mask of Fu Manchu", "The Mask of Fu Manchu")]},
         {"benchmark": "2wiki"}),
        ("musique", MUSIQUE, MUSIQUE["id"], {"default": [("G. Stanley Hall", "Stanley Hall")]},
         {"benchmark": "musique", "question_decomposition": MUSIQUE["question_decomposition"]}),
        ("asqa", {"sample_id": "-70", "question": "Who?", "qa_pairs": PAIRS, "answer": "Ali ..."},
         "-70", READINGS, {"benchmark": "asqa", "answer": "Ali ...",
                           "contexts": {WOMEN: "Sinclair reached 100 goals."}}),
    ],
    ids=["FlashRAG", "QAMPARI", "HotpotQA", "2Wiki", "derived", "MuSiQue", "ASQA as ALCE has it"],
)  # fmt: skip
def test_a_published_entry_is_a_question_with_all_that_it_says(
    load: Any, form: str, entry: Any, id: str, found: Any, meta: Any, lines: bool
) -> None:
    [question] = load(form, entry, lines=lines)
    assert (question.id, gold(question), question.meta) == (id, found, meta)
    assert question.ambiguous == (form == "asqa")


def test_passages_come_with_the_question_and_support_the_answer(load: Any) -> None:
    [hotpot] = load("hotpotqa", {"question": "?", "answer": "a", "context": CONTEXT, **ALSO})
    texts = [(passage.title, passage.text) for passage in hotpot.passages]
    assert texts == [(title, "".join(parts)) for title, parts in CONTEXT]
    [answer] = hotpot.branches[0].answers
    assert answer.support == tuple(passage_id(*one) for one in texts[:2])
    titles, sentences = map(list, zip(*CONTEXT, strict=True))
    names, numbers = map(list, zip(*ALSO["supporting_facts"], strict=True))
    facts = {"supporting_facts": {"title": names, "sent_id": numbers}}
    of_hub = {"context": {"title": titles, "sentences": sentences}, **ALSO, **facts}
    [same] = load("hotpotqa", {"question": "?", "answer": "a", **of_hub})
    assert (same.passages, same.branches) == (hotpot.passages, hotpot.branches)
    context = [["Film", ["It is a film.", "X directed it."]]]
    [wiki] = load("2wiki", {"question": "?", "answer": "a", "context": context, "answer_id": "Q7"})
    assert wiki.passages[0].text == "It is a film. X directed it."
    assert wiki.branches[0].answers[0].qid == "Q7"
    [musique] = load("musique", MUSIQUE)
    assert musique.branches[0].answers[0].support == (passage_id("JPI", "A journal."),)
    assert [passage.title for passage in musique.passages] == ["JPI", "Physics"]
    with pytest.raises(InputError, match=r"data\.json:1: is marked as unanswerable"):
        load("musique", MUSIQUE | {"answerable": False}, lines=True)


def test_what_is_empty_or_repeated_is_left_out_and_told(load: Any) -> None:
    listed = [["Heat"], [""], ["Crying Freeman", "CF", ""], ["Heat"]]
    entry = {"id": "799", "question": "What?", "answers": listed, "answer": "Heat, Crying Freeman"}
    with pytest.warns(UserWarning, match="left out") as told:
        [question] = load("qampari", entry)
    assert gold(question) == {"default": [("Heat",), ("Crying Freeman", "CF")]}
    assert question.meta == {"benchmark": "qampari", "answer": "Heat, Crying Freeman"}
    said = [str(warning.message).partition("data.json: ")[2] for warning in told]
    kinds = ("empty answers", "empty aliases", "repeated answers")
    assert said == [f"{what} left out: 1 (entry 1)" for what in kinds]


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
        "contexts": {WOMEN: "Sinclair reached 100 goals."},
        **TOLD,
    }
    assert load_questions(f"asqa:{path}:dev").questions == (two,)
    with pytest.raises(InputError, match="holds no questions"):
        load_questions(f"asqa:{path}:test")


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
