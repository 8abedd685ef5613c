"""Which rows are shown, in which order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.ui.traces.lines import SUBSETS, Arrangement, ItemLine, arranged, differs, sorts
from branchwise.ui.traces.runs import RunView
from support.ui.written_runs import failure, make_run, outcome, question


class Listed:
    """Rows without a file: what `arranged` asks of a run."""

    heads = ("P", "R", "EM")

    def __init__(self, *lines):
        self._lines = lines

    def lines(self):
        return self._lines


def row(number, **fields):
    about = {"id": f"q{number}", "question": f"Who is in film {number}?", "ambiguous": False}
    return ItemLine(**{"number": number, "epoch": 0, "status": "done", **about, **fields})


def test_rows_are_sorted_in_both_directions_with_unknown_ones_last():
    run = Listed(
        row(0, scores=(None, None, 0.5)),
        row(1),
        row(2, scores=(None, None, 1.0)),
        row(3, scores=(None, None, 0.5)),
        row(4, scores=(None, None, 0.0)),
    )
    assert arranged(run, Arrangement(sort="EM")) == [4, 0, 3, 2, 1]
    assert arranged(run, Arrangement(sort="EM", descending=True)) == [2, 0, 3, 4, 1]


def test_numbers_in_ids_are_compared_as_numbers():
    long = "q" + "9" * 5000
    ids = [long, "q10", "q9", "Q9b", "x", "q09", "10", "9", "²", "q", ""]
    run = Listed(*(row(n, id=id) for n, id in enumerate(ids)))
    shown = [ids[n] for n in arranged(run, Arrangement(sort="id"))]
    assert shown == ["", "9", "10", "q", "q9", "q09", "Q9b", "q10", long, "x", "²"]


def test_what_runs_or_failed_comes_first_by_status():
    run = Listed(
        *(row(n, status=s) for n, s in enumerate(["done", "pending", "failed", "running"]))
    )
    assert arranged(run, Arrangement(sort="status")) == [3, 2, 1, 0]


def test_labels_are_sorted_by_how_many_there_are():
    run = Listed(row(0, labels=("a", "b")), row(1), row(2, labels=()), row(3, labels=("z",)))
    assert arranged(run, Arrangement(sort="labels")) == [2, 3, 0, 1]
    assert arranged(run, Arrangement(sort="labels", descending=True)) == [0, 3, 2, 1]


def test_rows_are_filtered_by_all_that_is_asked():
    run = Listed(
        row(0, ambiguous=True, labels=("wrong_branch",)),
        row(1, labels=("wrong_branch",), status="failed"),
        row(2, ambiguous=True, labels=()),
        row(3),
    )
    assert arranged(run, Arrangement(subset="ambiguous")) == [0, 2]
    assert arranged(run, Arrangement(subset="unambiguous")) == [1, 3]
    assert arranged(run, Arrangement(label="wrong_branch")) == [0, 1]
    assert arranged(run, Arrangement(status="failed")) == [1]
    assert arranged(run, Arrangement(subset="ambiguous", label="wrong_branch")) == [0]
    assert arranged(run, Arrangement(subset="ambiguous", status="failed")) == []


def test_every_word_has_to_occur_in_id_or_question_whatever_its_case():
    run = Listed(row(0, id="heat-1", question="Who is in HEAT?"), row(1, question="Straße"))
    assert arranged(run, Arrangement(text="heat WHO")) == [0]
    assert arranged(run, Arrangement(text="eat-1")) == [0]
    assert arranged(run, Arrangement(text="heat kong")) == []
    assert arranged(run, Arrangement(text="STRASSE")) == [1]
    assert arranged(run, Arrangement(text="  ")) == [0, 1]
    assert arranged(run, Arrangement(text="[a-z")) == []


def test_an_unknown_sort_or_subset_is_refused():
    with pytest.raises(InputError, match="known are order, id"):
        arranged(Listed(), Arrangement(sort="colour"))
    with pytest.raises(InputError, match="known are all"):
        Arrangement(subset="odd")


def test_an_item_differs_in_status_or_a_metric_only():
    one = row(0, scores=(0.5, 1.0, 0.0), tokens=10, labels=())
    assert not differs(one, replace(one, tokens=99, seconds=1.0, labels=("x",), number=7))
    assert differs(one, replace(one, scores=(0.5, 99.0, 0.0)))
    assert differs(one, replace(one, scores=(0.5, 1.0, None)))
    assert differs(one, replace(one, status="failed"))
    assert differs(one, None)


def test_rows_that_another_run_ended_otherwise(tmp_path):
    questions = [question(n) for n in range(1, 5)]
    ends = [outcome("Mann"), outcome("Mann"), outcome("Mann"), None]
    others = [outcome("Mann"), outcome("Nobody"), failure()]
    first = make_run(tmp_path / "a", questions, ends)
    second = make_run(tmp_path / "b", [questions[0], questions[1], questions[2]], others)
    with RunView.open(first) as a, RunView.open(second) as b:
        assert arranged(a, Arrangement(differs=True), b) == [1, 2, 3]
        assert arranged(b, Arrangement(differs=True), a) == [1, 2]
        assert arranged(a, Arrangement(differs=True)) == [0, 1, 2, 3]


LINES = st.lists(
    st.builds(
        ItemLine,
        number=st.integers(0, 9),
        id=st.text(max_size=6),
        epoch=st.integers(0, 1),
        question=st.text(max_size=6),
        ambiguous=st.booleans(),
        status=st.sampled_from(["pending", "running", "done", "failed", "odd"]),
        scores=st.just(()) | st.tuples(*[st.none() | st.floats(0, 1)] * 3),
        labels=st.none() | st.lists(st.text(max_size=3), max_size=3).map(tuple),
        tokens=st.none() | st.integers(0, 10**9),
        seconds=st.none() | st.floats(0, 1e6),
    ),
    max_size=8,
)


@pytest.mark.slow
@given(
    LINES,
    st.sampled_from(sorts(Listed.heads)),
    st.booleans(),
    st.sampled_from(SUBSETS),
    st.text(max_size=3),
)
def test_an_arrangement_shows_the_same_rows_in_whatever_order(
    lines, sort, descending, subset, text
):
    run = Listed(*lines)
    shown = arranged(run, Arrangement(sort, descending=descending, subset=subset, text=text))
    assert sorted(shown) == arranged(run, Arrangement(subset=subset, text=text))
