"""Vectors made elsewhere: the files they come in, and the index of them."""

import shutil

import numpy as np
import pytest

from branchwise.base.errors import InputError
from branchwise.corpora.build import build_index
from branchwise.corpora.given_vectors import open_vectors
from branchwise.corpora.open import open_retriever

VECTORS = np.random.default_rng(2).standard_normal((10, 4)).astype(np.float32)


def write(folder, ending, vectors=VECTORS):
    """The vectors as NumPy, faiss and Arrow write them; Parquet in groups of three rows."""
    file = folder / f"made.{ending}"
    if ending == "npy":
        np.save(file, vectors)
    elif ending == "index":
        faiss = pytest.importorskip("faiss")
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        faiss.write_index(index, str(file))
    else:
        arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
        from pyarrow import parquet

        table = arrow.table({"id": range(len(vectors)), "embedding": list(map(list, vectors))})
        parquet.write_table(table, file, row_group_size=3)
    return file


@pytest.mark.parametrize("ending", ["npy", "index", "parquet"])
def test_any_stretch_of_rows_is_read(tmp_path, ending):
    opened = open_vectors(write(tmp_path, ending))
    assert (opened.count, opened.dimension) == VECTORS.shape
    for start, stop in ((0, 10), (2, 7), (9, 10), (3, 6), (0, 1)):
        read = opened.read(start, stop)
        assert read.dtype == np.float32
        assert np.allclose(read, VECTORS[start:stop])


@pytest.mark.parametrize("ending", ["npy", "index", "parquet"])
@pytest.mark.parametrize("content", [b"", b"garbage"])
def test_damaged_files_are_refused_in_one_line(tmp_path, ending, content):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="needs the extra parquet")
    (tmp_path / f"x.{ending}").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.\w+: (is not a|cannot be read as Parquet)") as caught:
        open_vectors(tmp_path / f"x.{ending}")
    assert "\n" not in str(caught.value)


def test_an_index_cut_anywhere_is_refused(tmp_path):
    whole = write(tmp_path, "index").read_bytes()
    cut = tmp_path / "cut.index"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(InputError, match="is not a faiss index, or is damaged"):
            open_vectors(cut)


@pytest.mark.parametrize("kind", ["IndexFlatL2", "IndexHNSWFlat"])
def test_an_index_that_is_not_exact_or_of_distances_is_refused(tmp_path, kind):
    faiss = pytest.importorskip("faiss")
    index = getattr(faiss, kind)(4, *([8] if kind == "IndexHNSWFlat" else []))
    index.add(VECTORS)
    faiss.write_index(index, str(tmp_path / "x.index"))
    with pytest.raises(InputError, match=r"not an exact index of inner products.*Flat"):
        open_vectors(tmp_path / "x.index")


def test_a_file_of_objects_is_not_unpacked(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="is not a NumPy array"):
        open_vectors(tmp_path / "x.npy")


def test_numbers_of_another_shape_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6).reshape(2, 3))
    with pytest.raises(InputError, match=r"holds int64 \[2, 3\], not floats"):
        open_vectors(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.zeros(6))
    with pytest.raises(InputError, match=r"holds float64 \[6\], not floats"):
        open_vectors(tmp_path / "x.npy")


def test_another_form_is_refused_with_those_that_are_read(tmp_path):
    with pytest.raises(InputError, match=r"are read from \.npy, \.index, \.parquet"):
        open_vectors(tmp_path / "x.csv")
    with pytest.raises(InputError, match="no such file"):
        open_vectors(tmp_path / "x.npy")


def test_parquet_needs_one_column_of_vectors_of_one_length(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
    from pyarrow import parquet

    parquet.write_table(arrow.table({"a": [[0.5]], "b": [[0.5]]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="one column of lists of floats, it has a, b"):
        open_vectors(tmp_path / "x.parquet")
    parquet.write_table(arrow.table({"a": [[0.5], [0.5, 1.0]]}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match=r"cannot be read as Parquet|rows of other lengths"):
        open_vectors(tmp_path / "x.parquet")


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_given_vectors_are_searched_as_encoded_ones(indexed_dir, tmp_path, kind):
    import faiss

    corpus = shutil.copytree(indexed_dir, tmp_path / "C")
    made = faiss.read_index(str(corpus / "index" / "flat" / "vectors.faiss"))
    file = write(tmp_path, "npy", made.reconstruct_n(0, made.ntotal).astype(np.float16))
    build_index(corpus, kind, name="given", vectors=file)
    file.unlink()
    queries = ["Which volcano is on Sicily?", "board game", "a river to the sea"]
    flat, given = (open_retriever(corpus, name).search(queries, 5) for name in ("flat", "given"))
    assert [[h.passage.id for h in hits] for hits in given] == [
        [h.passage.id for h in hits] for hits in flat
    ]


@pytest.mark.usefixtures("encoder")
def test_vectors_of_another_corpus_are_refused_and_nothing_is_made(indexed_dir, tmp_path):
    import faiss

    corpus = shutil.copytree(indexed_dir, tmp_path / "C")
    made = faiss.read_index(str(corpus / "index" / "flat" / "vectors.faiss"))
    vectors = made.reconstruct_n(0, made.ntotal)
    for wrong, said in (
        (vectors[:-1], "holds 11 vectors, the corpus 12 passages"),
        (vectors[:, :7], "have 7 dimensions, those of all-MiniLM-L6-v2 384"),
        (vectors[::-1], "gets another vector"),
        (vectors * np.nan, "not of unit length"),
    ):
        with pytest.raises(InputError, match=said):
            build_index(corpus, "ivf", vectors=write(tmp_path, "npy", wrong))
    assert sorted(path.name for path in (corpus / "index").iterdir()) == ["bm25", "flat"]
