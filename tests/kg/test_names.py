"""From names to entities: what is found, in which order, and what cannot harm."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.kg.answers import Match
from branchwise.kg.build import build_kg
from branchwise.kg.names.forms import deletion_codes, distance, edits_forgiven, fold
from branchwise.kg.names.index import NameIndex
from branchwise.kg.names.property_search import MAX_BEARERS

WD = "http://www.wikidata.org/entity/"
PREFIXES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> . @prefix schema: <http://schema.org/> .
@prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix x: <http://example.org/> . @prefix dbr: <http://dbpedia.org/resource/> .
"""
KONG = f"""{PREFIXES}
wd:Q11424 rdfs:label "film"@en . wd:Q482994 rdfs:label "album"@en . wd:Q5 rdfs:label "human"@en .
wd:Q36180 rdfs:label "writer"@en .
wd:Q1 rdfs:label "King Kong"@en, "Кинг-Конг"@ru ; schema:description "1933 film"@en, "Film"@de ;
  wdt:P31 wd:Q11424 ; wdt:P57 wd:Q10, wd:Q11 ; skos:altLabel "Kong, the Eighth Wonder"@en .
wd:Q2 rdfs:label "King Kong"@en ; schema:description "1976 film directed by John Guillermin"@en ;
  wdt:P31 wd:Q11424 ; wdt:P57 wd:Q12 ; p:P57 wds:one ; wdt:P161 wd:Q13, wd:Q14 .
wds:one ps:P57 wd:Q12 ; pq:P580 "1975" .
wd:Q3 rdfs:label "King Kong"@en ; schema:description "album by Jean-Luc Ponty"@en ;
  wdt:P31 wd:Q482994 .
wd:Q4 rdfs:label "Son of Kong"@en ; wdt:P31 wd:Q11424 ; wdt:P57 wd:Q11 .
wd:Q6 rdfs:label "King Kong Lives"@en ; wdt:P31 wd:Q11424 .
wd:Q7 rdfs:label "Köngskräm"@sv, "Kongscream"@nb .
wd:Q8 rdfs:label "Spider-Man"@en ; wdt:P31 wd:Q11424 .
wd:Q9 rdfs:label "The The"@en . wd:Q15 rdfs:label "!!!"@en . wd:Q16 rdfs:label "C++"@en .
wd:Q12 rdfs:label "John Guillermin"@en ; wdt:P31 wd:Q5 ; wdt:P106 wd:Q36180 .
wd:Q17 rdfs:label "東京物語"@ja . wd:Q18 rdfs:label "O'Brien & Søns"@en-gb .
wd:P57 rdfs:label "director"@en ; skos:altLabel "directed by"@en, "film director"@en .
wd:P161 rdfs:label "cast member"@en ; skos:altLabel "starring"@en, "starred in"@en .
wd:P19 rdfs:label "place of birth"@en ; skos:altLabel "birthplace"@en .
wd:P580 rdfs:label "start time"@en .
"""


def ids(matches):
    return [match.id for match in matches]


@pytest.fixture(scope="module")
def make_index(tmp_path_factory):
    def make(turtle: str) -> NameIndex:
        folder = tmp_path_factory.mktemp("names")
        (folder / "g.ttl").write_text(turtle, encoding="utf-8")
        build_kg([folder / "g.ttl"], folder / "G")
        return NameIndex.open(folder / "G")

    return make


@pytest.fixture(scope="module")
def kong(make_index) -> NameIndex:
    return make_index(KONG)


@pytest.fixture(scope="module")
def world(built_kg) -> NameIndex:
    return NameIndex.open(built_kg)


