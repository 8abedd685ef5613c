"""What the benchmark of manners measures: hops of a plan, queries asked again, means."""

import subprocess
import sys

import pytest
from manners.asking import RecordedQuery, as_recorded, asks_once
from manners.conversation import Conversation
from manners.measuring import hops, mean, search
from manners.offer import Offer
from manners.replaying import recorded

from branchwise.corpora.questions import Answer, Branch, Question, QuestionSet, questions_digest
from branchwise.graphs.system import System
from support import ROOT
from support.corpora.small import FILMS, bm25_corpus

SEARCH = {"name": "local_retriever", "parameters": {"properties": {"query": {}, "page": {}}}}
DIRECTOR = Branch(name="default", answers=(Answer(text="Michael Mann", support=("heat-1995",)),))
OTHER = Branch(name="default", answers=(Answer(text="Ox", support=("island", "nowhere")),))


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A run over two questions by a model that searches once, and what was measured of it."""
    folder = tmp_path_factory.mktemp("searched")
    asked = (
        Question(id="1", question="Who directed Heat?", branches=(DIRECTOR,)),
        Question(id="2", question="Who directed The Island?", branches=(OTHER,)),
    )
    questions = QuestionSet("films", "branches", asked, questions_digest(asked))
    corpus = bm25_corpus(folder, FILMS)
    system = System(corpus=str(corpus), retriever="bm25", k=2)
    return search(asks_once, system, questions, folder / "run"), folder / "run"


@pytest.mark.slow
def test_support_and_cost_are_those_of_the_run(searched):
    rows, _ = searched
    assert [row.support for row in rows] == [1.0, 0.5]
    assert [row.calls for row in rows] == [1, 1]
    assert [row.requests for row in rows] == [2, 2]
    assert [row.spent for row in rows] == [False, False]
    assert {id for row in rows for id in row.results[0]} >= {"heat-1995", "heat-1986", "island"}
    # The conversation is read twice: before the search, and with what it brought.
    assert all(row.tokens > row.shown for row in rows)


def test_recorded_queries_are_read_turn_by_turn(searched):
    turns, rows = recorded(searched[1])
    assert turns == {
        "Who directed Heat?": [[RecordedQuery("Who directed Heat?")]],
        "Who directed The Island?": [[RecordedQuery("Who directed The Island?")]],
    }
    assert rows == searched[0]


def test_recorded_queries_are_asked_again_in_their_turns():
    first, second = [RecordedQuery("a"), RecordedQuery("b")], [RecordedQuery("c", came_before=2)]
    offer = Offer.of([{"function": SEARCH}])
    turns = {"Q?": [first, second]}

    def calls(turn, **how):
        seen = Conversation("Q?", (), (), turn, told=False, left=None)
        return [args for _, args in as_recorded(turns, **how)(seen, offer)]

    assert calls(0) == [{"query": "a"}, {"query": "b"}]
    assert calls(1) == [{"query": "c"}]
    assert calls(1, paging=True) == [{"query": "c", "page": 3}]
    assert calls(2) == []


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ([], 0),
        ([{"op": "atomic"}], 1),
        ([{"op": "atomic"}, {"op": "filter", "of": 0}], 1),
        ([{"op": "atomic"}, {"op": "atomic"}, {"op": "union", "of": 0, "other": 1}], 1),
        ([{"op": "atomic"}, {"op": "join", "of": 0}, {"op": "join", "of": 1}], 3),
        (
            [
                {"op": "atomic"},
                {"op": "join", "of": 0},
                {"op": "atomic"},
                {"op": "intersection", "of": 2, "other": 1},
            ],
            2,
        ),
    ],
)
def test_hops_are_the_relations_in_a_row(plan, expected):
    assert hops(Question(id="q", question="?", plan=tuple(plan))) == expected


def test_what_is_unknown_is_in_no_mean():
    assert mean([1.0, None, 0.5]) == 0.75
    assert mean([None]) is None


@pytest.mark.long
@pytest.mark.usefixtures("process")
def test_without_recorded_data_it_refuses_in_one_line(tmp_path):
    script = ROOT / "benchmarks" / "search_manners.py"
    ended = subprocess.run(
        [sys.executable, str(script), "--recorded"],
        capture_output=True,
        text=True,
        check=False,
        env={"BRANCHWISE_DATA": str(tmp_path)},
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        f"--recorded: {tmp_path}/recorded2/base is not a folder; "
        "set BRANCHWISE_DATA to the folder of data\n"
    )
