"""`corpus build`: from corpus files and question sets, whole or not at all."""

import json

import pytest

from branchwise.base.errors import InputError
from branchwise.corpora import build as build_module
from branchwise.corpora.build import build_corpus
from branchwise.corpora.passages import passage_id

LINES = b'{"id": "a", "contents": "A\\nx"}\n{"id": "b", "contents": "B\\ny"}\n'


def records(folder):
    return [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]


def test_own_ids_are_kept_with_the_hash_beside(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(LINES)
    built = build_corpus(str(tmp_path / "in.jsonl"), tmp_path / "C")
    assert records(tmp_path / "C")[0] == {
        "id": "a",
        "contents": "A\nx",
        "hash": passage_id("A", "x"),
    }
    assert (len(built.corpus), list(built.omissions.lines())) == (2, [])


def test_one_id_for_two_texts_is_refused_with_both_places(write, tmp_path):
    texts = {"id": "a", "contents": "A\nx"}, {"id": "b", "contents": "B\nx"}
    source = write("in.jsonl", *texts, texts[0], {"id": "a", "contents": "A\ny"})
    line = r"in\.jsonl:4: id 'a' is already used by another text, at .*in\.jsonl:1"
    with pytest.raises(InputError, match=line):
        build_corpus(str(source), tmp_path / "C")


def test_a_passage_that_is_there_with_its_id_is_left_out(write, tmp_path):
    source = write("in.jsonl", *({"id": id, "contents": f"{id}\nx"} for id in "abcacd"))
    built = build_corpus(str(source), tmp_path / "C")
    assert [record["id"] for record in records(tmp_path / "C")] == [*"abcd"]
    assert [*built.omissions.lines()] == [
        f"2 passages that are there already, the first: {source}:4"
    ]
    assert build_corpus(str(source), tmp_path / "C").omissions.as_json()["double"]["count"] == 2


def test_question_sets_give_their_passages_once(write, tmp_path):
    passages = [{"title": "T", "text": "x"}, {"title": "U", "text": "y"}]
    question = {"question": "?", "answers": {"default": ["a"]}}
    source = write(
        "q.jsonl",
        question | {"id": "1", "passages": passages},
        question | {"id": "2", "passages": passages[:1]},
    )
    built = build_corpus(str(source), tmp_path / "C")
    assert [built.corpus.passage(row).title for row in (0, 1)] == ["T", "U"]
    assert (len(built.corpus), built.omissions.as_json()["double"]["count"]) == (2, 1)
    assert "hash" not in records(tmp_path / "C")[0]


def test_questions_without_passages_make_no_corpus(write, tmp_path):
    source = write("q.jsonl", {"id": "1", "question": "?", "answers": {"default": ["a"]}})
    with pytest.raises(InputError, match="the questions bring no passages"):
        build_corpus(str(source), tmp_path / "C")


def test_what_is_there_is_not_overwritten(write, tmp_path):
    source = write("in.jsonl", {"contents": "A\nx"})
    build_corpus(str(source), tmp_path / "C")
    before = (tmp_path / "C" / "corpus.jsonl").stat().st_mtime_ns
    other = write("other.jsonl", {"contents": "B\nx"})
    with pytest.raises(InputError, match="already exists"):
        build_corpus(str(other), tmp_path / "C")
    with pytest.raises(InputError, match="already exists"):
        build_corpus(str(source), source)
    assert (tmp_path / "C" / "corpus.jsonl").stat().st_mtime_ns == before


def test_a_corpus_that_is_there_may_be_built_again(write, tmp_path):
    source = write("in.jsonl", {"contents": "A\nx"}, {"contents": "A\nx"})
    build_corpus(str(source), tmp_path / "C")
    before = (tmp_path / "C" / "corpus.jsonl").stat().st_mtime_ns
    (tmp_path / ".C.abcdefgh.partial").mkdir()
    again = build_corpus(str(source), tmp_path / "C")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["C", "in.jsonl"]
    assert (len(again.corpus), again.omissions.as_json()["double"]["count"]) == (1, 1)
    assert (tmp_path / "C" / "corpus.jsonl").stat().st_mtime_ns == before


def test_an_interrupted_build_leaves_nothing_and_can_be_repeated(write, tmp_path, monkeypatch):
    source = write("in.jsonl", {"contents": "A\nx"}, {"contents": "B\ny"})

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(build_module, "_REPORT_EVERY", 2)
    with pytest.raises(KeyboardInterrupt):
        build_corpus(str(source), tmp_path / "out" / "C", interrupt)
    assert list((tmp_path / "out").iterdir()) == []
    assert len(build_corpus(str(source), tmp_path / "out" / "C").corpus) == 2
