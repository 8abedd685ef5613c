"""Indexes: made whole or not at all, opened only where they belong."""

import json
import shutil
import signal
import subprocess
import sys

import pytest

from branchwise.base.errors import InputError
from branchwise.base.files import record_files
from branchwise.corpora.build import build_index
from branchwise.corpora.manifest import index_names
from branchwise.corpora.open import open_retriever


@pytest.fixture
def copied(indexed_dir, tmp_path):
    """The indexed corpus, free to be damaged."""
    return shutil.copytree(indexed_dir, tmp_path / "C")


def edit(corpus_dir, name, **changes):
    file = corpus_dir / "index" / name / "manifest.json"
    manifest = json.loads(file.read_text())
    for key, value in changes.items():
        inner, _, field = key.partition("__")
        if field:
            manifest[inner][field] = value
        else:
            manifest[key] = value
    file.write_text(json.dumps(manifest))
    record_files(file.parent)


def ids(retriever, query, k=3):
    return [hit.passage.id for hit in retriever.search([query], k)[0]]


@pytest.mark.parametrize("name", ["flat", "bm25", "hybrid"])
def test_each_retriever_finds_the_passage_that_answers(indexed_dir, name):
    retriever = open_retriever(indexed_dir, name)
    assert retriever.name == name
    assert ids(retriever, "Which volcano is on Sicily?")[0] == "volcano"
    assert ids(retriever, "game on a board of 64 squares")[0] == "chess"


@pytest.mark.parametrize("name", ["flat", "bm25", "hybrid"])
def test_a_ranking_does_not_depend_on_batch_or_k(indexed_dir, name):
    retriever = open_retriever(indexed_dir, name)
    queries = ["volcano on Sicily", "board game", "a river to the sea", "Etna", "red planet"]
    together = retriever.search(queries, 10)
    assert together == [retriever.search([query], 10)[0] for query in queries]
    assert [hits[:2] for hits in together] == retriever.search(queries, 2)


def test_the_default_is_the_only_index_and_else_flat(copied):
    assert open_retriever(copied).name == "flat"
    shutil.rmtree(copied / "index" / "flat")
    assert open_retriever(copied).name == "bm25"


def test_several_indexes_without_a_flat_one_ask_for_a_choice(copied):
    shutil.copytree(copied / "index" / "bm25", copied / "index" / "words")
    shutil.rmtree(copied / "index" / "flat")
    with pytest.raises(InputError, match=r"bm25, words.*--retriever"):
        open_retriever(copied)


def test_no_index_names_the_command_that_makes_it(corpus_dir):
    with pytest.raises(InputError, match=r"no index 'flat'.*corpus index .*C --kind flat"):
        open_retriever(corpus_dir)
    with pytest.raises(InputError, match=r"no index 'e5'.*--kind flat --name e5"):
        open_retriever(corpus_dir, "e5")


def test_an_index_of_another_corpus_is_refused(copied):
    with (copied / "corpus.jsonl").open("a") as file:
        file.write('{"id": "new", "contents": "Oboe\\nAn oboe."}\n')
    for name in ("flat", "bm25"):
        with pytest.raises(InputError, match=r"another corpus: built on 12 .* now holds 13") as e:
            open_retriever(copied, name)
        assert f"branchwise corpus index {copied} --kind {name}" in str(e.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoder__digest": "0" * 64}, r"all-MiniLM-L6-v2 is not the one"),
        (
            {
                "encoder__backend": "torch",
                "encoder__precision": "float32",
                "encoder__max_tokens": 9,
            },
            r"differs from the index in max_tokens",
        ),
        ({"encoder__dimension": 7, "encoder__pooling": "max"}, r"in pooling, dimension"),
        ({"encoder__dimension": 7}, r"the index has 7|differs from the index in dimension"),
    ],
)
def test_an_index_of_another_encoder_is_refused(copied, changes, message):
    edit(copied, "flat", **changes)
    with pytest.raises(InputError, match=message) as caught:
        open_retriever(copied, "flat")
    assert "rebuild it: branchwise corpus index" in str(caught.value)


