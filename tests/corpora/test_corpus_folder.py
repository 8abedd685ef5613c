"""Corpus folders: reading by offset or title, refusing what is no corpus, noticing change."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import DamagedDataError, InputError
from branchwise.corpora import folder as folder_module
from branchwise.corpora.folder import MAX_PARTS, Corpus, Titles
from branchwise.corpora.passages import name_of, to_passage
from support.corpora.small import bare_corpus


def test_a_folder_with_just_a_corpus_file_opens(corpus_dir):
    corpus = Corpus.open(corpus_dir)
    assert len(corpus) == 12
    assert corpus.sha256 == hashlib.sha256((corpus_dir / "corpus.jsonl").read_bytes()).hexdigest()
    assert corpus.passage(4).model_dump() == {
        "id": "bread",
        "title": "Sourdough",
        "text": "Sourdough bread rises with wild yeast and bacteria.",
    }
    assert corpus.id(11) == "flute"
    assert list(corpus.contents(2, 3)) == [
        "Rhine\nThe Rhine rises in the Alps and flows into the North Sea."
    ]


def test_an_opened_corpus_is_not_scanned_again(corpus_dir, monkeypatch):
    first = Corpus.open(corpus_dir)
    monkeypatch.setattr(folder_module, "scan_corpus", lambda _: pytest.fail("scanned again"))
    again = Corpus.open(corpus_dir)
    assert (again.sha256, again.passage(7)) == (first.sha256, first.passage(7))


def test_damaged_notes_about_a_corpus_are_made_again(corpus_dir):
    digest = Corpus.open(corpus_dir).sha256
    for damage in ("offsets.npy", "corpus.json"):
        (corpus_dir / damage).write_bytes(b"\x93NUMPY garbage")
        reopened = Corpus.open(corpus_dir)
        assert (reopened.sha256, reopened.passage(0).id) == (digest, "volcano")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["nonsense"], r"corpus\.jsonl:1: not valid JSON"),
        (['{"id": "a", "contents": "x"}', '{"id": "b"}'], r':2: lacks "contents"'),
        (['{"id": "a", "contents": 7}'], r':1: "contents" is a number'),
        (['{"id": "a", "contents": " "}'], r':1: "contents" is empty'),
        (['{"contents": "x"}'], r':1: lacks "id"; run `branchwise corpus build'),
        (['{"id": "", "contents": "x"}'], r':1: "id" is empty'),
        (['{"id": [1], "contents": "x"}'], r':1: "id" is an array'),
        (['{"id": "a\\nb", "contents": "x"}'], r':1: "id" holds line breaks'),
        (
            ['{"id": "a", "contents": "x"}', '{"id": "b", "contents": "y"}'] * 2,
            r"corpus\.jsonl:3: id 'a' is already used in line 1",
        ),
        (["", " "], r"corpus\.jsonl: holds no passages"),
    ],
)
def test_a_line_that_is_no_passage_is_named(tmp_path, lines, message):
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    with pytest.raises(InputError, match=message) as caught:
        Corpus.open(tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "corpus.json").exists()


@pytest.mark.parametrize(
    ("contents", "title", "text"),
    [
        ('"Heat"\ntext', "Heat", "text"),
        ('"Heat" and "Dust"\ntext', '"Heat" and "Dust"', "text"),
        ('""Weird Al" Yankovic"\ntext', '"Weird Al" Yankovic', "text"),
        ("only text", "", "only text"),
        ('"\nx', '"', "x"),
        ("T\na\nb", "T", "a\nb"),
    ],
)
def test_titles_lose_their_quotes_for_display(contents, title, text):
    passage = to_passage("p", contents)
    assert (passage.title, passage.text) == (title, text)


@pytest.mark.slow
@given(texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=8))
def test_every_passage_is_read_back_as_written(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("C")
    lines = (json.dumps({"id": f"p{i}", "contents": text}) for i, text in enumerate(texts))
    try:
        (folder / "corpus.jsonl").write_text("".join(f"{line}\n" for line in lines))
        assert list(Corpus.open(folder).contents()) == texts
    except InputError:
        assert any("\ud800" <= c <= "\udfff" for text in texts for c in text)


def test_what_a_corpus_is_built_from_is_told_from_a_corpus(write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("p.jsonl", {"_id": "1", "title": "T", "text": "x"})
    write("q.jsonl", {"id": "1", "question": "?", "answers": ["a"]})
    for name in ("corpus.jsonl", "queries.jsonl"):
        (tmp_path / "beir").mkdir(exist_ok=True)
        (tmp_path / "beir" / name).write_bytes((tmp_path / "p.jsonl").read_bytes())
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("# A")
    command = "not a corpus folder; build one with `branchwise corpus build --from"
    for named, source in {
        "p.jsonl": "jsonl:p.jsonl",
        "beir": "beir:beir",
        "docs": "folder:docs",
        "hf:a/b": "hf:a/b",
        "csv:gone.csv": "csv:gone.csv",
    }.items():
        with pytest.raises(InputError, match=rf"{command} {source} --out C`"):
            Corpus.open(named)
    for named in ("q.jsonl", "gone", "biir:x"):
        with pytest.raises(
            InputError, match=rf"{named}: no corpus here .* --from SRC --out {named}`"
        ):
            Corpus.open(named)


@pytest.mark.parametrize("change", ["swapped", "shifted", "cut", "negative"])
def test_a_passage_that_is_not_the_one_of_its_row_is_damage(tmp_path, change):
    folder = bare_corpus(tmp_path / "C", {"a": "One\nFirst.", "b": "Two\nSecond."})
    Corpus.open(folder)
    offsets = np.load(folder / "offsets.npy")
    match change:
        case "swapped":
            offsets[[0, 1]] = offsets[[1, 0]]
        case "shifted":
            offsets[0, 0] += 1
        case "cut":
            offsets[0, 1] -= 1
        case "negative":
            offsets[0] = -offsets[0] - 9
    np.save(folder / "offsets.npy", offsets)
    with pytest.raises(DamagedDataError, match="passage 0 is not what it was") as caught:
        Corpus.open(folder).passage(0)
    assert "remove offsets.npy, which is then made again" in str(caught.value)
    (folder / "offsets.npy").unlink()
    assert Corpus.open(folder).passage(0).text == "First."


def test_a_corpus_without_checksums_gets_them(tmp_path):
    folder = bare_corpus(tmp_path / "C", {"a": "One\nFirst."})
    Corpus.open(folder)
    (folder / "checksums.npy").unlink()
    assert Corpus.open(folder).passage(0).text == "First."
    assert np.load(folder / "checksums.npy").shape == (1,)


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
