"""The published CondAmbigQA questions, from their file to the scores."""

import pytest

from branchwise import System, run, score
from branchwise.corpora.build import build_corpus, build_index
from support.needs import DATA, needs_data

FILE = DATA / "condambigqa" / "dev.json"
QUESTIONS = 102

pytestmark = [needs_data, pytest.mark.slow]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("condambigqa") / "C"
    build_corpus(f"condambigqa:{FILE}", folder)
    build_index(folder, "bm25")
    return folder


def means(scores):
    return {key: found.mean for key, found in scores.aggregates["all"].items()}


@pytest.mark.long
def test_every_question_is_searched_for_and_scored(corpus, tmp_path):
    made = run(f"condambigqa:{FILE}", System(corpus=str(corpus)), out=tmp_path / "R")
    scores = score(made)
    assert (made.state.done, made.state.failed) == (QUESTIONS, 0)
    assert (scores.counts.items, scores.counts.format_errors) == (QUESTIONS, 0)
    found = means(scores)
    assert 0 < found["citation_recall"] < found["cite_all_recall"] < 1
    assert found["cite_all_precision"] < found["citation_precision"] < 1


def test_without_a_corpus_the_given_passages_are_read(tmp_path):
    made = run(f"condambigqa:{FILE}", System(), out=tmp_path / "R")
    found = means(score(made))
    assert made.state.failed == 0
    # A question's twenty passages hold every passage that its gold answers cite.
    reader = made.open()
    for item in reader.answered_items():
        cited = {id for branch in item.question.branches for id in branch.citations}
        assert cited <= set(item.evidence.passages)
    reader.close()
    assert found["citation_recall"] < found["cite_all_recall"]
