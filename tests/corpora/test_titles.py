"""The passages of a title."""

import pytest

from branchwise.corpora.folder import MAX_PARTS, Corpus, Titles
from branchwise.corpora.passages import name_of
from support.corpora.small import bare_corpus

TEXTS = {
    "a": "Heat (film)\nFirst.",
    "b": "Dust\nAlone.",
    "c": "HEAT  (film)\nSecond.",
    "d": "Without a title",
    "e": "Also without",
}


@pytest.fixture
def titles(tmp_path):
    return Titles(Corpus.open(bare_corpus(tmp_path / "C", TEXTS)))


def test_a_title_is_found_in_any_case_and_spacing_in_the_corpus_order(titles):
    assert [passage.id for passage in titles.passages(" heat (FILM)")] == ["a", "c"]
    assert [passage.id for passage in titles.passages("dust")] == ["b"]
    assert titles.passages("Heat") == titles.passages("") == []


def test_a_passage_says_which_part_it_is_unless_it_is_the_only_one(titles, tmp_path):
    corpus = Corpus.open(tmp_path / "C")
    places = {corpus.id(row): titles.place(corpus.passage(row)) for row in range(len(corpus))}
    assert places == {"a": (1, 2), "b": None, "c": (2, 2), "d": None, "e": None}


def test_what_very_many_share_is_no_title(tmp_path):
    texts = {f"p{n}": f"Untitled\nText {n}." for n in range(MAX_PARTS + 1)}
    titles = Titles(Corpus.open(bare_corpus(tmp_path / "C", texts)))
    assert titles.passages("Untitled") == []


def test_the_index_is_kept_beside_the_corpus_and_made_again_where_it_is_damaged(titles, tmp_path):
    assert len(titles.passages("Dust")) == 1
    for file in (tmp_path / "C" / "titles").iterdir():
        whole = file.read_bytes()
        for damaged in (b"", whole[:-8], b"\0" * len(whole), whole[:-1] + b"\1"):
            file.write_bytes(damaged)
            again = Titles(Corpus.open(tmp_path / "C"))
            assert [passage.id for passage in again.passages("Heat (film)")] == ["a", "c"]
            assert file.read_bytes() == whole


def test_an_index_that_cannot_be_written_is_made_for_the_process(titles, tmp_path):
    (tmp_path / "C" / "titles").write_text("in the way")
    (tmp_path / "C").chmod(0o500)
    assert len(titles.passages("Dust")) == 1


@pytest.mark.parametrize(
    ("title", "name"),
    [("Heat (1995 film)", "Heat"), ("Heat", "Heat"), ("(untitled)", "(untitled)"), ("", "")],
)
def test_a_name_is_a_title_without_its_disambiguator(title, name):
    assert name_of(title) == name
