"""The parts of a query, and how what they find is fused."""

from manners.asking import RecordedQuery
from query_splitting import SPLITS, fusion, new_ones, parts

from branchwise.corpora.names_in_text import names_in
from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit


def split(query, way="query, names, rest"):
    return parts(query, names_in(query), SPLITS[way])


def ranking(ids):
    return [Hit(Passage(id=id, title=id, text=""), 1.0) for id in ids]


def test_a_query_is_split_into_its_names_and_the_rest_of_its_words():
    asked = "companies founded by Ada Holm or Bo Lind"
    assert split(asked) == [asked, "Ada Holm", "Bo Lind", "companies founded"]
    assert split(asked, "query, each name with the rest") == [
        asked,
        "Ada Holm companies founded",
        "Bo Lind companies founded",
    ]


def test_a_query_that_is_all_name_or_has_none_is_not_split():
    assert split("Ada Holm") == ["Ada Holm"]
    assert split("founded companies") == ["founded companies"]


def test_what_two_parts_find_comes_before_what_one_finds_first():
    # b: 1/62 + 1/61; c: 1/63 + 1/62; a and d: 1/61 and 1/63.
    fused = fusion([ranking("abc"), ranking("bcd")])
    assert [hit.passage.id for hit in fused] == ["b", "c", "a", "d"]


def test_each_recorded_query_counts_for_its_first_passages_that_are_new():
    found = {"first": ranking("abcd"), "second": ranking("badce")}
    turns = [[RecordedQuery("first")], [RecordedQuery("second")]]
    assert new_ones(found.__getitem__, turns, 2) == ["a", "b", "d", "c"]