def test_a_match_says_what_was_found(kong):
    assert kong.search("kong, the eighth wonder") == [
        Match("Q1", "King Kong", "1933 film", "Kong, the Eighth Wonder", ("film",), 3)
    ]
    assert kong.search("John Guillermin") == [
        Match("Q12", "John Guillermin", "", "John Guillermin", ("human", "writer"), 2)
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # All bearers of the name, most statements first; then names that begin with it.
        ("King Kong", ["Q2", "Q1", "Q3", "Q6"]),
        ("  the KING kong!", ["Q2", "Q1", "Q3", "Q6"]),
        ("kingkong", ["Q2", "Q1", "Q3"]),
        ("King Kong (1976 film)", ["Q2", "Q6"]),
        ("King Kong (film)", ["Q2", "Q1", "Q6"]),
        ("King Kong (album)", ["Q3"]),
        ("King Kong（1933 film）", ["Q1", "Q6"]),
        ("King Kong (opera)", ["Q2", "Q1", "Q3", "Q6"]),
        ("King Kong 1976", ["Q2"]),
        ("King Kong album", ["Q3"]),
        ("kong son", ["Q4"]),
        # Names that begin with the word, that have it, that begin with it cut.
        ("Kong", ["Q1", "Q2", "Q3", "Q4", "Q6", "Q7"]),
        ("kin kon liv", ["Q6"]),
        ("Kign Kong", ["Q2", "Q1", "Q3", "Q6"]),
        ("King Kogn (album)", ["Q3"]),
        ("Jon Guilermin", ["Q12"]),
        ("who directed Son of Kong?", ["Q4"]),
        ("Spiderman", ["Q8"]),
        ("spider man", ["Q8"]),
        ("Кинг-Конг", ["Q1"]),
        ("Kongskram", ["Q7"]),
        ("kongscream", ["Q7"]),
        ("The The", ["Q9", "Q1"]),
        ("!!!", ["Q15"]),
        ("c++", ["Q16"]),
        ("東京物語", ["Q17"]),
        ("東京", ["Q17"]),
        ("OBrien and Sons", ["Q18"]),
        ("Q2", ["Q2"]),
        ("wd:q2", ["Q2"]),
        (f"<{WD}Q2>", ["Q2"]),
        ("P57", ["P57"]),
        ("Q99", []),
        ("Godzilla", []),
        # A word in common, or one that is like one, is not enough.
        ("Ding", []),
        ("Kong Harbor Story", []),
        ("The Silent Guillermin", []),
        ("Spider-Woman of Mars", []),
        ("sing song", []),
        ("King Kong lives again", ["Q6", "Q2", "Q1", "Q3"]),
        ("King Kong 1999", ["Q2", "Q1", "Q3", "Q6"]),
        ("Who directed Son of Knog?", ["Q4"]),
        ("where was John Gillermin born", ["Q12"]),
    ],
)
def test_what_a_text_finds(kong, text, found):
    assert ids(kong.search(text)) == found


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("king KONG", False),
        ("Köng", False),
        ("kong son", False),
        ("King Kong Liv", False),
        ("King Kong (1976 film)", False),
        ("King Kong 1976", False),
        ("Q2", False),
        ("King Kong (opera)", True),
        ("kin kon liv", True),
        ("Kign Kong", True),
        ("who directed Son of Kong?", True),
        ("a review of King Kong", True),
    ],
)
def test_what_is_only_like_a_name_is_a_guess(kong, text, near):
    assert {match.near for match in kong.search(text)} == {near}


def test_properties_that_are_only_like_a_phrase_come_last_and_say_so(kong):
    found = [(match.id, match.near) for match in kong.search("birth place", "property")]
    assert found[0] == ("P19", False)
    assert [(m.id, m.near) for m in kong.search("direcotr", "property")] == [("P57", True)]
    assert kong.search("who directed", "property")[0].near is False
    assert kong.search("cost of living", "property") == []


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("starred in", "P161"),
        ("starring", "P161"),
        ("who directed", "P57"),
        ("director", "P57"),
        ("directors", "P57"),
        ("the directors of the film", "P57"),
        ("birthPlace", "P19"),
        ("birth_place", "P19"),
        ("where was she born: place", "P19"),
        ("direcotr", "P57"),
        ("cast membre", "P161"),
        ("wdt:P161", "P161"),
    ],
)
def test_what_a_property_phrase_finds(kong, text, best):
    assert ids(kong.search(text, "property"))[0] == best


def test_items_are_no_properties_and_properties_no_items(kong):
    assert kong.search("King Kong", "property") == []
    assert "P57" not in ids(kong.search("director"))


def test_uses_of_a_property_count_a_statement_once_and_its_qualifiers(kong):
    uses = {match.id: match.statements for match in kong.most_used_properties(20)}
    assert uses == {"P31": 7, "P57": 4, "P161": 2, "P106": 1, "P580": 1}
    assert ids(kong.most_used_properties(2)) == ["P31", "P57"]


def test_a_property_without_uses_is_found_and_one_without_name_is_known(kong):
    assert kong.search("place of birth", "property")[0].statements == 0
    assert kong.knows("P19")
    assert kong.search("P106", "property") == [Match("P106", "P106", "", "P106", (), 1)]


