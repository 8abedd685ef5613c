"""Which texts are one entity: precision and recall of one branch, by hand."""

import pytest

from branchwise.corpora.questions import Answer
from support.eval.scoring_cases import pooled, strict


def counts(gold: list[str | Answer], predicted: list[str]) -> tuple[int, int, int]:
    """(right, predicted, gold) of one branch."""
    score = strict({"default": gold}, {"default": predicted})
    return score.right, score.predicted, score.gold


DE_NIRO = Answer(text="Robert De Niro", aliases=("De Niro",))
KONGS = ["King Kong (1933 film)", "King Kong (1976 film)", "King Kong (2005 film)"]
DUMAS = [Answer(text=f"Alexandre Dumas {name}", aliases=("Dumas",)) for name in ("père", "fils")]
CITY = [Answer(text="Bombay", qid="Q1156"), Answer(text="Mumbai", qid="Q1156")]


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        # Case, articles and punctuation do not matter; an alias is the entity.
        (["The Godfather", "AC/DC"], ["godfather", "Ac-Dc"], (2, 2, 2)),
        ([DE_NIRO], ["de niro"], (1, 1, 1)),
        # Two forms of an entity, and one that is written twice, count once, in gold too.
        ([DE_NIRO, "Al Pacino"], ["Robert De Niro", "De Niro"], (1, 1, 2)),
        (["A", "B"], ["Right?", "right", "RIGHT!", "b"], (1, 2, 2)),
        (["Heat", "heat!"], ["Heat"], (1, 1, 1)),
        (CITY, ["Mumbai"], (1, 1, 1)),
        (["A"], ["", "  ", "A"], (1, 1, 1)),
        # A disambiguator that one side alone has is ignored; two different ones never match.
        (["King Kong (1976 film)"], ["King Kong"], (1, 1, 1)),
        (["King Kong"], ["King Kong (1976 film)"], (1, 1, 1)),
        (["King Kong"], ["King Kong（1976 film）"], (1, 1, 1)),
        (["Heat (1995 film)"], ["Heat, 1995 film"], (1, 1, 1)),
        (["Heat (1995 film)"], ["Heat (1986 film)"], (0, 1, 1)),
        ([Answer(text="Heat (1995 film)", aliases=("Heat",))], ["Heat (1986 film)"], (0, 1, 1)),
        ([Answer(text="Heat (1995 film)", aliases=("Heat",))], ["Heat"], (1, 1, 1)),
        # Listing every disambiguator of a bare gold name is not free.
        (["King Kong"], KONGS, (1, 3, 1)),
        (["King Kong"], ["King Kong", KONGS[1]], (1, 1, 1)),
        (["King Kong"], [KONGS[1], "King Kong, 1976 film"], (1, 1, 1)),
        # A bare name that two gold entities share, or that another one bears, matches neither.
        (["Heat (1986 film)", "Heat (1995 film)"], ["Heat"], (0, 1, 2)),
        (["Heat (1986 film)", "Heat (1995 film)"], ["Heat (1995 film)"], (1, 1, 2)),
        (["Heat", "Heat (1995 film)"], ["Heat (1986 film)"], (0, 1, 2)),
        (["Heat", "Heat (1995 film)"], ["Heat", "Heat (1995 film)"], (2, 2, 2)),
        # A form of two entities finds one of them: the one that has no form of its own.
        (DUMAS, ["Dumas"], (1, 1, 2)),
        (DUMAS, ["Dumas", "Alexandre Dumas père"], (2, 2, 2)),
        (DUMAS, ["Alexandre Dumas fils", "Dumas"], (2, 2, 2)),
    ],
)
def test_counts_by_hand(gold, predicted, expected):
    assert counts(gold, predicted) == expected


def test_a_bare_name_must_be_unique_in_the_whole_question() -> None:
    gold = {"in 1986": ["Heat (1986 film)"], "in 1995": ["Heat (1995 film)"]}
    assert strict(gold, {"in 1995": ["Heat"]}).right == 0
    assert strict(gold, {"in 1995": ["Heat (1995 film)"]}).right == 1


def test_an_entity_of_two_branches_leaves_its_bare_name_unique() -> None:
    gold = {"first": ["Heat (1995 film)"], "second": ["Heat (1995 film)", "Ali"]}
    assert strict(gold, {"first": ["Heat"], "second": ["Heat"]}).right == 2


def test_one_text_with_two_wikidata_ids_is_not_unique() -> None:
    gold = {
        "of 1933": [Answer(text="King Kong", qid="Q1")],
        "of 1976": [Answer(text="King Kong", qid="Q2")],
    }
    assert strict(gold, {"of 1933": ["King Kong (1976 film)"]}).right == 0
    assert strict(gold, {"of 1933": ["King Kong"], "of 1976": ["King Kong"]}).em == 1


def test_an_alias_holds_for_the_same_wikidata_id_in_another_branch() -> None:
    gold = {
        "of 1995": [Answer(text="Mumbai", qid="Q1156", aliases=("Bombay",))],
        "of 2005": [Answer(text="Mumbai", qid="Q1156")],
    }
    assert strict(gold, {"of 2005": ["Bombay"]}).right == 1


