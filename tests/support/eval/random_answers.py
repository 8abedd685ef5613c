"""Hypothesis strategies of gold branches and predictions."""

from hypothesis import strategies as st

from branchwise.corpora.questions import Answer

# Few words, so that names, forms and disambiguators collide often.
ENTITIES = st.builds(
    lambda name, mark: f"{name}{mark}",
    st.sampled_from(["Heat", "heat", "The Heat", "Kong", "Ali", "Thief", "北京"]),
    st.sampled_from(["", "", " (1986 film)", " 1986 film", " (1995 film)", " (film)", "!"]),
)
ANSWERS = st.builds(
    lambda text, aliases, qid: Answer(text=text, aliases=tuple(aliases), qid=qid),
    ENTITIES,
    st.lists(ENTITIES, max_size=2),
    st.sampled_from([None, None, "Q1", "Q2"]),
)
NAMES = st.sampled_from(
    ["Heat (1986 film)", "Heat (1995 film)", "Heat 1995", "the song", "film", "default", "Heat"]
)
GOLD = st.dictionaries(NAMES, st.lists(ANSWERS, min_size=1, max_size=4), min_size=1, max_size=4)
PREDICTED = st.dictionaries(NAMES, st.lists(ENTITIES, max_size=5), max_size=5)
ORDER = st.randoms(use_true_random=False)
