"""Corpora from the forms that passages come in: built, indexed and searched."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.open import open_retriever
from branchwise.corpora.passages import Passage, passage_id
from support.needs import DATA, needs_data

PASSAGES = (
    ("7", "Etna", 'Etna is a volcano, on Sicily.\nIt is "active".'),
    ("8", "Rhine", "The Rhine is a river: from the Alps to the sea."),
)
ETNA = 'Etna is a volcano, on Sicily.\nIt is "active".'


def best(source: str | Path, out: Path, query: str, **options: object) -> Passage:
    """What a search finds first in the corpus built from a source."""
    build_corpus(str(source), out, **options)  # type: ignore[arg-type]
    build_index(out, "bm25")
    return open_retriever(out, "bm25").search([query], 1)[0][0].passage


def rows(delimiter: str, names: tuple[str, ...], order: tuple[int, ...]) -> bytes:
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter)
    writer.writerows([names, *([passage[i] for i in order] for passage in PASSAGES)])
    return written.getvalue().encode()


def json_lines(*objects: object) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in objects).encode()


ARRAY = json.dumps([{"title": title, "text": text} for _, title, text in PASSAGES]).encode()
BEIR = json_lines(
    *({"_id": id, "title": title, "text": text, "metadata": {}} for id, title, text in PASSAGES)
)
KILT = json_lines(
    {
        "_id": "7",
        "wikipedia_id": "7",
        "wikipedia_title": "Etna",
        "text": ["Etna\n", "Etna is a volcano, on Sicily.\n", 'It is "active".\n'],
        "anchors": [
            {"text": "Sicily", "href": "Sicily", "paragraph_id": 1, "start": 22, "end": 28}
        ],
        "categories": "Volcanoes",
        "history": {"revid": 1, "url": "https://en.wikipedia.org/w/index.php?title=Etna"},
        "wikidata_info": None,
    },
    {
        "_id": "8",
        "wikipedia_id": "8",
        "wikipedia_title": "Rhine",
        "text": ["Rhine\n", "A river.\n"],
    },
)
FILES: dict[str, tuple[str, bytes, str | None]] = {
    "an array of titles and texts": ("p.json", ARRAY, None),
    "BEIR's id": ("p.jsonl", BEIR, "7"),
    "integer ids": ("p.jsonl", BEIR.replace(b'"_id": "7"', b'"id": 7'), "7"),
    "packed lines": ("p.jsonl.gz", gzip.compress(BEIR), "7"),
    "CSV with a mark": (
        "p.csv",
        b"\xef\xbb\xbf" + rows(",", ("id", "title", "text"), (0, 1, 2)),
        "7",
    ),
    "CSV of a spreadsheet": ("p.csv", rows(";", ("id", "title", "text"), (0, 1, 2)), "7"),
    "DPR's passages": ("psgs.tsv", rows("\t", ("id", "text", "title"), (0, 2, 1)), "7"),
    "KILT's pages": ("kilt_knowledgesource.json", KILT, "7"),
    "lines without an end for a name": ("passages", BEIR, "7"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_shows_its_form(tmp_path: Path, case: str) -> None:
    name, content, id = FILES[case]
    (tmp_path / name).write_bytes(content)
    found = best(tmp_path / name, tmp_path / "C", "volcano Sicily")
    assert found == Passage(id=id or passage_id("Etna", ETNA), title="Etna", text=ETNA)


def test_a_folder_of_beir(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "corpus.jsonl").write_bytes(BEIR)
    (folder / "queries.jsonl").write_bytes(json_lines({"_id": "q", "text": "volcano"}))
    assert best(f"beir:{folder}", tmp_path / "C", "volcano").id == "7"
    assert best(folder, tmp_path / "D", "volcano").id == "7"


def test_parquet_with_nested_columns(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
    from pyarrow import parquet

    table = arrow.table(
        {
            "key": [7, 8],
            "doc": [{"name": title, "parts": [{"text": text}]} for _, title, text in PASSAGES],
            "embedding": [[0.5] * 4, [0.25] * 4],
        }
    )
    parquet.write_table(table, tmp_path / "p.parquet")
    fields = ("id=key", "title=doc.name", "text=doc.parts.0.text")
    found = best(tmp_path / "p.parquet", tmp_path / "C", "volcano", fields=fields)
    assert found == Passage(id="7", title="Etna", text=ETNA)
    (tmp_path / "shards").mkdir()
    for shard in ("a", "b"):
        parquet.write_table(table.slice(int(shard == "b"), 1), tmp_path / f"shards/{shard}.parquet")
    named = f"parquet:{tmp_path / 'shards'}"
    assert best(named, tmp_path / "D", "volcano", fields=fields).id == "7"


@pytest.mark.slow
def test_a_data_set_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets", reason="hf: needs the package datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "set").mkdir()
    (tmp_path / "set/train.jsonl").write_bytes(BEIR)
    assert best(f"hf:{tmp_path / 'set'}", tmp_path / "C", "volcano").id == "7"


def test_a_named_text_comes_before_contents(write: Callable[..., Path], tmp_path: Path) -> None:
    source = write("p.jsonl", {"contents": "other\nother", "body": "a", "title": 1984})
    found = build_corpus(str(source), tmp_path / "C", fields=["text=body"]).corpus.passage(0)
    assert (found.title, found.text) == ("1984", "a")


def test_long_texts_are_split_with_ids_of_their_own(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    source = write("p.jsonl", {"id": 1, "title": "T", "text": "a b c d e"}, {"id": 2, "text": "f"})
    corpus = build_corpus(str(source), tmp_path / "C", split="words:2").corpus
    assert [corpus.id(row) for row in range(len(corpus))] == ["1#1", "1#2", "1#3", "2#1"]
    assert corpus.passage(1) == Passage(id="1#2", title="T", text="c d")


def test_sections_of_kilt_are_headings(write: Callable[..., Path], tmp_path: Path) -> None:
    text = ["Etna\n", "A volcano.\n", "Section::::Names.\n", "BULLET::::- Mongibello\n"]
    page = {"wikipedia_id": "7", "wikipedia_title": "Etna", "text": text}
    source = f"kilt:{write('kilt.json', page)}"
    corpus = build_corpus(source, tmp_path / "C", split="headings").corpus
    assert [corpus.passage(row) for row in (0, 1)] == [
        Passage(id="7#1", title="Etna", text="A volcano."),
        Passage(id="7#2", title="Etna: Names", text="- Mongibello"),
    ]


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("beir:p.json",
         "p.json: does not fit beir: there is no corpus.jsonl in it; it fits hipporag:"),
        ("dpr:p.csv",
         "p.csv:2: does not fit dpr: there is no field 'id' (there are a, b); it fits csv:"),
        ("kilt:p.json", "p.json:entry 1: does not fit kilt: there is no field 'wikipedia_id' "),
        ("csv:p.json",
         "p.json: does not fit csv: its name says otherwise; it fits hipporag:p.json"),
        ("folder:p.json", "p.json: does not fit folder: is not a folder; it fits hipporag:p.json"),
        ("hipporag:p.jsonl",
         "p.jsonl:1: does not fit hipporag: there is no field 'title' (there are body"),
        ("p.jsonl",
         "p.jsonl:1: there is no field 'text' (there are body, n); name it: --field text=body"),
        ("p.csv", "p.csv:2: there is no field 'text' (there are a, b); name it: --field text="),
        ("biir:p.json", "biir:p.json: there is no form 'biir'; did you mean beir?"),
        ("nowhere", "nowhere: no such file; check the path"),
        ("jsonl:nowhere", "nowhere: no such file; check the path"),
        ("folder:nowhere", "nowhere: no such folder; check the path"),
        ("empty",
         "empty: there are no passages, and no Markdown, HTML or text files, in the folder"),
        ("parquet:empty", "empty: is a folder without a *.parquet or *.pq; name a file"),
        ("csv:empty.csv", "empty.csv: is empty"),
        ("jsonl:empty.jsonl", "jsonl:empty.jsonl: holds no passages"),
        ("wrong.jsonl", 'wrong.jsonl:2: "text" is true or false; write texts'),
        ("lacking.jsonl", 'lacking.jsonl:2: lacks "text" (or "contents"); write {"title"'),
        ("blank.jsonl",
         "jsonl:blank.jsonl: holds no passages; left out: 1 passage without a text: blank"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    for name, content in {
        "p.json": ARRAY,
        "p.csv": b"a,b\n1,2\n",
        "p.jsonl": json_lines({"body": "x" * 9, "n": "y"}),
        "wrong.jsonl": json_lines({"text": "a"}, {"text": True}),
        "lacking.jsonl": json_lines({"text": "a"}, {"id": "b"}),
        "blank.jsonl": json_lines({"text": " "}),
        "empty.csv": b"",
        "empty.jsonl": b"\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        build_corpus(source, tmp_path / "C")
    assert str(caught.value).startswith(line)
    assert not (tmp_path / "C").exists()


@pytest.mark.parametrize(
    ("source", "options", "line"),
    [
        ("dpr:x", {"fields": ["text=a"]},
         "--field text=a: dpr has fields of its own; leave out --field"),
        ("q.jsonl", {"split": "whole"},
         "--split whole: a question set brings its passages as they are"),
        (
            "p.json",
            {"fields": ["text=tekst"]},
            "p.json:entry 1: there is no column 'tekst'; correct "
            "--field text=tekst: did you mean text?",
        ),
        ("p.json", {"fields": ["txt=a"]}, "--field txt=...: there is no field 'txt'"),
        ("p.json", {"split": "wrds"},
         "--split: there is no way 'wrds' to split; did you mean words:N?"),
        ("p.json", {"split": "words:0"}, "--split words:0: must be 1 to 100,000 words"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    options: dict[str, object],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.json").write_bytes(ARRAY)
    (tmp_path / "q.jsonl").write_bytes(json_lines({"id": "1", "question": "?", "answers": ["a"]}))
    with pytest.raises(InputError) as caught:
        build_corpus(source, tmp_path / "C", **options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(line)


def test_a_passage_that_no_corpus_file_could_hold_is_refused(
    write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("branchwise.corpora.build.MAX_LINE_BYTES", 100)
    source = write("p.jsonl", {"text": "a"}, {"text": "x" * 100})
    with pytest.raises(InputError, match=r"p\.jsonl:2: the passage takes more than .*--split"):
        build_corpus(str(source), tmp_path / "C")


@needs_data
@pytest.mark.slow
def test_the_published_passages_of_2wiki_are_built_indexed_and_found(tmp_path: Path) -> None:
    source = f"hipporag:{DATA / '2wiki/corpus.json'}"
    found = best(source, tmp_path / "C", "Teutberga queen of Lotharingia")
    assert found.title == "Teutberga"
    built = build_corpus(source, tmp_path / "C")
    assert (len(built.corpus), [*built.omissions.lines()]) == (6_119, [])