def test_pooled_gold_holds_each_entity_once() -> None:
    gold = {"in 1995": ["De Niro", "Pacino"], "in 1986": ["Reynolds", "de niro"]}
    score = pooled(gold, {"default": ["Pacino", "De Niro"]})
    assert (score.right, score.predicted, score.gold) == (2, 2, 3)


SAID = [
    ("The Stray Circus", ("The Stray Circus (novel)",), "The Stray Circus (1984 novel)", True),
    ("The Stray Circus", ("The Stray Circus (novel)",), "The Stray Circus (1948 film)", False),
    ("Starlingdale", ("Starlingdale, Merroria",), "Starlingdale (Merroria)", True),
    ("Starlingdale", ("Starlingdale, Merroria",), "Starlingdale (Merrorian city)", True),
    ("Starlingdale", ("Starlingdale, Merroria",), "Starlingdale (Aldvenia)", False),
    ("Ana Silva (actor, born 1959)", (), "Ana Silva (actor and singer, born 1959)", True),
    ("Ana Silva (actor, born 1959)", (), "Ana Silva (born 3 May 1959)", True),
    ("Ana Silva (actor, born 1959)", (), "Ana Silva (actress)", True),
    ("Ana Silva (actor, born 1959)", (), "Ana Silva (actor, born 1973)", False),
    ("Ana Silva", (), "Ana Silva (director)", True),
    ("Charleston, South Carolina", (), "Charleston", True),
    ("Charleston, South Carolina", (), "Charleston, SC", True),
    ("Charleston, South Carolina", (), "Charleston, West Virginia", False),
    ("Henry VIII", (), "Henry VIII of England", True),
    ("John I", (), "John I, Marquis of Namur", True),
    ("Hallmark Cards", (), "Hallmark Cards, Inc.", True),
    ("Mercury (planet)", (), "Mercury (element)", False),
    ("Hohne, Germany", (), "Hohne, West Germany", True),
    ("Millennium Stadium", (), "Millennium Stadium, Cardiff", True),
    ("Millennium Stadium", (), "Millennium Stadium, Wembley Stadium", False),
    ("Alert", (), "Alert, Ellesmere Island", True),
    ("Alert", (), "Alert, Prudence", False),
    ("Thales", (), "Thales of Miletus", True),
    ("Council of the Indies", (), "Council", False),
    ("President of Peru", (), "president", True),
    ("President of Peru", (), "president of the Philippines", False),
    ("miners", (), "miners in 1905", True),
    ("Lon Chaney", (), "Lon Chaney, Sr.", True),
    ("Lon Chaney", (), "Lon Chaney, Jr.", False),
    ("Paul Hewson", (), "Paul Hewson, KBE OL", True),
    ("1990", (), "1990 (first season)", True),
    ("5", (), "5 (million)", False),
    ("Pirate Party of Russia", (), "Pirate Party", False),
    ("Bank of America", (), "Bank", False),
    ("Earth, Wind & Fire", (), "Earth", False),
    ("University of California, Berkeley", (), "University of California, Davis", False),
    ("West Bridge (east half)", (), "West Bridge (west half)", False),
]


@pytest.mark.parametrize(("text", "aliases", "given", "right"), SAID)
def test_a_qualifier_says_more_or_less_and_never_something_else(text, aliases, given, right):
    assert counts([Answer(text=text, aliases=aliases)], [given])[0] == right


def test_a_description_is_something_that_gold_says() -> None:
    gold = Answer(text="Fjord", description="2009 song by Weekend Cradle")
    assert counts([gold], ["Fjord (2009 song)"]) == (1, 1, 1)
    assert counts([gold], ["Fjord (Weekend Cradle song)"]) == (1, 1, 1)
    assert counts([gold], ["Fjord (2007)"]) == (0, 1, 1)
    assert counts([gold], ["Fjord (song by Iron Snow)"]) == (0, 1, 1)


def test_a_name_that_gold_tells_apart_stands_for_none_of_its_bearers() -> None:
    ann, bea = (
        Answer(text="Ana Silva", qid=qid, aliases=(f"Ana Silva ({role})",))
        for qid, role in (("Q1", "director"), ("Q2", "novelist, born 1952"))
    )
    gold: dict[str, list[str | Answer]] = {"in 1995": [ann], "in 2005": [bea]}
    assert strict(gold, {"in 1995": ["Ana Silva"], "in 2005": ["Ana Silva"]}).right == 0
    assert strict(gold, {"in 1995": ["Ana Silva (director)"]}).right == 1
    assert strict(gold, {"in 1995": ["Ana Silva (novelist)"]}).right == 0
    assert strict(gold, {"in 2005": ["Ana Silva (born 1952)"]}).right == 1
    assert counts([ann, bea], ["Ana Silva", "Ana Silva (director)"]) == (1, 2, 2)
