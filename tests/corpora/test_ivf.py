"""Inverted lists: what they find beside a comparison with all, chosen recall, builds that go on."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.build import build_index
from branchwise.corpora.flat import KEPT_VECTORS, mapped, unfinished
from branchwise.corpora.ivf import choose_probes, index_vectors, nearest
from branchwise.corpora.open import open_retriever

DIMENSION, CLUSTERS = 32, 40


def clustered(count, spread=0.3):
    """Unit vectors around some centres."""
    chance = np.random.default_rng(3)
    centres = chance.standard_normal((CLUSTERS, DIMENSION))
    made = centres[chance.integers(0, CLUSTERS, count)]
    made = made + spread * chance.standard_normal((count, DIMENSION))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)


@pytest.fixture
def made(tmp_path):
    """Mapped vectors and the folder of their lists."""
    kept, folder = tmp_path / "kept", tmp_path / "index"
    kept.mkdir()
    folder.mkdir()
    (kept / KEPT_VECTORS).write_bytes(clustered(4000).tobytes())
    vectors = mapped(kept / KEPT_VECTORS, 4000, DIMENSION, "float16")
    index_vectors(vectors, kept, folder)
    return vectors, folder


@pytest.mark.slow
def test_more_lists_are_probed_for_more_recall(made):
    vectors, folder = made
    few, many = choose_probes(folder, vectors, 0.5), choose_probes(folder, vectors, 0.999)
    assert few.recall >= 0.5
    assert many.recall >= 0.999
    assert few.probes <= many.probes <= many.lists


@pytest.mark.slow
def test_what_is_found_has_its_exact_inner_product(made):
    import faiss

    vectors, folder = made
    lists = faiss.read_index(str(folder / "lists.faiss"))
    lists.nprobe = choose_probes(folder, vectors, 0.99).probes
    everything = np.asarray(vectors, dtype=np.float32)
    found = []
    for query in everything[:200]:
        rows, scores = nearest(lists, vectors, query, 150)
        assert scores == pytest.approx((everything[rows] @ query).tolist(), abs=1e-5)
        best = np.argsort(-(everything @ query), kind="stable")[:10].tolist()
        ours = [row for _, row in sorted(zip(scores, rows, strict=True), reverse=True)[:10]]
        found.append(len({*best} & {*ours}) / 10)
    assert np.mean(found) >= 0.97


def test_what_belongs_to_another_plan_is_not_gone_on_with(tmp_path):
    with unfinished(tmp_path / "kept", {"corpus": "a"}) as kept:
        (kept / KEPT_VECTORS).write_bytes(b"x")
    with unfinished(tmp_path / "kept", {"corpus": "a"}) as kept:
        assert (kept / KEPT_VECTORS).read_bytes() == b"x"
        with (
            pytest.raises(InputError, match="another process is building"),
            unfinished(tmp_path / "kept", {"corpus": "a"}),
        ):
            pass
    with unfinished(tmp_path / "kept", {"corpus": "b"}) as kept:
        assert not (kept / KEPT_VECTORS).exists()


@pytest.fixture(scope="module")
def built(indexed_dir, tmp_path_factory):
    """The twelve passages with an index `ivf`. Not to be changed by tests."""
    folder = shutil.copytree(indexed_dir, tmp_path_factory.mktemp("ivf") / "C")
    build_index(folder, "ivf")
    return folder


def test_hybrid_is_made_of_it_where_there_is_no_flat(built, tmp_path):
    def dense(corpus):
        return open_retriever(corpus, "hybrid").identity["parts"][0]["kind"]

    copy = shutil.copytree(built, tmp_path / "C")
    assert dense(copy) == "flat"
    shutil.rmtree(copy / "index" / "flat")
    assert dense(copy) == "ivf"
    shutil.rmtree(copy / "index" / "ivf")
    with pytest.raises(InputError, match=r"no index 'flat' \(it has bm25\)"):
        open_retriever(copy, "hybrid")


def test_a_ranking_depends_neither_on_its_company_nor_on_k(built):
    retriever = open_retriever(built, "ivf")
    queries = ["volcano on Sicily", "board game", "a river to the sea", "Etna", "red planet"]
    together = retriever.search(queries, 10)
    assert together == [retriever.search([query], 10)[0] for query in queries]
    assert [hits[:2] for hits in together] == retriever.search(queries, 2)


@pytest.mark.parametrize("file", ["lists.faiss", KEPT_VECTORS])
@pytest.mark.parametrize("left", [0, 0.5, 0.99])
def test_damaged_vectors_are_refused(built, tmp_path, file, left):
    copy = shutil.copytree(built, tmp_path / "C")
    damaged = copy / "index" / "ivf" / file
    damaged.write_bytes(damaged.read_bytes()[: int(left * damaged.stat().st_size)])
    with pytest.raises(InputError, match=r"is damaged .*; rebuild it.*--kind ivf"):
        open_retriever(copy, "ivf")


def test_a_recall_that_cannot_be_met_is_refused(indexed_dir, tmp_path, monkeypatch):
    copy = shutil.copytree(indexed_dir, tmp_path / "C")
    # Neighbours that no list holds.
    nowhere = lambda vectors, queries, held: [{-1}] * len(queries)  # noqa: E731
    monkeypatch.setattr("branchwise.corpora.ivf._true_neighbours", nowhere)
    with pytest.raises(
        InputError, match=r"a recall of 0\.99 cannot be met: all 1 lists reach 0\.0"
    ):
        build_index(copy, "ivf")


@pytest.mark.long
@pytest.mark.usefixtures("process", "encoder")
def test_a_killed_build_goes_on_with_what_it_encoded(tmp_path):
    corpus = tmp_path / "C"
    corpus.mkdir()
    lines = (json.dumps({"id": f"p{i}", "contents": f"Title {i}\nText {i}"}) for i in range(14))
    (corpus / "corpus.jsonl").write_text("".join(f"{line}\n" for line in lines))
    program = """
import os, signal, sys
from pathlib import Path
from branchwise.corpora import build, encoders, flat
flat._TEXTS_AT_ONCE, encode, calls = 4, encoders.Encoder.encode_passages, []
def encode_passages(self, texts, progress):
    if calls and sys.argv[3] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    calls.append(len(texts))
    return encode(self, texts, progress)
encoders.Encoder.encode_passages = encode_passages
build.build_index(Path(sys.argv[1]), sys.argv[2], backend="torch")
print(calls)
"""

    def run(end):
        command = [sys.executable, "-c", program, str(corpus), "ivf", end]
        environment = os.environ | {"HF_HUB_OFFLINE": "1"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    for _ in range(2):
        assert run("kill").returncode == -signal.SIGKILL
    kept = corpus / "index" / ".ivf.unfinished" / KEPT_VECTORS
    assert kept.stat().st_size == 8 * 384 * 2
    kept.write_bytes(kept.read_bytes() + b"half a vector")
    ended = run("live")
    assert (ended.returncode, ended.stdout.strip()) == (0, "[4, 2]"), ended.stderr
    assert not kept.exists()
    assert len(open_retriever(corpus, "ivf").search(["Title 3"], 14)[0]) == 14
