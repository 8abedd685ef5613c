"""BM25 by the formula, and the same analysis for passages and queries."""

import json
import math
import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from Stemmer import Stemmer

from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.files import check_files, record_files
from branchwise.base.process import silent
from branchwise.corpora import lexical
from branchwise.corpora.encoder_models import Encoding
from branchwise.corpora.folder import Corpus
from branchwise.corpora.lexical import STOP_WORDS, spaced, tantivy_analyzer

K1 = 1.2
LOCKS = {".tantivy-meta.lock", ".tantivy-writer.lock"}
WORDS = ("lava", "river", "stone", "bridge", "ash")


def write_corpus(folder, texts):
    """The texts as passages p9, p8, ..., so that ids are in another order than rows."""
    folder.mkdir()
    lines = (json.dumps({"id": f"p{9 - i:04}", "contents": t}) for i, t in enumerate(texts))
    (folder / "corpus.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return Corpus.open(folder)


def indexed(folder, texts):
    corpus = write_corpus(folder, texts)
    manifest = lexical.build(corpus, folder, Encoding(), silent)
    record_files(folder)
    return lexical.open_index(corpus, folder, manifest)


@pytest.fixture
def index(tmp_path):
    return lambda *texts: indexed(tmp_path / "C", texts)


def terms_of(text):
    """Of which passages and queries consist, by regular expression and another stemmer."""
    words = (word for word in re.findall(r"\w\w+", text.lower()) if word not in STOP_WORDS)
    return Stemmer("english").stemWords(list(words))


def analysed(text):
    return tantivy_analyzer().analyze(spaced(text))


def lucene(texts, query):
    """Rows and scores above zero, best first, then by id: idf = ln(1 + (N - n + .5) / (n + .5)),
    times tf / (tf + k1 (1 - b + b l / mean)); tantivy keeps the constant factor k1 + 1."""
    passages = [text.split() for text in texts]
    mean = sum(map(len, passages)) / len(passages)
    found = []
    for row, words in enumerate(passages):
        score = 0.0
        for term in query.split():
            n, tf = sum(term in other for other in passages), words.count(term)
            idf = math.log(1 + (len(passages) - n + 0.5) / (n + 0.5))
            score += idf * tf / (tf + K1 * (0.25 + 0.75 * len(words) / mean))
        if score > 0:
            found.append((row, score * (K1 + 1)))
    return sorted(found, key=lambda one: (-round(one[1], 9), -one[0]))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), min_size=1),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=7),
)
def test_rankings_are_those_of_the_formula(tmp_path_factory, texts, query):
    texts, text = [" ".join(words) for words in texts], " ".join(query)
    built = indexed(tmp_path_factory.mktemp("drawn") / "C", texts)
    found, expected = built.rank([text], 50)[0], lucene(texts, text)[:50]
    assert [hit.score for hit in found] == pytest.approx([s for _, s in expected], rel=1e-5)
    clear = [i for i, (row, s) in enumerate(expected) if not _near(s, i, expected)]
    assert [found[i].row for i in clear] == [expected[i][0] for i in clear]
    for k in (1, 2, 3, 10):
        assert built.rank([text], k)[0] == found[:k]
    assert built.rank([" ".join(reversed(query))], 50)[0] == found


def _near(score, place, expected):
    """Whether another score is so near that the last bits of a float decide."""
    return any(abs(s - score) < 1e-5 for i, (_, s) in enumerate(expected) if i != place)


def test_a_passage_without_a_word_of_the_query_is_no_result(index):
    found = index("volcano lava", "river bridge", "stone")
    assert [hit.row for hit in found.rank(["lava"], 3)[0]] == [0]
    assert found.rank(["", "the of", "xylophone"], 3) == [[], [], []]


def test_ties_across_any_depth_are_ordered_by_id(index):
    found = index(*["same words"] * 300, "same same words").rank(["same"], 3)[0]
    ids = sorted(f"p{9 - row:04}" for row in range(300))
    assert [f"p{9 - hit.row:04}" for hit in found] == ["p-291", *ids[:2]]


@pytest.mark.parametrize(
    "query",
    [
        "contents:lava", "lava AND (river OR", 'lava" ~2 [* TO *] ^9 -ash +ash',
        "/l.*a/ lava* \\", "row:1 lava", "lava\0\ud800\n", "lava " + "word " * 50_000,
    ],
)  # fmt: skip
def test_a_query_is_words_in_whatever_language_it_is_written(index, query):
    found = index("lava lava", "river ash", "contents row").rank([query], 3)[0]
    assert 0 in [hit.row for hit in found]


