"""AmbigQA's evaluation: by hand, and beside a second writing of its definition."""

import json
import random

import pytest

from branchwise.agents.prediction import Prediction
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.items import AnsweredItem
from branchwise.eval.scores import score_items
from branchwise.eval.tasks import get_task
from branchwise.eval.tasks.ambigqa.scores import bleu4, edit_f1, plain_text, question_tokens
from support import ambigqa_evaluation as second
from support.needs import DATA, needs_data

TASK = get_task("ambigqa")
OWN = ("ambigqa_f1", "edit_f1", "rewrite_bleu4")

# What Stanford's PTBTokenizer 3.4.1 (-preserveLines -lowerCase) makes of them, after coco-caption's
# list of punctuation and AmbigQA's normalisation.
STANFORD = {
    "When did the Chargers' stadium open?": "when did chargers stadium open",
    "What's the name of Tom's sister's band?": "what s name of tom s sister s band",
    "Who can't they've seen, and who won't I'm told they'd meet?": (
        "who ca nt they ve seen and who wo nt i m told they d meet"
    ),
    'Who sang "We\'re Gonna Wanna Gotta Dance (Remix)"?': (
        "who sang we re gon na wan na got ta dance lrb remix rrb"
    ),
    "How much is £20, $5.50 or 3% of €1,000,000?": "how much is 20 550 or 3 of 1000000",
    "What took place in 2016–17, not 2015-16?": "what took place in 2016 17 not 201516",
    "Who played Spider-Man [in the 2002 film]?": "who played spiderman lsb in 2002 film rsb",
    "What is Psalm 46:10; who wrote it: David?": "what is psalm 4610 who wrote it david",
    "When was U.S. v. Smith, Jr.'s case decided...?": "when was us v smith jr s case decided",
    "Who wrote 'Tis a Pity, and when?": "who wrote t is pity and when",
    'Why did J. R. R. Tolkien’s "Hobbit" sell 1,000,000 copies?': (
        "why did j r r tolkien s hobbit sell 1000000 copies"
    ),
    "Who don't we know — and shouldn't?": "who do nt we know and should nt",
    "What is AT&T vs. R&B?": "what is att vs rb",
    "Which cannot be?": "which can not be",
    "Who said “I'll be back”?": "who said i ll be back",
    "What does {x} mean, i.e. in C++?": "what does lcb x rcb mean ie in c",
    "Was it Ph.D. or M.A.?": "was it phd or ma",
}


def question(*gold_sets, asked="When did it air?"):
    """A question of gold sets `{reading: [forms of its answer]}`."""
    first, *others = (
        tuple(
            Branch(name=n, answers=(Answer(text=f[0], aliases=tuple(f[1:])),)) for n, f in g.items()
        )
        for g in gold_sets
    )
    several = all(len(gold) > 1 for gold in gold_sets)
    return Question(
        id="q", question=asked, ambiguous=several, branches=first, alternatives=tuple(others)
    )


def scores(question, answers, error=None):
    item = AnsweredItem(question, Prediction(answers=answers), error=error)
    metrics = score_items(TASK, [item]).items[0].metrics
    return [metrics[key] for key in OWN]


def test_texts_are_compared_as_in_squad():
    assert plain_text("the “D”, a.B. c") == "“d” ab c"
    assert plain_text("The Ann of a Thousand-Days!") == "ann of thousanddays"


@pytest.mark.parametrize(("asked", "tokens"), STANFORD.items())
def test_questions_have_the_tokens_of_stanfords_tokenizer(asked, tokens):
    assert " ".join(question_tokens(asked)) == tokens


def edits(asked, wordings, said):
    return edit_f1(question_tokens(asked), [*map(question_tokens, wordings)], question_tokens(said))


def test_edit_f1_counts_added_and_deleted_words():
    asked, gold = "When did it air?", "When did the Simpsons air as a short?"
    # Gold adds simpsons, as, short and deletes it; the prediction adds simpsons and deletes it.
    assert edits(asked, [gold], "When did the Simpsons air?") == pytest.approx(2 * 2 / (4 + 2))
    assert edits(asked, [gold], gold) == 1
    assert edits(asked, [gold], asked) == 0
    assert edits(asked, ["When did it air"], asked) == 1  # neither changes a word
    assert edits(asked, [gold, "When did it air first?"], "When did it first air?") == 1


