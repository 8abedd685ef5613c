"""Retrievers as plug-ins: what is taken of them, what is refused, and that no run is harmed."""

import asyncio
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import branchwise
from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.open import absolute_name, needs_corpus, open_retriever
from branchwise.corpora.passages import make_passage
from branchwise.corpora.plugin_retriever import (
    PluginRetriever,
    open_plugin,
)
from branchwise.corpora.retrieval import RetrieverError
from branchwise.eval.experiment import resume, run
from branchwise.graphs.system import System
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


def test_a_function_that_searches_a_corpus_is_a_retriever(write: Write, corpus: Path) -> None:
    found = open_retriever(corpus, write(WORDS, "words"))
    ranking = found.search(["second kong film", "bodyguard"], 2)
    assert [(hit.passage.id, hit.score) for hit in ranking[0]] == [
        ("kong-1976", 3.0),
        ("kong-1933", 2.0),
    ]
    assert [hit.passage.id for hit in ranking[1]] == ["heat-1986", "heat-1995"]
    assert ranking[1][0].passage.title == "Heat (1986 film)"


def test_identity_has_source_and_corpus_and_no_path(
    write: Write, corpus: Path, tmp_path: Path
) -> None:
    spec = write(WORDS, "words")
    source = hashlib.sha256((tmp_path / "plugin.py").read_bytes()).hexdigest()
    assert open_retriever(corpus, spec).identity == {
        "kind": "plugin",
        "name": "words",
        "source": {"sha256": {"plugin.py": source}},
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
    with pytest.raises(InputError, match="the identity of found is not JSON"):
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


def test_what_is_too_much_is_cut_and_too_little_is_taken(write: Write) -> None:
    many = opened(write, "[[{'id': str(n), 'text': 't'} for n in range(1000)] for _ in queries]")
    assert [hit.passage.id for hit in many.search(["a"], 4)[0]] == ["0", "1", "2", "3"]
    few = opened(write, "[({'id': 7, 'text': 'only'},) for _ in queries]")
    (hit,) = few.search(["a"], 50)[0]
    assert (hit.passage.id, hit.passage.text, hit.score) == ("7", "only", 1.0)


def test_passages_without_scores_or_ids_get_ranks_and_hashes(write: Write) -> None:
    found = opened(
        write, "[[{'title': 'A', 'text': 'a'}, {'contents': 'B\\nb', 'score': 9}] for _ in queries]"
    )
    first, second = found.search(["q"], 2)[0]
    assert (first.passage, second.passage) == (make_passage("A", "a"), make_passage("B", "b"))
    assert (first.score, second.score) == (1.0, 0.5)


def test_half_characters_become_whole_ones(write: Write) -> None:
    found = opened(
        write, "[[{'id': 'p', 'title': 'T\\ud800', 'text': '\\udfff!'}] for _ in queries]"
    )
    (hit,) = found.search(["q"], 1)[0]
    assert (hit.passage.title, hit.passage.text) == ("T\ufffd", "\ufffd!")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('@retriever\nasync def found():\n    """T."""', "found is async"),
        (
            '@retriever\ndef found(index):\n    """T."""',
            "nothing is given as the parameter 'index'",
        ),
        ('@retriever(seconds=0)\ndef found():\n    """T."""', "seconds is 0"),
        ('@retriever(batch="2")\ndef found():\n    """T."""', "batch is '2'"),
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


SETTINGS = '''
class Weights(BaseModel):
    title: float = Field(1.0, ge=0)

@retriever
def found(weights: Weights):
    """Test."""
    return lambda queries, k: [[{"id": "p", "text": "t", "score": weights.title}] for _ in queries]
'''


def test_settings_reach_it_and_its_identity(write: Write) -> None:
    spec = write(SETTINGS)
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


def test_a_search_that_hangs_is_given_up_and_the_next_is_made_anew(write: Write) -> None:
    found = open_plugin(write(HANGS))
    assert found.search(["a"], 1)[0][0].passage.id == "made-1"
    with pytest.raises(RetrieverError, match=r"^found: no result within 0.2 seconds"):
        found.search(["hang"], 1)
    assert found.search(["a"], 1)[0][0].passage.id == "made-2"


@pytest.mark.usefixtures("process")
def test_a_search_that_hangs_does_not_hold_the_end_of_the_process(
    write: Write, tmp_path: Path
) -> None:
    mark = str(tmp_path / "hanging")
    hangs = f"open({mark!r}, 'w').close(); threading.Event()"
    spec = write(HANGS.replace("seconds=0.2", "seconds=3000").replace("threading.Event()", hangs))
    code = f"""
import asyncio
import os
from branchwise.corpora.plugin_retriever import open_plugin
from branchwise.tools.batcher import Batcher

async def main():
    batcher = Batcher(open_plugin({spec!r}))
    waiting = [asyncio.ensure_future(batcher.search(q, 1)) for q in ("hang", "a")]
    while not os.path.exists({mark!r}):
        await asyncio.sleep(0.01)
    for one in waiting:
        one.cancel()

asyncio.run(main())
print("ended")
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "ended\n"), ended.stderr


def test_threads_end_with_the_retriever(write: Write) -> None:
    before = set(threading.enumerate())
    found = opened(write, "[[] for _ in queries]")
    begun = set(threading.enumerate()) - before
    assert all(thread.daemon for thread in begun)
    del found
    for thread in begun:
        thread.join(60)
        assert not thread.is_alive()


def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    """A distribution with one retriever, where Python looks for distributions."""
    folder = tmp_path / f"site-{package}"
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(HEAD + WORDS)
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[branchwise.retrievers]\n{name} = {package}:words\n")
    (info / "RECORD").write_text("")
    monkeypatch.syspath_prepend(str(folder))


def test_an_installed_retriever_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    installed(tmp_path, monkeypatch, "words_alone", "by-words")
    assert not needs_corpus("by-words")
    assert needs_corpus("by-word")
    found = open_retriever(corpus, "by-words")
    assert found.search(["bodyguard"], 1)[0][0].passage.id == "heat-1986"
    assert found.identity["source"]["distribution"] == "words_alone==1.2"
    assert absolute_name("by-words") == "by-words"


def test_a_name_that_two_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    installed(tmp_path, monkeypatch, "words_two", "twice")
    index = tmp_path / "C" / "index" / "twice"
    index.mkdir(parents=True)
    (index / "manifest.json").write_text("{}")
    (tmp_path / "C" / "corpus.jsonl").write_text((corpus / "corpus.jsonl").read_text())
    with pytest.raises(InputError, match="an index of the corpus and an installed plug-in"):
        open_retriever(tmp_path / "C", "twice")
    installed(tmp_path, monkeypatch, "words_three", "twice")
    with pytest.raises(InputError, match=r"words_three==1.2 and words_two==1.2|two==1.2 and"):
        open_retriever(corpus, "twice")


def test_a_run_searches_with_it_and_is_resumed_from_another_folder(
    write: Write, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(WORDS, "words")
    questions = tmp_path / "q.jsonl"
    line = {"id": "q", "question": "Who directed the second King Kong film?"}
    questions.write_text(json.dumps({**line, "answers": {"default": ["John Guillermin"]}}))
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
    write(WORDS + "\n# changed\n", "words")
    with pytest.raises(InputError, match="changed: retriever"):
        resume(tmp_path / "R")
    (tmp_path / "plugin.py").unlink()
    with pytest.raises(InputError, match=r"no such file: .*plugin.py"):
        resume(tmp_path / "R")


def test_a_study_varies_it_and_its_metrics_stand_in_its_report(
    write: Write, corpus: Path, tmp_path: Path, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    write(WORDS, "words")
    turned = WORDS.replace("sum(w in", "-sum(w in").replace("def words", "def fewest")
    write(turned, file="fewest.py")
    (tmp_path / "metrics.py").write_text(
        "from branchwise import metric\n\n"
        "@metric\ndef shown(item):\n"
        '    """Passages that the agent was shown."""\n'
        "    return len(item.evidence.passages)\n"
    )
    line = {"id": "q", "question": "Who directed the second King Kong film?"}
    (tmp_path / "q.jsonl").write_text(json.dumps({**line, "answers": {"default": ["Guillermin"]}}))
    (tmp_path / "study.yaml").write_text(f"""
name: retrievers
questions: q.jsonl
metrics: ["metrics.py:shown"]
base: {{corpus: {corpus}, k: 1}}
factors: {{retriever: ["plugin.py:words", "fewest.py:fewest"]}}
""")
    code, out, err = type_in("ablate", tmp_path / "study.yaml", "--out", tmp_path / "S")
    assert code == 0, err
    assert "further metrics" in out
    assert "shown: Passages that the agent was shown" in out
    code, out, err = type_in("report", tmp_path / "S", "--json")
    assert code == 0, err
    assert [run["aggregates"]["all"]["shown"]["n"] for run in json.loads(out)] == [1, 1]


def test_a_study_refuses_a_retriever_that_is_not_there_by_its_line(
    write: Write, corpus: Path, tmp_path: Path, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    write(WORDS, "words")
    (tmp_path / "q.jsonl").write_text('{"id": "q", "question": "?", "answers": {"default": ["A"]}}')
    (tmp_path / "study.yaml").write_text(
        f"name: n\nquestions: q.jsonl\nbase:\n  corpus: {corpus}\n"
        "factors:\n  retriever:\n    - plugin.py:words\n    - plugin.py:word\n"
    )
    code, _, err = type_in("ablate", tmp_path / "study.yaml", "--out", tmp_path / "S")
    assert code == 2
    assert "study.yaml:8: retriever: it does not define 'word'; it has words" in err
