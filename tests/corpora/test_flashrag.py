"""`flashrag:CONFIG.yaml`: its file, its process, and FlashRAG itself where it is installed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora import flashrag as flashrag_module
from branchwise.corpora.build import build_index
from branchwise.corpora.flashrag import (
    FlashRag,
    FlashRagProcess,
    WorkerError,
    fingerprint,
    read_config,
)
from branchwise.corpora.open import open_retriever
from branchwise.corpora.retrieval import RetrieverError
from support import TESTS
from support.corpora import flashrag_forks
from support.needs import FLASHRAG, needs_flashrag


@pytest.fixture
def config(tmp_path):
    """Write a configuration beside an index and a corpus that are there."""
    (tmp_path / "e5_Flat.index").write_bytes(b"vectors")
    (tmp_path / "corpus.jsonl").write_bytes(b"passages")

    def write(text="", paths="index_path: e5_Flat.index\ncorpus_path: corpus.jsonl\n"):
        file = tmp_path / "c.yaml"
        file.write_text(paths + text)
        return file

    return write


# --- the file ------------------------------------------------------------------------------------


def test_paths_count_from_the_files_folder(config, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    _, whole = read_config(config("model2path:\n  e5: .\n  bge: BAAI/bge-base-en-v1.5\n"))
    assert whole["index_path"] == str(tmp_path / "e5_Flat.index")
    assert whole["corpus_path"] == str(tmp_path / "corpus.jsonl")
    assert whole["model2path"] == {"e5": str(tmp_path), "bge": "BAAI/bge-base-en-v1.5"}


def test_the_index_may_stand_in_flashrags_table(config):
    text = "method2index:\n  e5: e5_Flat.index\n"
    settings, whole = read_config(config(text, paths="corpus_path: corpus.jsonl\n"))
    assert settings.index_path is None
    assert Path(whole["method2index"]["e5"]).is_absolute()


def test_what_is_described_has_what_a_ranking_depends_on_and_nothing_else(config):
    plain, _ = read_config(config("gpu_id: 3\nretrieval_batch_size: 8\nretrieval_topk: 9\n"))
    assert plain.described() == {
        "retrieval_method": "e5",
        "retrieval_query_max_length": 128,
        "use_sentence_transformer": False,
        "use_reranker": False,
    }
    reranked, _ = read_config(
        config("use_reranker: true\nrerank_model_name: m\nretrieval_topk: 9\n")
    )
    assert reranked.described() == plain.described() | {
        "use_reranker": True,
        "rerank_model_name": "m",
        "rerank_max_length": 512,
        "retrieval_topk": 9,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "retrieval_metod: e5",
            "no retrieval setting 'retrieval_metod'; did you mean retrieval_method",
        ),
        ("retrieval_topk: many", "retrieval_topk"),
        ("retrieval_topk: 0", "retrieval_topk"),
        ("retrieval_pooling_method: max", "retrieval_pooling_method"),
        ("use_multi_retriever: true", "several retrievers at once"),
        ("retrieval_method: openai-clip", "image search is not supported"),
        ("use_reranker: true", "no reranker is named"),
        ("a: [", r"c\.yaml:\d+: is not YAML"),
        ("a: !!python/object/apply:os.system ['false']", "is not YAML"),
        ("index_path: missing.index", r"index_path: .*missing\.index does not exist"),
        ("corpus_path: ~", "names no corpus_path"),
    ],
)
def test_a_bad_file_is_one_line(config, text, said):
    with pytest.raises(InputError, match=said) as raised:
        read_config(config(text))
    assert "c.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", ["- a\n", "text\n", "", "1: a\n"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(InputError, match="not a mapping"):
        read_config(tmp_path / "c.yaml")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_config(tmp_path / "c.yaml")


def test_without_the_extra_one_line_says_how_to_install_it(config, monkeypatch):
    monkeypatch.setitem(sys.modules, "flashrag", None)
    with pytest.raises(InputError, match=r"not installed; pip install 'branchwise\[flashrag\]'"):
        open_retriever(None, f"flashrag:{config()}")


# --- fingerprints --------------------------------------------------------------------------------


def test_a_fingerprint_tells_contents_apart_and_not_places(tmp_path):
    big = bytearray(5_000_000)
    files = {name: tmp_path / name for name in ("a", "copy", "front", "end", "longer")}
    files["a"].write_bytes(big)
    files["copy"].write_bytes(big)
    files["longer"].write_bytes(big + b"\0")
    files["front"].write_bytes(b"1" + big[1:])
    files["end"].write_bytes(big[:-1] + b"1")
    found = {name: fingerprint(file) for name, file in files.items()}
    assert found["a"] == found["copy"]
    assert len(set(found.values())) == 4


def test_a_folders_fingerprint_has_its_files_and_their_names(tmp_path):
    def folder(name, **files):
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
        return fingerprint(tmp_path / name)

    assert folder("one", a="1", b="2") == folder("two", b="2", a="1")
    assert folder("three", a="2", b="1") != folder("four", a="1", b="2")
    assert folder("five", a="1") != folder("six", c="1")


# --- the process ---------------------------------------------------------------------------------


@pytest.fixture
def worker(monkeypatch, process):
    """A process that loads nothing and obeys."""
    monkeypatch.setattr(flashrag_module, "_MODULE", "support.corpora.flashrag_stand_in")
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    made = FlashRagProcess({"a": 1}, 60)
    yield made
    made.close()


def test_queries_go_one_at_a_time_and_come_back_in_order(worker):
    assert worker.ready == {"settings": {"a": 1}}
    hits = FlashRag(worker, {}).search(["Etna", "Rhine\nx", "Etna"], 2)
    assert [[(h.passage.id, h.passage.title, h.score) for h in r] for r in hits] == [
        [("0", "Etna", 0.0), ("1", "Etna", -1.0)],
        [("0", "Rhine", 0.0), ("1", "Rhine", -1.0)],
        [("0", "Etna", 0.0), ("1", "Etna", -1.0)],
    ]


def test_what_flashrag_says_reaches_the_asker_and_the_next_query_goes_on(worker):
    retriever = FlashRag(worker, {})
    with pytest.raises(RetrieverError, match="FlashRAG failed: RuntimeError: out of memory"):
        retriever.search(["fail"], 1)
    assert len(retriever.search(["Etna"], 1)[0]) == 1


def test_a_process_that_dies_is_said_and_not_waited_for(worker):
    retriever = FlashRag(worker, {})
    for _ in range(2):
        with pytest.raises(RetrieverError, match=r"process has ended \(exit status 7\)"):
            retriever.search(["die"], 1)


def test_a_search_that_never_ends_is_ended(worker):
    with pytest.raises(WorkerError, match="did not answer within"):
        worker.ask({"query": "hang", "k": 1}, 0.2)
    assert worker._process.wait(timeout=30) < 0


LOADS_FOR_EVER = """
import sys
from branchwise.corpora import flashrag_worker as worker

