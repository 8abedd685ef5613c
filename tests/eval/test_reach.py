import json
import shutil
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest

from branchwise.corpora.folder import Corpus
from branchwise.corpora.questions import Answer, Branch, Question
from branchwise.eval.branch_scores import GoldPair
from branchwise.eval.reach import Reach, find_reach, reach_key
from branchwise.eval.sources import SearchedCorpus, SearchedKg, Sources, run_sources
from branchwise.kg.build import build_kg
from branchwise.kg.store import read_description

PASSAGES = {
    "p1": '"Heat (1995 film)"\nMichael Mann directed it.',
    "p2": "Heat (1986 film)\nDick Richards directed this one, as its posters say.",
    "p3": "Cats\nCats sleep for most of the day.",
}
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
ENTITY = "http://www.wikidata.org/entity/"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "C", PASSAGES)


def write_corpus(folder: Path, passages: dict[str, str], **more: Any) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [{"id": id, "contents": contents, **more} for id, contents in passages.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.fixture(scope="session")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of Q1, which has a label and a triple, Q2, an object, and an IRI of its own."""
    folder = tmp_path_factory.mktemp("reach")
    triples = [
        f'<{ENTITY}Q1> {LABEL} "Michael Mann" .',
        f"<{ENTITY}Q1> <http://www.wikidata.org/prop/direct/P31> <{ENTITY}Q2> .",
        f'<http://films.example/heat> {LABEL} "Heat" .',
    ]
    (folder / "g.nt").write_text("\n".join(triples) + "\n")
    build_kg([folder / "g.nt"], folder / "kg")
    return folder / "kg"


def question(id: str, *answers: Answer) -> Question:
    return Question(id=id, question="Who?", branches=(Branch(name="default", answers=answers),))


def by(name: str, *support: str, qid: str | None = None) -> Answer:
    return Answer(text=name, support=support, qid=qid)


def within(found: Reach, question: Question) -> list[bool | None]:
    """Reach of a question's answers, in their order; gold pairs are numbered by name."""
    names = [answer.text for answer in question.branches[0].answers]
    return [found.of((question.id, 0), GoldPair(0, sorted(names).index(name))) for name in names]


def reached(sources: Sources, *answers: Answer, **options: bool) -> list[bool | None]:
    asked = question("q", *answers)
    return within(find_reach([asked], sources, **options), asked)


def searched(path: Path, sha256: str | None = None) -> Sources:
    return Sources(corpus=SearchedCorpus(path, sha256))


def asked(address: str | None, sha256: str | None = None) -> Sources:
    return Sources(kg=SearchedKg(address, sha256))


def test_an_answer_is_within_reach_if_any_passage_that_supports_it_is_there(corpus: Path) -> None:
    answers = (by("A", "p1"), by("B", "gone", "p3"), by("C", "gone", "None"), by("D"))
    assert reached(searched(corpus), *answers) == [True, True, False, None]


def test_passages_are_known_by_their_content_hash_too(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "H", PASSAGES, hash="cafe")
    answers = by("A", "cafe"), by("B", "p1"), by("C", "x")
    assert reached(searched(corpus), *answers) == [True, True, False]


def test_where_all_supporting_passages_are_missing_they_are_another_corpus_s(corpus: Path) -> None:
    asked = question("q", by("Michael Mann", "w1"), by("Nobody", "w2"))
    found = find_reach([asked], searched(corpus))
    assert within(found, asked) == [None, None]
    assert len(found.unknown) == 1
    assert "2 gold answers" in found.unknown[0]
    assert within(find_reach([asked], searched(corpus), seconds=inf), asked) == [True, False]


def test_mentions_decide_where_gold_names_no_support_and_only_on_request(corpus: Path) -> None:
    answers = (
        Answer(text="M. Mann", aliases=("Michael Mann",)), by("Heat (1986 film)"),
        by("Ridley Scott"), by("Dick Richards", "gone"), by("Al Pacino", "p1"),
    )  # fmt: skip
    assert reached(searched(corpus), *answers) == [None, None, None, False, True]
    found = reached(searched(corpus), *answers, seconds=inf)
    assert found == [True, True, False, False, True]


def test_a_corpus_is_read_once_for_the_same_names_and_forgets_damage(corpus: Path) -> None:
    wanted = question("q", by("Michael Mann"), by("Nobody"))
    first = find_reach([wanted], searched(corpus), seconds=inf)
    assert first.passages["q", 0] == {GoldPair(0, 0): "p1"}
    (kept,) = (corpus / "mentions").iterdir()

    def reads() -> bool:
        seen: list[int] = []
        again = find_reach(
            [wanted], searched(corpus), seconds=inf, progress=lambda done, total: seen.append(done)
        )
        assert again == first
        return len(seen) > for_ids

    for_ids = len(calls_of(corpus, wanted, seconds=0))
    assert not reads()
    for damage in (b"", b"[[7, 1]]", b"{}", b"[[0]]"):
        kept.write_bytes(damage)
        assert reads(), damage
    kept.unlink()
    kept.mkdir()  # what cannot be written is read again
    assert reads()


def calls_of(corpus: Path, wanted: Question, seconds: float) -> list[int]:
    """What is told of the progress."""
    seen: list[int] = []
    find_reach(
        [wanted], searched(corpus), seconds=seconds, progress=lambda done, total: seen.append(done)
    )
    return seen


def test_a_corpus_that_takes_long_to_read_is_left_unread(corpus, monkeypatch):
    hours = iter(range(0, 36_000, 3_600))
    monkeypatch.setattr("branchwise.eval.sources.time.monotonic", lambda: next(hours))
    wanted = question("q", by("Michael Mann"))
    with pytest.warns(UserWarning, match="takes about 360 minutes; to read it: branchwise score"):
        found = find_reach([wanted], searched(corpus), seconds=60)
    assert within(found, wanted) == [None]
    assert "takes about 360 minutes: --scan-corpus" in found.unknown[0]
    assert not (corpus / "mentions").exists()


def test_an_id_in_the_graph_is_within_reach(graph: Path) -> None:
    answers = (
        by("A", qid="Q1"), by("B", qid="Q2"), by("C", qid="Q3"),
        by("D", qid="<http://films.example/heat>"), by("E", qid="' OR 1=1 --"), by("1995"),
    )  # fmt: skip
    assert reached(asked(str(graph)), *answers) == [True, True, False, True, False, None]


def test_one_source_that_has_it_is_enough_and_one_unknown_leaves_it_open(corpus, graph):
    both = Sources(SearchedCorpus(corpus), SearchedKg(str(graph)))
    answers = (
        by("A", "p1", qid="Q3"), by("B", "gone", qid="Q1"), by("C", "gone", qid="Q4"),
        by("D", "gone"), by("E", qid="Q5"),
    )  # fmt: skip
    assert reached(both, *answers) == [True, True, False, None, None]


def test_what_a_plug_in_could_give_is_unknown(corpus: Path) -> None:
    asked = question("q", by("A", "p1"), by("B", "gone"))
    found = find_reach([asked], Sources(SearchedCorpus(corpus), others=("web_search",)))
    assert within(found, asked) == [True, None]
    assert found.unknown == (
        "reach of 1 gold answer is unknown: what the tool web_search could give is not known",
    )


def test_an_endpoint_is_not_asked() -> None:
    found = find_reach([question("q", by("A", qid="Q1"))], asked("http://127.0.0.1:9/sparql"))
    assert found.of(("q", 0), GoldPair(0, 0)) is None
    assert "endpoint" in found.unknown[0]
    assert found.final


def test_a_source_that_is_gone_or_another_is_unknown_and_not_to_be_kept(corpus, graph, tmp_path):
    asked_for = question("q", by("A", "p1", qid="Q1"))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "corpus.jsonl").write_text('{"id": "p1"}\n')
    for sources, said in (
        (searched(tmp_path / "moved"), "no corpus here"),
        (searched(tmp_path / "bad"), "contents"),
        (searched(corpus, "0" * 64), "no longer the corpus"),
        (asked(str(tmp_path / "moved")), "no such folder"),
        (asked(str(graph), "0" * 64), "no longer the graph"),
    ):
        found = find_reach([asked_for], sources)
        assert within(found, asked_for) == [None]
        assert not found.final
        assert said in found.unknown[0]
        assert "\n" not in found.unknown[0]
    for unnamed in (Sources(SearchedCorpus()), asked(None)):
        found = find_reach([asked_for], unnamed)
        assert found.final
        assert "does not say" in found.unknown[0]


