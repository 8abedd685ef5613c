"""Words and names as the offline model reads them."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from branchwise.agents.offline import kg


@given(st.lists(st.sampled_from(["by", "ink", " ", "\t", "in"])).map("".join))
@example("film" + " " * 200_000 + "about")
def test_what_a_thing_is_ends_before_its_details(description):
    found = re.search(r"(?<!\s)\s++(by|directed|from|in|of|with|for)\b", description)
    thing = kg.KgEntity("Q1", "Heat", "", description)
    kind = description[: found.start()] if found else description
    assert thing.reading == (f"Heat ({kind})" if kind else "Heat")