worker._Search = lambda settings: open(sys.argv[1]).read()
worker.main()
"""


@pytest.mark.usefixtures("process")
def test_a_process_that_loads_ends_with_its_host(tmp_path):
    index = tmp_path / "index"
    os.mkfifo(index)
    command = [sys.executable, "-c", LOADS_FOR_EVER, str(index)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as loading:
        loading.stdin.write(b"{}\n")
        loading.stdin.flush()
        with index.open("wb"):  # opens when it is read: nothing will ever come
            loading.stdin.close()
            assert loading.wait() == 1


@pytest.mark.usefixtures("process")
def test_loading_that_fails_is_one_line_and_leaves_no_process(worker):
    with pytest.raises(WorkerError, match="FlashRAG failed: Warning: Index file x does not exist!"):
        FlashRagProcess({"fails": True}, 60)


@pytest.mark.usefixtures("process")
def test_the_process_ends_with_its_retriever(worker):
    other = FlashRagProcess({}, 60)
    started = other._process
    del other
    assert started.wait(timeout=30) is not None


# --- FlashRAG itself -----------------------------------------------------------------------------

FORKS = "support.corpora.flashrag_forks"
QUERIES = [
    "volcano in Sicily", "board games of strategy", "rivers of Europe", "Which planet is red?",
    "a wind instrument", "cheese", "Pompeii", "natural satellite", "Etna", "invented in China",
    "x", "yeast and bacteria " * 30,
]  # fmt: skip


@pytest.fixture(scope="module")
def flashrag_packages(tmp_path_factory):
    """Processes that are started find FlashRAG and what it asks for; this one finds it alone."""
    alone = tmp_path_factory.mktemp("packages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
        for folder in FLASHRAG:
            patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
            (alone / "flashrag").symlink_to(folder / "flashrag")
            patch.setattr(sys, "path", [*sys.path, str(alone)])
        yield


@pytest.fixture(scope="module")
def forked(tmp_path_factory, flashrag_packages):
    """What is started as `FORKS` is a fork of one process."""
    folder = tmp_path_factory.mktemp("forks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HOME", str(folder))
        patch.setenv(flashrag_forks.PLACE, str(folder / "socket"))
        with flashrag_forks.forks(folder / "socket"):
            yield


@pytest.fixture(scope="module")
def built(tmp_path_factory, indexed_dir, forked):
    """A corpus of 12 passages, and the dense and BM25 indexes that FlashRAG's builder makes."""
    from branchwise.corpora.encoder_models import DEFAULT_ENCODER, find_model

    folder = tmp_path_factory.mktemp("flashrag")
    shutil.copy(indexed_dir / "corpus.jsonl", folder)
    model = str(find_model(DEFAULT_ENCODER).folder)
    for method, path in (("minilm", model), ("bm25", "")):
        subprocess.run(
            [sys.executable, "-m", FORKS, method, path, str(folder / "corpus.jsonl"), str(folder)],
            check=True,
            capture_output=True,
        )
    dense = f"retrieval_method: minilm\nretrieval_model_path: {model}\n"
    dense += "index_path: minilm_Flat.index\ncorpus_path: corpus.jsonl\n"
    (folder / "dense.yaml").write_text(dense)
    (folder / "bm25.yaml").write_text(
        "retrieval_method: bm25\nindex_path: bm25\ncorpus_path: corpus.jsonl\n"
    )
    (folder / "reranked.yaml").write_text(
        f"{dense}use_reranker: true\nrerank_model_name: minilm\nrerank_model_path: {model}\n"
        "rerank_pooling_method: mean\nretrieval_topk: 4\n"
    )
    (folder / "broken.yaml").write_text(dense.replace("minilm_Flat.index", "corpus.jsonl"))
    return folder


