"""BM25 by the formula, and the same analysis for passages and queries."""

import json
import math

import pytest

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.lexical import Analyzer, build_lexical, open_lexical
from branchwise.corpora.progress import silent


@pytest.fixture
def index(tmp_path):
    def _index(*texts):
        lines = (json.dumps({"id": f"p{9 - i}", "contents": t}) for i, t in enumerate(texts))
        (tmp_path / "corpus.jsonl").write_text("".join(f"{line}\n" for line in lines))
        corpus = Corpus.open(tmp_path)
        build_lexical(corpus, tmp_path, silent)
        return open_lexical(corpus, tmp_path)

    return _index


def test_scores_follow_the_formula(index):
    """Lucene's BM25: idf = ln(1 + (N - n + .5) / (n + .5)); tf / (tf + k1 (1 - b + b l / mean))."""
    found = index("volcano volcano lava", "volcano river", "river bridge stone ship").rank(
        ["volcano"], 3
    )[0]
    idf, mean = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5)), 3.0
    expected = [
        idf * tf / (tf + 1.5 * (0.25 + 0.75 * length / mean)) for tf, length in ((2, 3), (1, 2))
    ]
    assert [hit.row for hit in found] == [0, 1]
    assert [hit.score for hit in found] == pytest.approx(expected, rel=1e-5)


def test_a_passage_without_a_word_of_the_query_is_no_result(index):
    found = index("volcano lava", "river bridge", "stone")
    assert [hit.row for hit in found.rank(["lava"], 3)[0]] == [0]
    assert found.rank(["", "the of", "xylophone"], 3) == [[], [], []]


def test_queries_are_analysed_like_passages(index):
    found = index("Volcanoes were ERUPTING", "river")
    assert [hit.row for hit in found.rank(["an eruption of a volcano"], 2)[0]] == [0]


def test_ties_are_ordered_by_id(index):
    found = index(*["same words"] * 5, "other thing").rank(["same"], 3)[0]
    assert [hit.row for hit in found] == [4, 3, 2]


def test_a_batch_ranks_each_query_as_alone(index):
    built = index("volcano lava ash", "river lava", "stone bridge river", "ash")
    queries = ["lava", "river ash", "stone"]
    assert built.rank(queries, 3) == [built.rank([query], 3)[0] for query in queries]


def test_analysis_lowers_drops_stop_words_and_stems():
    assert Analyzer().terms("The Volcanoes, a volcano & erupting!") == [
        "volcano",
        "volcano",
        "erupt",
    ]


def test_a_corpus_without_words_is_refused(index):
    with pytest.raises(InputError, match="no passage contains a word"):
        index("…", "?!")
