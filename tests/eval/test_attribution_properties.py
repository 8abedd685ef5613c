"""What holds for the errors of every item, whatever its trace holds."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branchwise.agents.prediction import Prediction
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.branch_scores import align_answers, gold_branches, strict_score
from branchwise.eval.errors.attribution import examine
from branchwise.eval.errors.item_errors import MAX_PLACES, ItemErrors
from branchwise.eval.errors.labels import Label
from branchwise.eval.items import AnsweredItem
from branchwise.trace.events import Event

pytestmark = pytest.mark.slow

NAMES = ["Ann Lee", "Bo Diaz", "Cy Odum", "Di Funk", "Ed Pike"]
KEYS = ["Heat (1986 film)", "Heat (1995 film)", "the song"]
TEXTS = st.lists(st.sampled_from(NAMES), max_size=3).map("; ".join)
ANSWERS = st.dictionaries(
    st.sampled_from(KEYS), st.lists(st.sampled_from(NAMES), max_size=4), max_size=3
)
GOLD = st.dictionaries(
    st.sampled_from(KEYS[:2]), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1
)
PARTS = """
    id text title spans how whole value type usage input passages rows matches variables labels
    label name args
""".split()  # noqa: SIM905 - read as a list of words
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(PARTS), inner, max_size=3)
    ),
    max_leaves=12,
)
FIELDS = """
    call of content error failure artifact passages tool_calls invalid_tool_calls usage role text
    omitted reason problem
""".split()  # noqa: SIM905
KINDS = """
    start model tool extraction expansion context_trimmed compacted
    budget repair answer error strange
""".split()  # noqa: SIM905
DISORDER = st.lists(
    st.tuples(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS), JSON))
)


@st.composite
def searches(draw: st.DrawFn) -> list[tuple[str, dict]]:
    """Turns of one or two searches each, with or without extraction."""
    events: list[tuple[str, dict]] = []
    for _ in range(draw(st.integers(0, 3))):
        made = draw(st.integers(1, 2))
        calls = [{"id": f"c{n}", "name": "search", "args": {}} for n in range(made)]
        events.append(("model", {"tool_calls": calls, "invalid_tool_calls": []}))
        for of in draw(st.permutations(range(made))):
            texts = draw(st.lists(TEXTS, max_size=2))
            passages = [{"id": f"p{n}", "title": "", "text": t} for n, t in enumerate(texts)]
            error = draw(st.sampled_from([None, None, "broken"]))
            data = {"call": calls[of], "of": of, "content": "", "error": error}
            events.append(("tool", data | {"artifact": {"passages": passages}}))
            if draw(st.booleans()):
                kept = [{"id": p["id"], "spans": [draw(TEXTS)], "how": "spans"} for p in passages]
                events.append(("extraction", {"of": of, "passages": kept}))
    return [*events, ("answer", {"how": "strict", "problem": None})]


def item(gold: dict[str, list[str]], answers: dict[str, list[str]]) -> AnsweredItem:
    branches = tuple(
        Branch(name=name, answers=tuple(Answer(text=t) for t in texts))
        for name, texts in gold.items()
    )
    question = Question(id="q", question="Who?", branches=branches)
    return AnsweredItem(question, Prediction(answers={k: tuple(v) for k, v in answers.items()}))


def numbered(events: list[tuple[str, dict]]) -> Iterator[Event]:
    return (Event(seq, kind, 0.0, data) for seq, (kind, data) in enumerate(events))


@given(GOLD, ANSWERS, searches())
@settings(max_examples=150)
def test_labels_follow_from_places_and_agree_with_the_score(gold, answers, events):
    found = examine(item(gold, answers), numbered(events))
    errors = found.errors
    scored = gold_branches(item(gold, answers).question.branches)
    score = strict_score(scored, answers, align_answers(scored, answers))
    assert len(errors.missing) == len(found.matches.missing) == score.gold - score.right
    assert len(errors.wrong) >= score.predicted - score.right
    everything = "; ".join(
        p["text"]
        for kind, data in events
        if kind == "tool" and not data["error"]
        for p in data["artifact"]["passages"]
    )
    predicted = [text for texts in answers.values() for text in texts]
    for answer in errors.missing:
        # The names share no word, so that a mention is the name itself.
        assert (answer.retrieved + answer.mentioned > 0) == (answer.text in everything)
        assert answer.label is not None
        assert (answer.under is not None) == (answer.label is Label.WRONG_BRANCH)
        assert (answer.lost_at is not None) == (answer.label is Label.INCORRECT_REASONING)
        if answer.label is Label.WRONG_BRANCH:
            assert answer.text in predicted
        else:
            assert (answer.label is Label.INCORRECT_REASONING) == (answer.retrieved > 0)
            only_mentioned = answer.mentioned > 0 and not answer.retrieved
            assert (answer.label is Label.PERHAPS_STATED) == only_mentioned
            assert (answer.lost_at == "extraction") == (
                answer.retrieved > 0 and not any(place.shown for place in answer.places)
            )
        assert len(answer.places) == min(answer.retrieved, MAX_PLACES)
    for wrong in errors.wrong:
        assert wrong.text in answers[wrong.branch]
        assert (wrong.retrieved > 0) == (wrong.text in everything)
        assert (wrong.label is Label.UNSUPPORTED_ANSWER) == (
            wrong.retrieved == 0 and wrong.belongs_to is None
        )


@pytest.mark.long
@given(GOLD, ANSWERS, DISORDER)
@settings(max_examples=200)
def test_no_trace_is_so_disordered_that_it_cannot_be_read(gold, answers, events):
    errors = examine(item(gold, answers), numbered(events)).errors
    assert ItemErrors.from_json(json.loads(json.dumps(errors.to_json()))) == errors
    assert errors.traced == bool(events)
