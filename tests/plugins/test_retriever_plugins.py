"""Retrievers as plug-ins: what is taken of them, what is refused, and that no run is harmed."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import branchwise
from branchwise.base.errors import InputError
from branchwise.base.plugins.specs import find_plugin
from branchwise.corpora.folder import Corpus
from branchwise.corpora.open import absolute_name, needs_corpus, open_retriever
from branchwise.corpora.passages import passage_id
from branchwise.corpora.plugin_retriever import PluginRetriever, open_plugin
from branchwise.corpora.retrieval import RetrieverError
from branchwise.graphs.system import System
from branchwise.runs.experiment import resume, run
from branchwise.tools.batcher import Batcher

HEAD = """import os, sys, threading, time
from pathlib import Path
from pydantic import BaseModel, Field
from branchwise import Corpus, retriever
"""

WORDS = '''
@retriever
def words(corpus: Corpus):
    """Passages by how many of the query's words they have."""
    passages = [corpus.passage(row) for row in range(len(corpus))]
    def search(queries, k):
        return [ranked(query.lower().split(), k) for query in queries]
    def ranked(wanted, k):
        scored = [(p, sum(w in p.contents.lower() for w in wanted)) for p in passages]
        return sorted(scored, key=lambda one: (-one[1], one[0].id))[:k]
    return search
'''

Write = Callable[..., str]

PASSAGES = {
    "heat-1995": "Heat (1995 film)\nHeat is a crime film that Michael Mann wrote and directed.",
    "heat-1986": "Heat (1986 film)\nHeat is a film with Burt Reynolds as a bodyguard.",
    "kong-1933": "King Kong (1933 film)\nMerian C. Cooper directed the first King Kong film.",
    "kong-1976": "King Kong (1976 film)\nJohn Guillermin directed the second King Kong film.",
}


QUESTION = json.dumps(
    {
        "id": "q",
        "question": "Who directed the second King Kong film?",
        "answers": {"default": ["John Guillermin"]},
    }
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four passages without an index."""
    folder = tmp_path_factory.mktemp("corpus")
    lines = [json.dumps({"id": id, "contents": text}) for id, text in PASSAGES.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a plug-in's file; returns the spec of what `name` names in it."""

    def _write(body: str, name: str = "found", file: str = "plugin.py") -> str:
        path = tmp_path / file
        path.write_text(HEAD + body)
        return f"{path}:{name}"

    return _write


def answering(expression: str) -> str:
    """A retriever whose search returns an expression over `queries` and `k`."""
    return f'''
@retriever(seconds=20)
def found():
    """Test."""
    return lambda queries, k: {expression}
'''


def opened(write: Write, expression: str) -> PluginRetriever:
    return open_plugin(write(answering(expression)))


def test_a_function_that_searches_a_corpus_is_a_retriever(
    write: Write, corpus: Path, tmp_path: Path
) -> None:
    found = open_retriever(corpus, write(WORDS, "words"))
    ranking = found.search(["second kong film", "bodyguard"], 2)
    assert [(hit.passage.id, hit.score) for hit in ranking[0]] == [
        ("kong-1976", 3.0),
        ("kong-1933", 2.0),
    ]
    assert [hit.passage.id for hit in ranking[1]] == ["heat-1986", "heat-1995"]
    assert ranking[1][0].passage.title == "Heat (1986 film)"
    source = find_plugin(f"{tmp_path}/plugin.py:words", "retrievers").source
    assert [*source.sha256] == ["plugin.py"]
    assert found.identity == {
        "kind": "plugin",
        "name": "words",
        "source": {"sha256": source.sha256},
        "corpus_sha256": Corpus.open(corpus).sha256,
    }


def test_its_own_identity_enters_the_identity(write: Write) -> None:
    body = '''
class Search:
    identity = {"model": "m", "layers": [1, 2]}
    def search(self, queries, k):
        return [[] for _ in queries]

@retriever
def found():
    """Test."""
    return Search()
