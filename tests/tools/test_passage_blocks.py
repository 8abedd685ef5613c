"""Which passages of a ranking are shown, and in what order."""

from hypothesis import given
from hypothesis import strategies as st

from branchwise.corpora.passages import Passage
from branchwise.corpora.retrieval import Hit
from branchwise.tools.result_text import block, new_and_repeated, shown_whole, spread

TITLES = st.sampled_from(["Heat", "Heat (song)", "HEAT (1995 film)", "Dust", "(untitled)", ""])
RANKINGS = st.lists(TITLES, max_size=12).map(
    lambda titles: [
        Hit(Passage(id=f"p{n}", title=title, text=f"text {n}"), 1.0 / (n + 1))
        for n, title in enumerate(titles)
    ]
)


def ids(hits):
    return [hit.passage.id for hit in hits]


def test_one_of_each_name_comes_first():
    titles = ["Heat", "Heat (song)", "Dust", "heat (1995 film)", "Dust (novel)", "Sand"]
    ranking = [Hit(Passage(id=t, title=t, text="x"), 0.0) for t in titles]
    assert ids(spread(ranking, 1)) == [
        "Heat", "Dust", "Sand", "Heat (song)", "heat (1995 film)", "Dust (novel)",
    ]  # fmt: skip
    assert ids(spread(ranking, 2)) == [
        "Heat", "Heat (song)", "Dust", "Dust (novel)", "Sand", "heat (1995 film)",
    ]  # fmt: skip


@given(RANKINGS, st.integers(1, 5))
def test_a_spread_ranking_loses_and_adds_nothing(ranking, n):
    assert sorted(ids(spread(ranking, n))) == sorted(ids(ranking))
    assert spread(ranking, len(ranking) + 1) == ranking


@given(RANKINGS, st.integers(1, 5), st.sets(st.sampled_from([f"p{n}" for n in range(12)])))
def test_new_hits_are_the_first_that_the_model_lacks(ranking, k, shown):
    new, repeated = new_and_repeated(ranking, k, shown)
    lacking = [id for id in ids(ranking) if id not in shown]
    assert ids(new) == lacking[:k]
    before = (
        ids(ranking)[: ids(ranking).index(new[-1].passage.id)] if len(new) == k else ids(ranking)
    )
    assert [one["id"] for one in repeated] == [id for id in before if id in shown]


def test_a_passage_that_was_cut_or_changed_does_not_count_as_shown():
    passages = [
        {"id": "a", "title": "T", "text": "one\ntwo"},
        {"id": "b", "title": "", "text": "x"},
    ]
    whole = "\n\n".join(map(block, passages))
    assert list(shown_whole(whole, passages)) == ["a", "b"]
    assert list(shown_whole(whole[:-2], passages)) == ["a"]
    assert list(shown_whole("[a] T\none two", passages)) == ["a"]
    assert list(shown_whole(whole, [{"id": "a"}, {"text": "x"}])) == []
