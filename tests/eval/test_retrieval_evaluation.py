"""`corpus eval`: rankings scored against gold support and relevance judgements."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from branchwise.base.errors import InputError
from branchwise.commands.corpus import corpus_app
from branchwise.corpora.build import build_corpus, build_index
from branchwise.corpora.folder import Corpus
from branchwise.corpora.judgements import grades_of, read_judgements
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.passages import Passage
from branchwise.corpora.questions import Question
from branchwise.corpora.retrieval import Hit
from branchwise.eval.retrieval_evaluation import (
    DEFAULT_MEASURES,
    JudgedQuery,
    RankingMeasure,
    evaluate_retrievers,
    judged_queries,
)
from branchwise.report.terminal.retrieval_tables import notes
from support.corpora.small import TWELVE, bare_corpus, bm25_corpus


class Scripted:
    """Answers each query with the ids that its text lists; all scores are equal."""

    name = "scripted"
    identity: Mapping[str, Any] = {}

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        return [
            [Hit(Passage(id=id, title="", text="x"), 1.0) for id in query.split()[:k]]
            for query in queries
        ]


MEASURES = [RankingMeasure.parse(one) for one in DEFAULT_MEASURES]


def scored(
    corpus: Path, queries: Sequence[JudgedQuery], *measures: str
) -> dict[str, Sequence[float]]:
    chosen = [RankingMeasure.parse(one) for one in measures]
    found = evaluate_retrievers(Corpus.open(corpus), [Scripted()], queries, chosen)
    return {str(measure): values for measure, values in found.scores[0].values.items()}


def test_values_worked_out_by_hand(tmp_path: Path) -> None:
    corpus = bare_corpus(tmp_path / "C", {id: f"{id}\nx" for id in "abcdef"})
    queries = [
        JudgedQuery("1", "d a e b", {"a": 2, "b": 1, "c": 1, "d": 0}),
        JudgedQuery("2", "a b", {"f": 1}),
        JudgedQuery("3", "", {"a": 1}),
    ]
    found = scored(
        corpus, queries, "nDCG@3", "nDCG@10", "MRR@10", "recall@2", "recall@10", "MAP@10"
    )
    best = 2 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert found["nDCG@3"] == pytest.approx([2 / math.log2(3) / best, 0, 0])
    assert found["nDCG@10"] == pytest.approx([(2 / math.log2(3) + 1 / math.log2(5)) / best, 0, 0])
    assert found["MRR@10"] == pytest.approx([1 / 2, 0, 0])
    assert found["recall@2"] == pytest.approx([1 / 3, 0, 0])
    assert found["recall@10"] == pytest.approx([2 / 3, 0, 0])
    assert found["MAP@10"] == pytest.approx([(1 / 2 + 2 / 4) / 3, 0, 0])


def test_a_query_does_not_find_itself(tmp_path: Path) -> None:
    corpus = bare_corpus(tmp_path / "C", {id: f"{id}\nx" for id in "abc"})
    assert scored(corpus, [JudgedQuery("a", "a b c", {"c": 1})], "recall@2", "MRR@2") == {
        "recall@2": [1.0],
        "MRR@2": [0.5],
    }


def test_a_value_is_the_best_over_alternative_gold_sets(tmp_path: Path) -> None:
    corpus = bare_corpus(tmp_path / "C", {id: f"{id}\nx" for id in "abcd"})

    def gold(*ids: str) -> tuple[Any, ...]:
        return ({"name": "b", "answers": ({"text": "x", "support": ids},)},)

    question = Question(
        id="q 1",
        question="d a b",
        branches=gold("a", "b", "c"),
        alternatives=(gold(), gold("d", "gone")),
    )
    queries = judged_queries([question])
    assert scored(corpus, queries, "recall@3", "MRR@10", "recall@1") == {
        "recall@3": [2 / 3],
        "MRR@10": [1.0],
        "recall@1": [1 / 2],
    }
    found = evaluate_retrievers(Corpus.open(corpus), [Scripted()], queries, MEASURES)
    assert (found.judged, found.missing) == (5, 1)
    assert "1 question has alternative gold answers: each value is the best over them." in [
        *notes(found)
    ]


def test_passages_that_the_corpus_lacks_are_counted_and_not_found(tmp_path: Path) -> None:
    corpus = Corpus.open(bare_corpus(tmp_path / "C", {"a": "A\nx"}))
    queries = [JudgedQuery("q", "a", {"a": 1, "gone": 1, "judged": 0})]
    found = evaluate_retrievers(corpus, [Scripted()], queries, MEASURES)
    assert (found.judged, found.missing) == (2, 1)
    assert found.scores[0].values[RankingMeasure("recall", 10)] == [0.5]
    with pytest.raises(InputError, match="none of the passages that the questions name is in the"):
        evaluate_retrievers(corpus, [Scripted()], [JudgedQuery("q", "a", {"b": 1})], MEASURES)


def test_questions_are_judged_by_their_support_or_their_grades() -> None:
    answer = {"text": "x", "support": ["p2", "p1"]}
    gold = Question(
        id="1",
        question="?",
        branches=({"name": "b", "answers": (answer,), "citations": ("p9", "p2")},),
    )
    judged = Question(id="2", question="?", meta={"qrels": {"p3": 2, "p4": 0}})
    neither = Question(id="3", question="?")
    assert grades_of(gold) == [{"p1": 1, "p2": 1, "p9": 1}]
    assert grades_of(judged) == [{"p3": 2, "p4": 0}]
    assert [query.id for query in judged_queries([gold, judged, neither])] == ["1", "2"]
    assert [query.id for query in judged_queries([gold, neither], {"3": {"p": 1}})] == ["3"]
    with pytest.raises(InputError, match=r"no question names a passage.*--qrels"):
        judged_queries([neither])
    with pytest.raises(InputError, match="judges no passage as relevant to any"):
        judged_queries([gold], {"1": {"p": 0}, "9": {"p": 1}})
    for wrong, why in (("p", "is a string"), ({"p": "1"}, "'1' is no grade")):
        with pytest.raises(InputError, match=why):
            grades_of(Question(id="4", question="?", meta={"qrels": wrong}))


@pytest.mark.parametrize(
    "content",
    ["query-id\tcorpus-id\tscore\nq 1\tp1\t2\nq2\tp 2\t0\n", "\ufeffq 1\tp1\t2\r\n\r\nq2\tp 2\t0"],
)
def test_judgements_of_beir(tmp_path: Path, content: str) -> None:
    (tmp_path / "test.tsv").write_text(content)
    assert read_judgements(tmp_path / "test.tsv") == {"q 1": {"p1": 2}, "q2": {"p 2": 0}}


def test_judgements_of_trec(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("301 0 FR940202-2-00150 1\n301 0  CR93E-10505 -1\n")
    assert read_judgements(tmp_path / "qrels.txt") == {
        "301": {"FR940202-2-00150": 1, "CR93E-10505": -1}
    }


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("a b c d e\n", ":1: has 5 fields; write query, passage and grade"),
        ("q\tp\t1\nq\tp\tx\n", ":2: 'x' is no grade; write a whole number"),
        ("q\tp\t9999999999\nq\tp\t9999999999\n", ":2: '9999999999' is no grade"),
        ("query-id\tcorpus-id\tscore\n", ": holds no judgements"),
        (b"q\tp\t1\n\xff\tp\t1\n", ":2: is not UTF-8 text"),
    ],
)
def test_what_is_no_judgement_is_refused(tmp_path: Path, content: str | bytes, line: str) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_judgements(path)
    assert str(caught.value).removeprefix(str(path)).startswith(line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("nDCG", "--measure nDCG: is not NAME@K"),
        ("recall@0", "--measure recall@0: is not NAME@K with a K of 1 to 1,000"),
        ("recall@-1", "--measure recall@-1: is not NAME@K"),
        ("recal@5", "--measure recal@5: unknown measure 'recal'; did you mean recall?"),
        ("__import__('os')@1", "--measure __import__('os')@1: is not NAME@K"),
    ],
)
def test_measures_that_there_are_not_are_refused(text: str, line: str) -> None:
    with pytest.raises(InputError) as caught:
        RankingMeasure.parse(text)
    assert str(caught.value).startswith(line)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    folder = tmp_path / "set"
    (folder / "qrels").mkdir(parents=True)
    lines = [
        {"_id": id, "title": contents.partition("\n")[0], "text": contents.partition("\n")[2]}
        for id, contents in TWELVE.items()
    ]
    queries = {"q1": "volcano of Sicily", "q2": "games on a board", "q3": "unjudged"}
    for name, rows in (
        ("corpus", lines),
        ("queries", [{"_id": id, "text": text} for id, text in queries.items()]),
    ):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    header = "query-id\tcorpus-id\tscore\n"
    (folder / "qrels/test.tsv").write_text(f"{header}q1\tvolcano\t2\nq2\tchess\t1\nq2\tgo\t1\n")
    (folder / "qrels/dev.tsv").write_text(f"{header}q3\tmoon\t1\n")
    return folder


def invoke(*arguments: object) -> Result:
    result = CliRunner().invoke(corpus_app, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_a_folder_of_beir_is_evaluated(beir: Path, tmp_path: Path) -> None:
    build_corpus(f"beir:{beir}", tmp_path / "C")
    build_index(tmp_path / "C", "bm25")
    shown = invoke("eval", tmp_path / "C", "--questions", f"beir:{beir}", "--csv", tmp_path / "csv")
    assert "2 questions" in shown.stdout
    assert "bm25" in shown.stdout
    by_file = invoke("eval", tmp_path / "C", "--qrels", beir / "qrels/test.tsv", "--json")
    found = json.loads(by_file.stdout)
    (bm25,) = found["retrievers"]
    assert bm25["by_question"]["q1"]["MRR@10"] == 1.0
    assert bm25["by_question"]["q2"]["recall@3"] == 1.0
    assert bm25["means"]["nDCG@10"]["n"] == 2
    with (tmp_path / "csv/rankings.csv").open(newline="") as stream:
        rows = {row["question"]: row for row in csv.DictReader(stream)}
    for id, values in bm25["by_question"].items():
        assert {name: float(rows[id][name]) for name in values} == values
    with (tmp_path / "csv/retrievers.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert float(row["nDCG@10"]) == bm25["means"]["nDCG@10"]["mean"]


def test_another_split_is_named_by_its_file(beir: Path) -> None:
    questions = load_questions(f"beir:{beir / 'qrels/dev.tsv'}", require_gold=False).questions
    assert [(one.id, grades_of(one)) for one in questions] == [("q3", [{"moon": 1}])]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda folder: (folder / "queries.jsonl").unlink(), "there is no queries"),
        (
            lambda folder: (folder / "qrels/test.tsv").rename(folder / "qrels/train.tsv"),
            r"has judgements for dev, train, none for test; name one: beir:.*qrels/dev\.tsv",
        ),
        (
            lambda folder: (folder / "qrels/test.tsv").write_text("q9\tp\t1\n"),
            r"test\.tsv: 1 judged queries are not in queries\.jsonl, the first 'q9'",
        ),
        (
            lambda folder: [file.unlink() for file in (folder / "qrels").iterdir()],
            r"there is no qrels/test\.tsv; name the folder",
        ),
    ],
)
def test_a_folder_that_is_not_whole_is_refused(beir: Path, change: Any, line: str) -> None:
    change(beir)
    with pytest.raises(InputError, match=line):
        load_questions(f"beir:{beir}", require_gold=False)


def test_what_is_missing_is_said(beir: Path, tmp_path: Path) -> None:
    corpus = bm25_corpus(tmp_path, TWELVE)
    with pytest.raises(InputError, match="there is nothing to find; add --questions or --qrels"):
        invoke("eval", corpus)
    with pytest.raises(InputError, match=r"is what a corpus is built from.*--from beir:"):
        invoke("eval", beir, "--questions", f"beir:{beir}")
    with pytest.raises(InputError, match="the corpus has no index 'flat'"):
        invoke("eval", corpus, "--questions", f"beir:{beir}", "--retriever", "flat")


def test_a_retriever_that_fails_ends_it_with_one_line(beir: Path, tmp_path: Path) -> None:
    corpus = bm25_corpus(tmp_path, TWELVE)
    (tmp_path / "broken.py").write_text(
        "from branchwise import retriever\n\n\n@retriever\ndef broken():\n"
        '    """Fails after its test query."""\n    asked = []\n\n'
        "    def search(queries, k):\n        asked.extend(queries)\n"
        "        if len(asked) > 1:\n            raise ValueError('out of order')\n"
        "        return [[] for _ in queries]\n\n    return search\n"
    )
    result = invoke(
        *("eval", corpus, "--questions", f"beir:{beir}"),
        *("--retriever", f"{tmp_path / 'broken.py'}:broken"),
    )
    assert result.exit_code == 1
    assert "the retriever failed" in result.stderr
    assert "out of order" in result.stderr
