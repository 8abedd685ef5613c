from hypothesis import given
from hypothesis import strategies as st

from branchwise.eval.errors.mentions import ManyNames, Mentions, mentioned

NAMES = [
    ["Michael Mann", "M. Mann"],
    ["Heat (1995 film)"],
    ["U2"],
    ["It"],
    ["Spider-Man"],
    ["18 February 1977"],
    ["1,200"],
    ["\u5bae\u5d0e\u99ff"],
    ["Antonín Dvořák"],
    ["!!!"],
    ["", " "],
    ["Michael Mannheim"],
]
TEXTS = [
    "Heat is a film that Michael Mann wrote; It came later.",
    "The band U2 played Spider Man on February 18, 1977, to 1200 people.",
    "\u76e3\u7763\u306f\u5bae\u5d0e\u99ff\u3067\u3059\u3002 Dvorak, or Antonin Dvorak.",
    "!!!",
    "",
    "Mannheim, spiderman u2 it heat",
]


def test_texts_mention_what_the_mention_matcher_says() -> None:
    names, plain = ManyNames(NAMES), Mentions(NAMES)
    found = [names.present(text) for text in TEXTS]
    assert found == [plain.present(text) for text in TEXTS]
    assert found[0] >= {0, 3}
    assert found[1] >= {2, 4, 5, 6}
    assert found[4] == set()
    first = {
        name: min(n for n, own in enumerate(found) if name in own) for name in set().union(*found)
    }
    assert mentioned(NAMES, TEXTS) == first


def test_what_is_known_is_not_looked_for_again() -> None:
    assert ManyNames(NAMES).present(TEXTS[0], known={0}) == ManyNames(NAMES).present(TEXTS[0]) - {0}


@given(st.lists(st.text(max_size=6), max_size=4), st.text(max_size=30))
def test_any_names_and_text_agree_with_the_mention_matcher(forms: list[str], text: str) -> None:
    names = [[form] for form in forms]
    assert ManyNames(names).present(text) == Mentions(names).present(text)