def test_what_is_known_has_a_name_or_is_in_a_triple(kong):
    known = ("Q1", "Q13", "Q9", "P57", "P31", f"{WD}Q13", f"{WD}P161")
    assert all(map(kong.knows, known))
    assert kong.knows("http://www.wikidata.org/prop/qualifier/P580")
    assert not any(map(kong.knows, ("Q99", "P99", "", f"{WD}Q99", "wds:one", "Q1' OR 1=1 --")))


def test_labels_of_entities_and_predicates(kong):
    predicate = "http://www.wikidata.org/prop/direct/P57"
    iris = [f"{WD}Q1", f"{WD}Q7", predicate, f"{WD}Q13", "http://example.org/none"]
    assert kong.labels(iris) == {
        f"{WD}Q1": "King Kong", f"{WD}Q7": "Kongscream", predicate: "director"
    }  # fmt: skip
    assert kong.labels([]) == {}
    assert len(kong.labels([f"{WD}Q{n}" for n in range(50_000)])) == 16


def test_variables_name_the_nearest_properties(kong):
    assert ids(kong.nearest_properties(["filmDirector", "castMember"], 3)) == ["P57", "P161"]
    assert ids(kong.nearest_properties(["x", "", "birthPlace"], 1)) == ["P19"]
    assert kong.nearest_properties([], 3) == []


def test_the_limit_counts_names_and_bearers_are_cut_at_a_limit_of_their_own(make_index):
    lines = [f'wd:Q{n} rdfs:label "Springfield"@en ; wdt:P1 {n} .' for n in range(100, 140)]
    lines += [f'wd:Q{n} rdfs:label "Springfield {n}"@en ; wdt:P1 1 .' for n in range(200, 260)]
    index = make_index("\n".join([PREFIXES, *lines]))
    found = index.search("springfield", limit=3)
    assert MAX_BEARERS == 20
    assert ids(found) == [f"Q{n}" for n in (*range(100, 120), 200, 201)]
    assert len(index.search("springfield", limit=10_000)) == 20 + 49
    assert len(index.search("springfield", limit=-1)) == 20


def test_a_bearer_beyond_the_limit_is_told_apart_all_the_same(make_index):
    lines = [
        f'wd:Q{n} rdfs:label "Springfield"@en ; schema:description "city {n}"@en .'
        for n in range(100, 140)
    ]
    index = make_index("\n".join([PREFIXES, *lines]))
    assert ids(index.search("Springfield (city 139)")) == ["Q139"]


def test_years_that_only_statements_have_tell_bearers_apart(make_index):
    index = make_index(
        PREFIXES
        + """
wd:Q1 rdfs:label "Summit"@en ; wdt:P571 "1906-01-01T00:00:00Z"^^xsd:dateTime .
wd:Q2 rdfs:label "Summit"@en ; wdt:P571 "1925-01-01T00:00:00Z"^^xsd:dateTime ; wdt:P1 1, 2 .
"""
    )
    assert ids(index.search("Summit")) == ["Q2", "Q1"]
    assert ids(index.search("Summit (company founded in 1906)")) == ["Q1"]
    assert ids(index.search("summit 1925")) == ["Q2"]


def test_other_vocabularies_name_things_and_predicates(make_index):
    index = make_index(
        PREFIXES
        + """
x:birthPlace rdfs:label "birth place" .
x:a schema:name "Ada" ; foaf:name "Ada Lovelace" ; rdfs:comment "a mathematician" ;
  a x:Person ; x:birthPlace dbr:London ; x:knownFor x:b .
x:b skos:prefLabel "Notes"@fr, "Notes on the Engine"@en .
dbr:King_Kong_%281976_film%29 x:starring x:a .
"""
    )
    ada = "http://example.org/a"
    # A graph without a language: the first label by its text.
    assert index.search("ada lovelace") == [
        Match(ada, "Ada", "a mathematician", "Ada Lovelace", (), 3)
    ]
    assert index.search(f"<{ada}>")[0].label == "Ada"
    assert index.labels(["http://example.org/b"]) == {"http://example.org/b": "Notes on the Engine"}
    film = index.search("king kong 1976 film")[0]
    assert film == Match(
        "http://dbpedia.org/resource/King_Kong_%281976_film%29",
        "King Kong (1976 film)", "", "King Kong (1976 film)", (), 1,
    )  # fmt: skip
    assert index.labels([film.id]) == {}
    assert ids(index.search("birth place", "property")) == ["http://example.org/birthPlace"]
    assert ids(index.search("known for", "property")) == ["http://example.org/knownFor"]
    assert index.knows("http://dbpedia.org/resource/London")