def test_an_index_analysed_another_way_is_refused(copied):
    edit(copied, "bm25", analyzer="whitespace")
    with pytest.raises(InputError, match=r"analysed with whitespace.*rebuild it"):
        open_retriever(copied, "bm25")


@pytest.mark.parametrize(
    ("name", "file"), [("flat", "vectors.faiss"), ("bm25", "tantivy/meta.json")]
)
def test_damaged_index_files_are_refused(copied, name, file):
    if name not in index_names(copied):
        build_index(copied, name)
    (copied / "index" / name / file).write_bytes(b"garbage")
    with pytest.raises(InputError, match=rf"is damaged.*rebuild it.* --kind {name}"):
        open_retriever(copied, name)


@pytest.mark.parametrize("kind", ["fast", "fieldnorm", "idx", "pos", "store", "term"])
@pytest.mark.parametrize("left", [0, 0.5, None])
def test_a_part_of_the_terms_that_is_cut_or_gone_is_refused(copied, kind, left):
    (part,) = (copied / "index" / "bm25" / "tantivy").glob(f"*.{kind}")
    if left is None:
        part.unlink()
    else:
        part.write_bytes(part.read_bytes()[: int(left * part.stat().st_size)])
    with pytest.raises(InputError, match=r"is (missing|damaged).*; rebuild it"):
        open_retriever(copied, "bm25").search(["volcano"], 3)


def test_rows_that_the_corpus_does_not_have_are_refused(copied, tmp_path):
    import tantivy

    folder = copied / "index" / "bm25" / "tantivy"
    shutil.rmtree(folder)
    folder.mkdir()
    fields = tantivy.SchemaBuilder().add_integer_field("row", fast=True)
    index = tantivy.Index(fields.add_text_field("contents").build(), path=str(folder))
    writer = index.writer(num_threads=1)
    for row in range(100, 112):
        writer.add_document(tantivy.Document(row=row, contents="volcano"))
    writer.commit()
    writer.wait_merging_threads()
    record_files(folder.parent)
    with pytest.raises(InputError, match="the terms are missing or damaged"):
        open_retriever(copied, "bm25").search(["volcano"], 3)


def test_an_interrupted_build_changes_nothing_and_can_be_repeated(copied, monkeypatch):
    before = (copied / "index" / "bm25" / "manifest.json").read_bytes()

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(copied, "bm25", progress=interrupt)
    with pytest.raises(KeyboardInterrupt):
        build_index(copied, "bm25", name="second", progress=interrupt)
    assert sorted(path.name for path in (copied / "index").iterdir()) == ["bm25", "flat"]
    assert (copied / "index" / "bm25" / "manifest.json").read_bytes() == before
    build_index(copied, "bm25", name="second")
    assert ids(open_retriever(copied, "second"), "volcano Sicily", 1) == ["volcano"]


@pytest.mark.usefixtures("process")
def test_what_a_kill_leaves_behind_is_not_loaded(copied):
    program = (
        "import os, signal, sys; from pathlib import Path;"
        "from branchwise.corpora import build;"
        "build.write_manifest = lambda *_: os.kill(os.getpid(), signal.SIGKILL);"
        "build.build_index(Path(sys.argv[1]), 'bm25', name='second')"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(copied)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [p for p in (copied / "index").iterdir() if p.name.endswith(".partial")]
    assert index_names(copied) == ["bm25", "flat"]
    with pytest.raises(InputError, match="no index 'second'"):
        open_retriever(copied, "second")


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "hybrid", "a b"])
def test_an_index_name_is_a_plain_word(corpus_dir, name):
    with pytest.raises(InputError, match="cannot name an index"):
        build_index(corpus_dir, "bm25", name=name or "/")


def test_identity_says_what_results_depend_on(copied):
    before = {name: open_retriever(copied, name).identity for name in ("flat", "bm25", "hybrid")}
    assert len({json.dumps(identity, sort_keys=True) for identity in before.values()}) == 3
    assert before["flat"]["encoder"]["name"] == "all-MiniLM-L6-v2"
    assert str(copied) not in json.dumps(before)
    edit(copied, "bm25", versions={"tantivy": "9"})
    assert open_retriever(copied, "bm25").identity == before["bm25"]