'''
    assert open_plugin(write(body)).identity["own"] == {"model": "m", "layers": [1, 2]}
    with pytest.raises(InputError, match="its identity is not JSON"):
        open_plugin(write(body.replace("[1, 2]", "object()")))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("'p'", "returned str; return a list"),
        ("[]", "returned 0 rankings for 1 queries"),
        ("[{} for _ in queries]", "returned dict as a ranking"),
        ("[['text']]", "returned str as a passage"),
        ("[[{'title': 'T'}]]", "a passage with a wrong text: Field required"),
        ("[[{'id': 'a\\nb', 'text': 'x'}]]", r"the passage id 'a\\nb' cannot be shown"),
        ("[[{'id': 'x' * 201, 'text': 'x'}]]", "a wrong id: String should have at most 200"),
        ("[[{'text': 'x' * 10_000_000}]]", "a wrong text: String should have at most 200000"),
        ("[[{'text': 'a', 'score': .1}, {'text': 'b', 'score': .9}]]", "rises from 0.1 to 0.9"),
        ("[[{'text': 'same'}, {'text': 'same'}]]", "comes twice"),
        ("[[{'text': 'a', 'score': float('nan')}]]", "a wrong score: Input should be a finite"),
        ("1 / 0", "found: ZeroDivisionError: division by zero"),
    ],
)
def test_a_search_that_returns_something_else_is_refused_at_once(
    write: Write, expression: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as refused:
        opened(write, expression)
    assert "\n" not in str(refused.value)
    assert "plugin.py:" in str(refused.value)


@pytest.mark.parametrize(
    ("ranking", "expected"),
    [
        ("[{'id': str(n), 'text': 't'} for n in range(1000)]",
         [("0", "", "t", 1.0), ("1", "", "t", 0.5)]),
        ("({'id': 7, 'title': 'T\\ud800', 'text': '\\udfff!'},)",
         [("7", "T\ufffd", "\ufffd!", 1.0)]),
        ("[{'title': 'A', 'text': 'a'}, {'contents': 'B\\nb', 'score': 9}]",
         [(passage_id("A", "a"), "A", "a", 1.0), (passage_id("B", "b"), "B", "b", 0.5)]),
    ],
)  # fmt: skip
def test_passages_of_each_form_are_taken_and_at_most_k(
    write: Write, ranking: str, expected: list[tuple[str, str, str, float]]
) -> None:
    hits = opened(write, f"[{ranking} for _ in queries]").search(["q"], 2)[0]
    assert [(*dict(hit.passage).values(), hit.score) for hit in hits] == expected


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('@retriever\nasync def found():\n    """T."""', "found is async"),
        (
            '@retriever\ndef found(index):\n    """T."""',
            "nothing is given as the parameter 'index'",
        ),
        ('@retriever\ndef found():\n    """T."""\n    return 5', "returned int; return an object"),
        ('@retriever\ndef found():\n    """T."""\n    1 / 0', "ZeroDivisionError"),
        (
            '@retriever\ndef found():\n    """T."""\n    async def search(queries, k): ...\n'
            "    return search",
            "returned an async search",
        ),
    ],
)
def test_what_cannot_be_a_retriever_is_refused_in_one_line_that_says_where(
    write: Write, body: str, said: str
) -> None:
    with pytest.raises(InputError, match=said) as refused:
        open_plugin(write(body))
    assert "\n" not in str(refused.value)
    assert "plugin.py" in str(refused.value)


def test_a_retriever_over_a_corpus_needs_one(write: Write) -> None:
    with pytest.raises(InputError, match=r"words needs a corpus.*--corpus"):
        open_retriever(None, write(WORDS, "words"))
    optional = WORDS.replace("corpus: Corpus", "corpus: Path | None").replace(
        "[corpus.passage(row) for row in range(len(corpus))]", "[]"
    )
    assert open_retriever(None, write(optional, "words", "b.py")).search(["a"], 3) == [[]]


def test_settings_reach_it_and_its_identity(write: Write) -> None:
    body = '''
class Weights(BaseModel):
    title: float = Field(1.0, ge=0)

@retriever
def found(weights: Weights):
    """Test."""
    return lambda queries, k: [[{"text": "t", "score": weights.title}] for _ in queries]
'''
    spec = write(body)
    found = open_plugin(spec, settings={"found": {"title": 2.5}, "another": {"x": 1}})
    assert found.search(["q"], 1)[0][0].score == 2.5
    assert found.identity["settings"] == {"title": 2.5}
    assert open_plugin(spec).identity["settings"] == {"title": 1.0}


async def test_many_ask_and_it_meets_one_query_at_a_time_on_one_thread(write: Write) -> None:
    body = '''
@retriever
def found():
    """Test."""
    maker, inside = threading.get_ident(), threading.Lock()
    def search(queries, k):
        assert threading.get_ident() == maker
        assert inside.acquire(blocking=False)
        time.sleep(0)
        inside.release()
        return [[{"id": f"{len(queries)}", "text": queries[0]}]]
    return search
'''
    batcher = Batcher(open_plugin(write(body)))
    found = await asyncio.gather(*(batcher.search(f"q{n}", 3) for n in range(64)))
    assert [(hits[0].passage.id, hits[0].passage.text) for hits in found] == [
        ("1", f"q{n}") for n in range(64)
    ]


def test_more_queries_go_at_once_where_it_says_so(write: Write) -> None:
    body = answering("[[{'id': str(len(queries)), 'text': q}] for q in queries]")
    found = open_plugin(write(body.replace("seconds=20", "batch=3")))
    sizes = [ranking[0].passage.id for ranking in found.search([f"q{n}" for n in range(7)], 1)]
    assert sizes == ["3", "3", "3", "3", "3", "3", "1"]


async def test_a_query_that_it_fails_at_takes_no_other_with_it(write: Write) -> None:
    batcher = Batcher(opened(write, "[[{'id': 'p', 'text': str(1 / len(q))}] for q in queries]"))
    asked = ["aa", "", "bbbb"] * 5
    found = await asyncio.gather(*(batcher.search(q, 1) for q in asked), return_exceptions=True)
    for query, hits in zip(asked, found, strict=True):
        if query:
            assert not isinstance(hits, BaseException)
            assert hits[0].passage.text == str(1 / len(query))
        else:
            assert isinstance(hits, RetrieverError)
            assert str(hits) == "found: ZeroDivisionError: division by zero"


HANGS = '''
made = []