HOSTILE = [
    '"', '""', "'", "\\", "*", "^", "(", ")", "()", "( )", "(film)", "a (", "NEAR(", "OR", "NOT",
    'name : "x"', "{name about} : kong", "-kong", "king*", "\0", "King\0Kong", "\ud800", "😀",
    "\u202e", "%", "_", "; DROP TABLE things", "' OR ''='", "\n", " ", "", "\u0301", "a" * 10**6,
    "kong " * 10**5, "(" * 10**5, "ﷺ" * 1000, "http://", "<>", "wd:", "Q", "Q0", "Q" + "9" * 10**5,
    "K" + "\u0308" * 10**5,
]  # fmt: skip


@pytest.mark.parametrize("kind", ["item", "property"])
def test_hostile_text_finds_something_or_nothing(kong, kind):
    for text in HOSTILE:
        assert isinstance(kong.search(text, kind), list), text[:40]
    assert ids(kong.search("King\0Kong")) == ids(kong.search("King Kong"))


@given(st.text(max_size=60), st.sampled_from(["item", "property"]))
def test_any_text_can_be_searched(world, text, kind):
    found = ids(world.search(text, kind))
    assert len(found) == len(set(found))


@given(st.text(max_size=40))
def test_folding_again_changes_nothing(text):
    folded = fold(text)
    again = fold(folded.key)
    assert again.squeezed == folded.squeezed or again.words == folded.words[1:]


@given(st.text("abcde", max_size=9), st.text("abcde", max_size=9))
def test_words_within_the_edits_forgiven_share_a_deletion(left, right):
    most = min(edits_forgiven(left), edits_forgiven(right))
    apart = distance(left, right, most)
    assert apart == distance(right, left, most)
    if most and apart <= most:
        assert deletion_codes(left) & deletion_codes(right)


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [("kong", "kong", 0), ("kong", "kogn", 1), ("kong", "kon", 1), ("kitten", "sitting", 3),
     ("", "abc", 3), ("ca", "abc", 3), ("abcdef", "badcfe", 3)],
)  # fmt: skip
def test_distance_counts_neighbours_swapped_as_one(left, right, edits):
    assert distance(left, right, 5) == distance(right, left, 5) == edits
    assert distance(left, right, edits - 1) == edits if edits else True


def test_every_shared_name_of_a_world_finds_all_who_bear_it_and_titles_tell_them_apart(
    world, world_300
):
    lines = (world_300 / "names.jsonl").read_text(encoding="utf-8").splitlines()
    for line in map(json.loads, lines):
        bearers = {entity["id"] for entity in line["entities"]}
        for text in (line["name"], line["name"].upper()):
            found = world.search(text)
            same = [match.id for match in found if fold(match.name) == fold(text)]
            assert set(same) == bearers
            assert [match.id for match in found][: len(same)] == same
        for entity in line["entities"]:
            found = ids(world.search(entity["title"], limit=1))
            assert entity["id"] in found, entity
            assert len(found) < len(bearers)


def test_every_label_of_a_world_is_found_misspelt_and_cut(world, built_kg):
    """A letter dropped, doubled and two swapped in the longest word; half of the last word."""
    import sqlite3

    names = sqlite3.connect(built_kg / "names.sqlite")
    rows = names.execute("SELECT id, label FROM things WHERE kind = 'item' AND label NOT NULL")
    for number, (identifier, label) in enumerate(rows.fetchall()):
        word = max(fold(label).words, key=len)
        if len(word) < 6 or not word.isalpha():
            continue
        middle = len(word) // 2
        wrong = (
            word[:middle] + word[middle + 1 :],
            word[:middle] + word[middle] + word[middle:],
            word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :],
        )[number % 3]
        written = fold(label).key.replace(word, wrong)
        assert identifier in ids(world.search(written)), (label, written)
        cut = " ".join(fold(label).words)[: -(len(fold(label).words[-1]) // 2) or None]
        assert identifier in ids(world.search(cut, limit=50)), (label, cut)


def test_threads_share_an_index(kong):
    wrong = []

    def ask():
        for _ in range(50):
            if ids(kong.search("King Kong", limit=1)) != ["Q2", "Q1", "Q3"]:
                wrong.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    kong.close()
    assert kong.knows("Q1")