def test_bleu_of_one_sentence_is_that_of_coco_caption():
    gold, said = "who directed the 1933 film king kong", "who directed the film king kong"
    tokens = question_tokens(gold), question_tokens(said)
    # 5 tokens of 6 (articles go): 5/5, 3/4, 1/3 (film king kong), 0/2; brevity exp(1 - 6/5).
    expected = (5 / 5 * 3 / 4 * 1 / 3 * 1e-15 / 2) ** 0.25 * 2.718281828 ** (1 - 6 / 5)
    assert bleu4((), [tokens[0]], tokens[1]) == pytest.approx(expected, rel=1e-6)
    assert bleu4((), [tokens[0]], tokens[0]) == pytest.approx(1, rel=1e-6)
    # Two wordings that are equally near in length: the shorter one is what brevity compares with.
    assert bleu4((), [("a", "b", "c", "d"), (*"abcdef",)], (*"abcde",)) == pytest.approx(1)


def test_a_question_without_gold_is_in_no_score():
    item = AnsweredItem(Question(id="q", question="?"), Prediction(answers={"x": ["y"]}))
    assert [TASK.score(item)[key] for key in OWN] == [None] * 3


WORDS = ["who", "when", "film", "king", "kong", "the", "1933", "a", "first", "last", "first", "is"]
ANSWERS = ["Paris", "paris!", "the Paris", "Rome", "An Answer", "1984", "Lyon", "answer"]


def drawn(draw):
    """A question as AmbigNQ has it, and predicted pairs under different questions."""

    def sentence():
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 7)))

    def forms():
        return draw.sample(ANSWERS, k=draw.randint(1, 3))

    def annotation():
        if draw.random() < 0.2:
            return {"type": "singleAnswer", "answer": forms()}
        names = list(dict.fromkeys(sentence() for _ in range(draw.randint(2, 4))))
        names += ["who is | when is"] if draw.random() < 0.3 or len(names) < 2 else []
        return {
            "type": "multipleQAs",
            "qaPairs": [{"question": n, "answer": forms()} for n in names],
        }

    annotations = [annotation() for _ in range(draw.randint(1, 3))]
    named = [p["question"] for a in annotations for p in a.get("qaPairs", ())]
    keys = [sentence() for _ in range(draw.randint(0, 3))] + draw.sample(named, k=len(named) // 2)
    answers = {key: draw.choices(ANSWERS, k=draw.randint(1, 3)) for key in keys}
    return sentence(), annotations, answers


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_an_independent_script(seed, tmp_path):
    draw = random.Random(seed)
    cases = {f"q{n}": drawn(draw) for n in range(100)}
    entries = [{"id": i, "question": q, "annotations": a} for i, (q, a, _) in cases.items()]
    (tmp_path / "q.json").write_text(json.dumps(entries))
    loaded = load_questions(f"ambignq:{tmp_path / 'q.json'}")
    assert loaded.task == TASK.name
    items = [AnsweredItem(q, Prediction(answers=cases[q.id][2])) for q in loaded.questions]
    found = {item.id: item.metrics for item in score_items(TASK, items).items}
    assert sum(one["edit_f1"] is not None for one in found.values()) > 40
    assert len({one["ambigqa_f1"] for one in found.values()}) > 6
    for id, (asked, annotations, answers) in cases.items():
        pairs = [(name, text) for name, texts in answers.items() for text in texts]
        expected = second.evaluate(asked, annotations, pairs)
        own = {key: found[id][key] for key in OWN if found[id][key] is not None}
        assert own == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@needs_data
def test_gold_answers_of_the_published_file_are_perfect():
    path = DATA / "ambignq" / "train_light.json"
    questions = load_questions(f"ambignq:{path}").questions
    items = [
        AnsweredItem(q, Prediction(answers={b.name: [b.answers[0].text] for b in q.branches}))
        for q in questions[::10]
    ]
    found = score_items(TASK, items).aggregates
    assert found["all"]["ambigqa_f1"].mean == 1
    assert found["ambiguous"]["ambigqa_f1"].n == sum(q.ambiguous for q in questions[::10])
    assert found["ambiguous"]["edit_f1"].mean == pytest.approx(1, abs=0.01)