def test_a_damaged_index_of_names_is_unknown(graph: Path, tmp_path: Path) -> None:
    damaged = shutil.copytree(graph, tmp_path / "kg")
    names = damaged / "names.sqlite"
    for content in (b"not a database", names.read_bytes()[:5000]):
        names.write_bytes(content)
        found = find_reach([question("q", by("A", qid="Q1"))], asked(str(damaged)))
        assert (found.of(("q", 0), GoldPair(0, 0)), found.final) == (None, False)
        assert "the graph cannot be read" in found.unknown[0]


def test_the_digest_of_the_right_corpus_and_graph_is_accepted(corpus: Path, graph: Path) -> None:
    corpus_sha256 = Corpus.open(corpus).sha256
    assert reached(searched(corpus, corpus_sha256), by("A", "p1")) == [True]
    kg_sha256 = read_description(graph).sha256
    assert reached(asked(str(graph), kg_sha256), by("A", qid="Q1")) == [True]


def test_the_key_depends_on_what_is_looked_up_where_but_not_on_paths(corpus: Path) -> None:
    questions = [question("q", by("A", "p1"))]
    here = Sources(SearchedCorpus(corpus, "1"), SearchedKg("kg", "2"), ("t",))
    moved = Sources(SearchedCorpus(Path("elsewhere"), "1"), SearchedKg("other", "2"), ("t",))
    key = reach_key(questions, here)
    assert reach_key(questions, moved) == key
    others = [
        reach_key([question("q", by("A", "p2"))], here),
        reach_key([question("q", by("B", "p1"))], here),
        reach_key([question("r", by("A", "p1"))], here),
        reach_key(questions, Sources(SearchedCorpus(corpus, "9"), here.kg, ("t",))),
        reach_key(questions, Sources(here.corpus, None, ("t",))),
        reach_key(questions, Sources(here.corpus, here.kg)),
    ]
    assert len({key, *others}) == len(others) + 1


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def meta(tools: Sequence[str], retriever: Any = None, kg: Any = None) -> dict[str, Any]:
    system = {"corpus": "/data/C", "kg": "/data/kg"}
    identity = {"tools": [tool(name) for name in tools], "retriever": retriever}
    return {"system": system, "identity": identity | ({"kg": kg} if kg else {})}


def test_sources_of_a_run_are_those_that_its_tools_ask() -> None:
    kg = {"kg": "embedded", "sha256": "22"}
    flat = {"kind": "flat", "corpus_sha256": "11"}
    hybrid = {"kind": "hybrid", "parts": [flat, {"kind": "bm25", "corpus_sha256": "11"}]}
    corpus, graph = SearchedCorpus(Path("/data/C"), "11"), SearchedKg("/data/kg", "22")
    for retriever in (flat, hybrid):
        found = run_sources(meta(["local_retriever", "wikisparql", "mine"], retriever, kg))
        assert found == Sources(corpus, graph, ("mine",))
    assert run_sources(meta(["wikidata_search"], flat, kg)) == Sources(None, graph)
    assert run_sources(meta([])) == Sources()
    moved = run_sources(meta(["local_retriever"], flat), corpus=Path("/new"), kg="/kg")
    assert moved == Sources(SearchedCorpus(Path("/new"), "11"))