@retriever(seconds=0.2)
def found():
    """Test."""
    made.append(1)
    number = len(made)
    def search(queries, k):
        if "hang" in queries:
            threading.Event().wait()
        return [[{"id": f"made-{number}", "text": "t"}]]
    return search
'''


@pytest.mark.slow
def test_a_search_that_hangs_is_given_up_and_the_next_is_made_anew(write: Write) -> None:
    found = open_plugin(write(HANGS))
    assert found.search(["a"], 1)[0][0].passage.id == "made-1"
    with pytest.raises(RetrieverError, match=r"^found: no result within 0.2 seconds"):
        found.search(["hang"], 1)
    assert found.search(["a"], 1)[0][0].passage.id == "made-2"


def test_an_installed_retriever_is_found_by_its_name(
    tmp_path: Path, install: Callable[..., Path], corpus: Path
) -> None:
    install("bw_plug_words", HEAD + WORDS, {"by-words": "words"}, "1.2", "branchwise.retrievers")
    assert not needs_corpus("by-words")
    assert needs_corpus("by-word")
    assert absolute_name("by-words") == "by-words"
    found = open_retriever(corpus, "by-words")
    assert found.search(["bodyguard"], 1)[0][0].passage.id == "heat-1986"
    assert found.identity["source"]["distribution"] == "bw_plug_words==1.2"

    index = tmp_path / "C" / "index" / "by-words"
    index.mkdir(parents=True)
    (index / "manifest.json").write_text("{}")
    (tmp_path / "C" / "corpus.jsonl").write_text((corpus / "corpus.jsonl").read_text())
    with pytest.raises(InputError, match="an index of the corpus and an installed plug-in"):
        open_retriever(tmp_path / "C", "by-words")


@pytest.mark.slow
def test_a_run_searches_with_it_and_is_resumed_from_another_folder(
    write: Write, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(WORDS, "words")
    questions = tmp_path / "q.jsonl"
    questions.write_text(QUESTION)
    monkeypatch.chdir(tmp_path)
    system = System(model="offline", corpus=str(corpus), retriever="plugin.py:words")
    made = run(str(questions), system, out=tmp_path / "R")
    reader = made.open()
    (item,) = reader.answered_items()
    assert item.error is None
    assert "kong-1976" in item.evidence.passages
    assert reader.system["retriever"] == f"{tmp_path / 'plugin.py'}:words"
    reader.close()
    assert branchwise.score(made).aggregates["all"]["support_recall_all"].n == 0

    monkeypatch.chdir("/")
    assert resume(tmp_path / "R").state.stopped is None
    write(WORDS.replace("-one[1]", "one[1]"), "words")
    with pytest.raises(InputError, match="changed: retriever"):
        resume(tmp_path / "R")


@pytest.mark.slow
def test_a_study_varies_it_and_its_metrics_stand_in_its_report(
    write: Write, corpus: Path, tmp_path: Path, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    write(WORDS, "words")
    write(WORDS.replace("sum(w in", "-sum(w in").replace("def words", "def fewest"), file="few.py")
    (tmp_path / "metrics.py").write_text(
        "from branchwise import metric\n\n"
        '@metric\ndef shown(item):\n    "Passages shown."\n'
        "    return len(item.evidence.passages)\n"
    )
    (tmp_path / "q.jsonl").write_text(QUESTION)
    study = tmp_path / "study.yaml"
    study.write_text(f"""
name: retrievers
questions: q.jsonl
metrics: ["metrics.py:shown"]
base: {{corpus: {corpus}, k: 1}}
factors: {{retriever: ["plugin.py:words", "few.py:fewest"]}}
""")
    code, out, err = type_in("ablate", study, "--out", tmp_path / "S")
    assert code == 0, err
    assert "shown: Passages shown" in out
    code, out, err = type_in("report", tmp_path / "S", "--json")
    assert code == 0, err
    assert [run["aggregates"]["all"]["shown"]["n"] for run in json.loads(out)] == [1, 1]

    study.write_text(study.read_text().replace("few.py:fewest", "plugin.py:word"))
    code, _, err = type_in("ablate", study, "--out", tmp_path / "T")
    assert code == 2
    assert "study.yaml:6: retriever: it does not define 'word'; it has words" in err