def test_a_query_of_thousands_of_words_is_cut(index):
    words = [f"word{i}" for i in range(1000)]
    found = index(words[255], words[256]).rank([" ".join(words)], 3)[0]
    assert sorted(hit.row for hit in found) == [0]


def test_what_only_may_be_read_can_be_searched(index, tmp_path):
    index("lava", "river")
    corpus = Corpus.open(tmp_path / "C")
    (tmp_path / "I").mkdir()
    manifest = lexical.build(corpus, tmp_path / "I", Encoding(), silent)
    record_files(tmp_path / "I")
    # A copy, since the one that was built may still be watched for changes.
    copy = shutil.copytree(tmp_path / "I", tmp_path / "copy", ignore=lambda *found: LOCKS)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    assert lexical.open_index(corpus, copy, manifest).rank(["lava"], 1)[0][0].row == 0
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


CHANGES = {
    "cut": lambda data: b"",
    "a byte less": lambda data: data[:-1],
    "a byte more": lambda data: data + b"\0",
    "another byte": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_damaged_at_its_end_is_not_opened(tmp_path, change):
    corpus, folder = write_corpus(tmp_path / "C", ["lava", "river"]), tmp_path / "I"
    folder.mkdir()
    manifest = lexical.build(corpus, folder, Encoding(), silent)
    with pytest.raises(InputError, match=r"made without a record of its files .*; rebuild it"):
        lexical.open_index(corpus, folder, manifest)
    record_files(folder)
    files = [file for file in (folder / "tantivy").iterdir() if file.stat().st_size]
    assert {".store", ".term", ".idx", ".fast", ".json"} <= {file.suffix for file in files}
    for file in files:
        whole = file.read_bytes()
        file.unlink()  # the index that was built maps the old one
        file.write_bytes(CHANGES[change](whole))
        with pytest.raises(DamagedDataError, match=r"is damaged .*; rebuild it"):
            check_files(folder, "rebuild it")
        file.write_bytes(whole)
    check_files(folder, "rebuild it")
    (folder / "tantivy" / ".DS_Store").write_bytes(b"what systems leave")
    assert lexical.open_index(corpus, folder, manifest).rank(["lava"], 1)[0][0].row == 0


def test_without_a_temporary_folder_the_index_is_not_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"no temporary folder can be made .*TMPDIR"):
        indexed(tmp_path / "C", ["lava"])


PREFIXES = [
    "gener", "commun", "skies", "dying", "évén", "natur", "hop", "pröb", "proceed", "yy", "",
]  # fmt: skip
SUFFIXES = ["ational", "ingly", "eed", "ies", "ss", "ogist", "fulli", "ement", "ied", "ying", "e"]


@given(
    st.text()
    | st.text(st.characters(max_codepoint=127))
    | st.lists(
        st.builds(
            "{}{}{}".format,
            st.sampled_from(PREFIXES),
            st.text("aeioubdlsty", max_size=4),
            st.sampled_from(SUFFIXES),
        )
    ).map(" ".join)
)
def test_terms_are_those_of_the_definition(text):
    assert analysed(text) == terms_of(text)


def test_a_corpus_without_words_is_refused(index):
    with pytest.raises(InputError, match="no passage contains a word"):
        index("…", "?!")


@pytest.mark.parametrize(
    "text", ["东京是日本的首都。", "東京は日本の首都です。", "กรุงเทพมหานครเป็นเมืองหลวง"]
)
def test_a_script_without_spaces_is_warned_of(tmp_path, text):
    with pytest.warns(UserWarning, match="C: much of the text is in a script without spaces"):
        index = indexed(tmp_path / "C", [text, f"lava {text}"])
    with pytest.warns(UserWarning, match="C, a search: much of the text"):
        index.rank([text[:4]], 3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "text",
    ["река лава", "서울은 한국의 수도이다", "Où est la lave ?", "lava of the river Etna 東京"],
)
def test_a_script_with_spaces_is_not(tmp_path, text):
    index = indexed(tmp_path / "C", [text, "the red lava of a river " * 3])
    assert index.rank([text], 3)[0]