@pytest.fixture(scope="module")
def flashrag(built):
    """Retrievers of these configurations, each started once: one in a process like a user's."""
    opened = {}

    def _open(name):
        with pytest.MonkeyPatch.context() as patch:
            if name != "dense":
                patch.setattr(flashrag_module, "_MODULE", FORKS)
            if name not in opened:
                opened[name] = open_retriever(None, f"flashrag:{built / name}.yaml")
        return opened[name]

    yield _open
    for retriever in opened.values():
        retriever.close()


def ranking(hits):
    return [hit.passage.id for hit in hits]


@pytest.mark.long
@needs_flashrag
def test_an_index_that_flashrag_built_ranks_the_same_in_both_retrievers(built, flashrag):
    build_index(built, "flat", name="flashrag", vectors=built / "minilm_Flat.index")
    ours = open_retriever(built, "flashrag").search(QUERIES, 12)
    theirs = flashrag("dense").search(QUERIES, 12)
    assert [ranking(hits) for hits in ours] == [ranking(hits) for hits in theirs]
    for own, other in zip(ours, theirs, strict=True):
        assert [hit.score for hit in own] == pytest.approx([hit.score for hit in other], abs=1e-5)
        assert [hit.passage for hit in own] == [hit.passage for hit in other]


@pytest.mark.long
@needs_flashrag
def test_a_ranking_does_not_depend_on_its_company(flashrag):
    for name in ("dense", "bm25", "reranked"):
        retriever = flashrag(name)
        alone = [retriever.search([query], 3)[0] for query in QUERIES[:4]]
        assert retriever.search(QUERIES[:4], 3) == alone
        assert [hits[:1] for hits in alone] == retriever.search(QUERIES[:4], 1)


@needs_flashrag
def test_this_process_is_as_it_was(built, flashrag, monkeypatch, tmp_path):
    import faiss

    faiss.omp_set_num_threads(3)
    monkeypatch.chdir(tmp_path)
    flashrag("dense").search(["x"], 1)
    assert faiss.omp_get_max_threads() == 3
    assert "flashrag" not in sys.modules
    assert list(tmp_path.iterdir()) == []


@needs_flashrag
def test_identities_have_no_paths_and_differ(built, flashrag):
    found = {name: json.dumps(flashrag(name).identity) for name in ("dense", "bm25", "reranked")}
    assert len(set(found.values())) == 3
    assert not any("/" in text for text in found.values())
    assert json.loads(found["dense"])["settings"]["retrieval_use_fp16"] is False


@needs_flashrag
def test_what_flashrag_cannot_open_is_one_line(built, monkeypatch):
    monkeypatch.setattr(flashrag_module, "_MODULE", FORKS)
    with pytest.raises(InputError, match=r"broken\.yaml: FlashRAG failed: RuntimeError") as raised:
        open_retriever(None, f"flashrag:{built / 'broken'}.yaml")
    assert str(raised.value).isprintable()
