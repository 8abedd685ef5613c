"""A study file is read whole, or refused in one line with its place and the nearest right name."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.errors import InputError
from branchwise.runs.studies.schema import load_study
from branchwise.runs.studies.shared import sets_of
from branchwise.runs.studies.study import Study
from support.corpora.published_sets import SAMPLES
from support.eval.study_cases import (
    BASE,
    KG,
    load,
    refusal,
    refusal_of,
    refusal_of_text,
    write_study,
    write_text,
)

TEXT = """\
name: modules   # line 1
questions: questions.jsonl
base:
  corpus: corpus
  kg: graph
  tools: [local_retriever]
  k: 5
factors:
  expansion: [off, on]
  k:
    - 3
    - 15
"""


def changed(parts: Path, old: str, new: str) -> str:
    """The refusal of TEXT with one thing changed."""
    assert TEXT.count(old) == 1
    return refusal_of_text(parts, TEXT.replace(old, new))


def test_on_and_off_are_booleans_and_places_have_lines(parts: Path) -> None:
    loaded = load_study(write_text(parts, TEXT))
    assert loaded.study.factors == {"expansion": (False, True), "k": (3, 15)}
    assert loaded.study.base == {
        "corpus": "corpus", "kg": "graph", "tools": ("local_retriever",), "k": 5,
    }  # fmt: skip
    assert loaded.where("factors", "k", 1) == f"{parts}/study.yaml:12"
    assert loaded.where("base", "tools", 0) == f"{parts}/study.yaml:6"
    assert loaded.where("base", "nothing of the kind") == f"{parts}/study.yaml:3"
    assert loaded.where("concurrency") == f"{parts}/study.yaml:1"


@pytest.mark.parametrize(("written", "seconds"), [("90s", 90.0), ("2m", 120.0), (5, 5.0), (0, 0.0)])
def test_patience_is_a_duration(parts: Path, written: object, seconds: float) -> None:
    assert load(parts, patience=written).study.patience == seconds


def test_a_study_is_read_back_from_its_json(parts: Path) -> None:
    given = {
        "questions": {"source": "questions.jsonl", "ids": ["q1", "q2"], "epochs": 3},
        "factors": {"tools": [["local_retriever"], [], None], "temperature": [0, 0.7, None]},
        "base": {**BASE, "structured": False, "model": "openai:gpt-6-luna"},
        "max_cost": 2,
    }
    study = load(parts, **given).study
    assert study.base["structured"] == "off"
    assert Study.model_validate(study.to_json()) == study


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("expansion:", "expnsion:", "9: unknown factor 'expnsion'; did you mean expansion?"),
        ("factors:", "factor:", "8: unknown key 'factor'; did you mean factors?"),
        ("  kg:", "  knowledge: ", "5: unknown key 'knowledge'; known are model, "),
        ("  kg: graph", "  design: vary", "5: unknown key 'design'; write it at the top of"),
        ("  kg: graph", "  epochs: 3", "5: unknown key 'epochs'; write it below questions"),
        ("factors:", "k: 5\nfactors:", "8: unknown key 'k'; write it below base"),
        ("  kg: graph", "kg: graph", "6: is not YAML (mapping values are not allowed here)"),
        ("expansion: [", "matcher: [", "9: unknown factor 'matcher'; all systems are scored"),
        ("  k: 5", "  k: 5\n  k: 5", "8: 'k' is repeated here, first in line 7"),
        ("name: modules ", "name: a name ", "1: name is 'a name'; write letters, digits"),
        ("name: modules ", "name: 2026-01-02 ", "1: name is 2026-01-02; put it in quotes"),
        ("[off, on]", "[off, offf]", "9: expansion is 'offf'; write on or off"),
        ("[off, on]", "[off]", "9: expansion has one value; name two values at least"),
        ("[off, on]", "[on, on]", "9: expansion has the value on twice; keep one of them"),
        ("[off, on]", "on", "9: expansion is on; write a list of values, as in [on, ...]"),
        ("    - 15", "    - 99", "12: k is 99; write at most 50"),
        ("    - 15", "    - ten", "12: k is 'ten'; write a whole number"),
        ("    - 15", "    - 3", "10: k has the value 3 twice; keep one of them"),
        ("k: 5", "k: '5'", "7: k is '5'; write a whole number"),
        ("k: 5", "timeout: 0", "7: timeout is 0; write more than 0"),
        ("k: 5", "max_seconds: .inf", "7: max_seconds is inf; write a finite number"),
        ("k: 5", f"seed: {10**30}", "7: seed is 1000000000000000000000000000000; write at most"),
        ("k: 5", "model:", "7: model is empty; write a text"),
        ("k: 5", "model: ''", "7: model is empty; leave it out"),
        ("k: 5", 'prompts: "a\\0b"', "7: prompts holds control characters; write it without them"),
        ("k: 5", "tool_protocol: nativ", "7: tool_protocol is 'nativ'; did you mean native?"),
        ("k: 5", "models: [offline]", "7: models has one value; name two models at least, or wr"),
        ("k: 5", "models: offline", "7: models is 'offline'; write a list, as in [offline]"),
        ("k: 5", "models: [openai:a, offline, ' offline']",
         "7: the models 'offline' and ' offline' are the same; keep one of them"),
        ("k: 5", "models: [offline, ofline]", "7: model: unknown model 'ofline'; did you mean off"),
        ("k: 5", "model: openai:a\n  models: [offline, openai:b]",
         "8: models stands beside model; keep one of model and models"),
        ("  expansion: [off, on]", "  models: [offline, openai:b]",
         "9: unknown factor 'models'; write it below base"),
        ("factors:", "models: [offline, openai:b]\nfactors:",
         "8: unknown key 'models'; write it below base"),
        ("  k: 5\nfactors:",
         "  models: [offline, openai:a]\nfactors:\n  model: [offline, openai:b]",
         "9: model is a factor beside models in base; leave it out, or write model: in base"),
        ("[local_retriever]", "local_retriever", "6: tools is 'local_retriever'; write a list, as"),
        ("  expansion: [off, on]", "  tools: [local_retriever, wikisparql]",
         "9: tools is 'local_retriever'; each value of tools is a list of tools: write [["),
        ("questions: questions.jsonl", "questions: [[a]]", "2: questions is a list; write keys"),
        ("questions: questions.jsonl", "questions: []", "2: questions names no set; write"),
        ("questions: questions.jsonl", "questions: [questions.jsonl, {limit: 3}]",
         "2: source is missing"),
        ("questions: questions.jsonl", "questions:\n- questions.jsonl\n- {source: q.jsonl}",
         "4: questions: no such file: 'q.jsonl'"),
        ("questions: questions.jsonl",
         "questions:\n- {source: questions.jsonl, name: a}\n- {source: questions.jsonl, name: a}",
         "4: two sets are called a; choose another name"),
        ("questions: questions.jsonl", "questions: {limit: 3}", "2: source is missing; write"),
        ("questions: questions.jsonl", "max_cost: 3", "1: questions is missing; write questions:"),
        ("tools: [local_retriever]", "tools: [wikisparkl]", "6: unknown tool"),
        ("[off, on]", "[off, on]\n  tools:\n    - [local_retriever]\n    - [x]", "12: unknown"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(parts, old, new, expected):
    assert changed(parts, old, new).startswith(expected)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"questions": "question.jsonl"}, "questions: no such file: 'question.jsonl'; did you mean "
         "questions.jsonl?"),
        ({"questions": "corpus"}, "questions: is a folder: 'corpus'; name a file"),
        ({"questions": "/dev/zero"}, "questions: is not a file: '/dev/zero'; name a file"),
        ({"base": {**BASE, "corpus": "a" * 1900}}, "corpus: no such folder: 'aaa"),
        ({"base": {**BASE, "corpus": "a" * 99_999}}, "corpus is longer than 2,000 characters"),
        ({"base": {**BASE, "prompts": "prices.yaml"}}, "prompts: is not a folder: 'prices.yaml'; "
         "name a folder"),
        ({"base": {**BASE, "kg": "http://[::1"}}, "kg: is not an address; write https://HOST/PATH"),
        ({"factors": {"seed": list(range(300))}}, "seed has 300 values; name at most 256"),
        ({"matcher": "llm:"}, "matcher: unknown model ''"),
        ({"patience": "soon"}, "patience is not a duration; write seconds, or a number with s, m"),
        ({"questions": {"source": "questions.jsonl", "ids": "id.txt"}}, "ids: no such file"),
        ({"questions": "condambigqa:none.json"}, "questions: no such file: 'condambigqa:none"),
        ({"prices": "price.yaml"}, "prices: no such file: 'price.yaml'; did you mean prices.yaml?"),
        ({"matcher": "lexicl"}, "matcher: unknown matcher 'lexicl'; did you mean lexical?"),
        ({"matcher": "llm"}, "offline cannot be the matcher: it is not a model; name a model"),
        ({"base": {**BASE, "model": "openai:sk-abc def"}}, "model: unknown model 'openai:***"),
        ({"variant": "greedy"}, "variant: unknown variant 'greedy'; known are one-to-one, "),
        ({"judge_pairs": "aligned"}, "judge_pairs has no effect: nothing is graded; name a judge"),
        ({"base": {**BASE, "model": "ofline"}}, "model: unknown model 'ofline'; did you mean "
         "offline?"),
        ({"base": {**BASE, "model": "openai:x@http://u:pw@h:1/v1"}}, "model: the model's base URL "
         "carries credentials"),
        ({"base": {**BASE, "tools": ["local_retriver"]}}, "unknown tool 'local_retriver'; did "
         "you mean local_retriever?"),
        ({"base": {**BASE, "tools": ["wikisparql", "wikisparql"]}}, "the tool wikisparql is listed "
         "twice"),
        ({"base": {**BASE, "retriever": "bm52"}}, "unknown retriever 'bm52'; did you mean "
         "bm25?"),
        ({"base": {**BASE, "retriever": "flat"}}, "the corpus has no index 'flat' (it has bm25); "
         "make it: branchwise corpus index "),
        ({"base": {**BASE, "retriever": "flashrag:none.yaml"}}, "retriever: no such file: 'none."),
        ({"base": {**BASE, "retriever": "http://u:pw@h:1/retrieve"}}, "retriever: "),
        ({"base": {**BASE, "retriever": "http://h:1"},
          "factors": {"retriever": ["http://h:1", "http:http://h:1/retrieve"]}},
         "the systems 'base' and 'retriever=http:http://h:1/retrieve' are the same"),
        ({"base": {**BASE, "corpus": "graph"}}, "corpus 'graph': no corpus here"),
        ({"base": {**BASE, "kg": "corpus"}}, "kg 'corpus': no graph here; build one with"),
        ({"base": {**BASE, "kg": "https://u:pw@host/sparql"}}, "kg: the endpoint's address "
         "contains a user"),
        ({"base": {"tools": ["local_retriever"]}}, "the tool local_retriever has no corpus to "
         "search; add corpus: DIR to base"),
        ({"base": {"corpus": "corpus"}, "factors": {"tools": [["local_retriever"], KG]}},
         "the tool wikisparql has no graph to query "
         "(system 'tools: +wikisparql +wikidata_search'); add kg: DIR or URL to base"),
        ({"base": {"k": 5}}, "k: needs a corpus to search; add corpus: DIR to base"),
        ({"base": {}, "factors": {"extraction": [False, True]}}, "extraction: no tool "
         "returns passages to extract evidence from (system '+extraction')"),
        ({"base": {**BASE, "expander": "openai:a"}, "factors": {"k": [3, 15]}}, "no expander is "
         "used: expansion is off in every system; write expansion: on in base"),
        ({"base": {"corpus": "corpus", "models": ["offline", "openai:a"]},
          "factors": {"tools": [["local_retriever"], KG]}}, "the tool wikisparql has no graph "
         "to query (system 'offline, tools: +wikisparql +wikidata_search')"),
        ({"base": {**BASE, "models": [f"openai:m{n}" for n in range(60)]},
          "factors": {"k": [5, 3, 4, 6, 7]}}, "comes to 300 systems; at most 256: write design: "
         "vary, or fewer models or values"),
        ({"factors": {"expansion": [False, True], "readings_from": ["memory", "search"]}},
         "the systems 'base' and 'readings_from=search' are the same; expansion is off in both"),
        ({"base": {"expansion": True}, "factors": {"readings_from": ["memory", "search"]}},
         "the systems 'base' and 'readings_from=search' are the same; this readings_from changes"),
        ({"factors": {"retriever": [None, "bm25"]}}, "the systems 'base' and 'retriever=bm25' are "
         "the same; this retriever changes nothing there"),
        ({"factors": {"corpus": ["corpus", "./corpus"]}}, "the systems 'base' and 'corpus=./corpus'"
         " are the same"),
        ({"factors": {"k": list(range(1, 51)), "expansion": [False, True],
          "max_turns": [2, 3, 4]}, "design": "factorial"}, "comes to 300 systems; at most 256"),
    ],
)  # fmt: skip
def test_what_a_study_names_must_be_there_and_fit(parts, changes, expected):
    number, _, message = refusal(parts, **changes).partition(": ")
    assert message.startswith(expected)
    lines = (parts / "study.yaml").read_text().splitlines()
    assert 1 <= int(number) <= len(lines)


def test_a_mistake_in_a_file_that_a_study_names_is_said_of_that_file(parts: Path) -> None:
    bad = parts / "bad-prompts"
    bad.mkdir(exist_ok=True)
    (bad / "expandr.md").write_text("x")
    with pytest.raises(
        InputError, match=r"expandr\.md: no prompt has this name; rename it to expa"
    ):
        load(parts, base={**BASE, "prompts": "bad-prompts"})
    (parts / "bad-prices.yaml").write_text("models:\n  openai:x: {inputs: 1, output: 1}\n")
    with pytest.raises(InputError, match=r"bad-prices\.yaml:2: .* did you mean input"):
        load(parts, prices="bad-prices.yaml")


def test_prompts_that_say_the_same_are_the_same_system(parts: Path, tmp_path: Path) -> None:
    """Wherever they lie, and where they are the built-in ones."""
    twin, none = tmp_path / "twin", tmp_path / "none"
    twin.mkdir()
    none.mkdir()
    (twin / "expander.md").write_text((parts / "short" / "expander.md").read_text())
    for values in (["short", str(twin)], [None, str(none)]):
        with pytest.raises(InputError, match="are the same; this prompts changes nothing there"):
            load(parts, base={**BASE}, factors={"prompts": values})
    assert len(load(parts, factors={"prompts": [None, "short"]}).systems()) == 2


def test_a_key_is_no_more_checked_than_the_command_line_does(parts: Path) -> None:
    """A missing key, or a server that is down, is said when the study is run, not when planned."""
    spec = "openai:m@http://127.0.0.1:9/v1"
    assert load(parts, factors={"model": ["offline", spec]}).systems()[1].system.model == spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: is empty"),
        ("just words", "1: contains no study"),
        ("a: 1\n---\nb: 2\n", "2: is not YAML (but found another document)"),
        ("name: a\nb: *c\n", "2: is not YAML (found undefined alias 'c')"),
        (b"name: a\nb: \xff\n", "2: is not UTF-8 text"),
        ("name: a\nb: \x00\n", "2: is not YAML (a character that YAML does not allow)"),
        ("name: a\non: 3\n", "2: a key is not text; put it in quotes"),
        ("name: a\nb: !!python/object/apply:os.system [ls]\n", "2: 'tag:yaml.org,2002:python/obj"),
        ("name: a\nb: !!binary aGk=\n", "2: 'aGk=' cannot be read as a value"),
        ("name: a\nb: 2026-13-45\n", "2: '2026-13-45' cannot be read as a value; put it in quotes"),
        ("name: a\nb: " + "9" * 5000, "2: '99999"),
        ("a: &a {k: 1}\nb:\n  <<: *a\n", "3: merge keys (<<) are not read"),
        ("a: &a [*a]\n", "1: is nested too deeply"),
        ("a: 1\nb:5\nc: 1\n", "2: is not YAML (could not find expected ':')"),
        ("a:\n  b: [1, 2\n  c: 1\n", "2: is not YAML (expected ',' or ']'"),
        ("a: 1\nb: 'no end\nc: 1\n", "2: is not YAML (found unexpected end of stream)"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(parts: Path, text: str | bytes, expected: str) -> None:
    assert refusal_of_text(parts, text).startswith(expected)


def test_aliases_that_multiply_are_refused_before_they_are_written_out(parts: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 30):
        copies = ", ".join([f"*a{n - 1}"] * 9)
        lines.append(f"a{n}: &a{n} [{copies}]")
    began = time.process_time()
    message = refusal_of_text(parts, "\n".join(lines))
    assert "holds more than 50,000 values" in message
    assert time.process_time() - began < 20  # 9**30 values would take for ever


def test_an_anchor_may_be_used_again(parts: Path) -> None:
    text = TEXT.replace("tools: [local_retriever]", "tools: &search [local_retriever]")
    text = text.replace("[off, on]", "[off, on]\n  tools: [*search, [local_retriever, wikisparql]]")
    assert len(load_study(write_text(parts, text)).systems()) == 1 + 1 + 2 + 1


def test_a_file_of_more_than_a_mebibyte_is_refused_unread(parts: Path) -> None:
    path = write_text(parts, b"# " + b"x" * 2**20)
    with pytest.raises(InputError, match="is larger than 1 MiB"):
        load_study(path)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8")))
def test_any_bytes_are_refused_in_one_line(parts: Path, data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        load_study(write_text(parts, data))
    assert "\n" not in str(caught.value)


def test_the_questions_are_those_that_are_chosen(parts: Path) -> None:
    def ids(**chosen: Any) -> list[str]:
        asked = {"source": "questions.jsonl", **chosen}
        return [
            question.id for question in sets_of(load(parts, questions=asked))[0].questions.questions
        ]

    assert ids() == ["q0", "q1", "q2", "q3", "q4"]
    assert ids(ids=["q4", "q2"]) == ["q2", "q4"]
    assert ids(ids="ids.txt") == ["q1", "q3"]
    assert ids(limit=2) == ["q0", "q1"]
    assert ids(ids="ids.txt", limit=1) == ["q1"]


def test_questions_that_cannot_be_had_are_said_of_the_study_or_of_their_file(parts, monkeypatch):
    def problem(questions: Any) -> str:
        with pytest.raises(InputError) as caught:
            sets_of(load(parts, questions=questions))
        return str(caught.value)

    study = f"{parts}/study.yaml:"
    assert problem({"source": "questions.jsonl", "ids": ["q9"]}).startswith(
        f"{study}4: no question has the id 'q9'; correct ids"
    )
    (parts / "empty.txt").write_text("\n\n")
    assert problem({"source": "questions.jsonl", "ids": "empty.txt"}).startswith(
        f"{parts}/empty.txt: has no ids"
    )
    (parts / "broken.jsonl").write_text("{}\n")
    assert problem("broken.jsonl").startswith(f"{parts}/broken.jsonl:1: ")
    assert problem("ambgnq:none.json").startswith(
        f"{study}2: questions: unknown question form 'ambgnq'; did you mean ambignq:"
    )
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert problem("hf:someone/something") == (
        f"{study}2: questions: reading it needs datasets, which is not installed; "
        "pip install 'branchwise[datasets]'"
    )
    (parts / "sheet.csv").write_text("Q,Gold\nWho?,Mann\n")
    sheet = {"source": "csv:sheet.csv", "fields": {"question": "Q", "answers": "Gold"}}
    assert problem(sheet | {"fields": {"qestion": "Q"}}).startswith(
        f"{study}4: questions: there is no field 'qestion'; did you mean question?"
    )
    assert problem(sheet | {"fields": {"question": "R"}}).startswith(
        f"{parts}/sheet.csv:2: there is no column 'R', which was named as question"
    )


def test_questions_of_any_form_are_read_beside_the_study(parts: Path) -> None:
    (parts / "sheet.csv").write_text("Q,Gold\nWho?,Mann; Scott\n")
    fields = {"question": "Q", "answers": "Gold"}
    asked = {"source": "csv:sheet.csv", "fields": fields, "separator": ";"}
    [question] = sets_of(load(parts, questions=asked))[0].questions.questions
    assert [answer.text for answer in question.branches[0].answers] == ["Mann", "Scott"]
    for form in ("2wiki", "asqa"):
        (parts / f"{form}.json").write_text(json.dumps(SAMPLES[form]))
        assert sets_of(load(parts, questions=f"{form}:{form}.json"))[0].questions.questions
    splits = {"train": {}, "dev": {"7": SAMPLES["asqa"][0]}}
    (parts / "ASQA.json").write_text(json.dumps(splits))
    assert len(sets_of(load(parts, questions="asqa:ASQA.json:dev"))[0].questions) == 1


def test_no_model_matches_answers_in_free_text_and_no_other_answers_are_graded(parts: Path) -> None:
    properties = [{"condition": "on Sicily", "groundtruth": "It erupted.", "citations": []}]
    contexts = [{"title": "Etna", "text": "Etna is a volcano.", "score": 1}]
    entry = {"id": "q", "question": "?", "properties": properties, "ctxs": contexts}
    (parts / "conditions.json").write_text(json.dumps([entry]))
    asked = {"questions": "condambigqa:conditions.json", "factors": {"max_turns": [2, 3]}}
    assert sets_of(load(parts, **asked))[0].questions.task == "condambigqa"
    with pytest.raises(InputError, match=r"study\.yaml:13: the task condambigqa is not matched by"):
        sets_of(load(parts, **asked, matcher="llm:openai:gpt-6-luna"))
    graded = load(parts, judge="openai:gpt-6-luna", variant="rewrite-code")
    with pytest.raises(InputError, match=r"study\.yaml:14: the task branches has no variant 'rew"):
        sets_of(graded)
    grades = load(parts, judge="openai:gpt-6-luna", judge_pairs="aligned")
    with pytest.raises(InputError, match=r"study\.yaml:1\d: the task branches is not graded"):
        sets_of(grades)
    with pytest.raises(InputError, match=r"study\.yaml:\d+: the variant .* graded; name a judge"):
        sets_of(load(parts, **asked, variant="rewrite-code"))
    with pytest.raises(
        InputError, match=r"no variant 'subsequence'; its variants are one-to-one, "
    ):
        sets_of(load(parts, **asked, judge="openai:gpt-6-luna", variant="subsequence"))


def test_a_study_is_read_from_any_folder(parts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_study(parts)
    monkeypatch.chdir("/")
    loaded = load_study(path)
    assert loaded.systems()[0].system.corpus == str(parts.resolve() / "corpus")
    monkeypatch.chdir(parts)
    assert load_study("study.yaml").systems() == loaded.systems()


@pytest.mark.usefixtures("process")
def test_reading_a_study_loads_no_library_that_searches_or_runs_models(parts: Path) -> None:
    heavy = {"torch", "faiss", "langchain_core", "langgraph", "scipy", "pyoxigraph"}
    code = (
        "import sys; from branchwise.runs.studies.schema import load_study; "
        "load_study(sys.argv[1]); print(*{m.split('.')[0] for m in sys.modules})"
    )
    command = (sys.executable, "-c", code, str(write_study(parts)))
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())


def test_a_refusal_of_the_loader_is_about_the_whole_file(parts: Path) -> None:
    assert refusal_of(write_study(parts, factors=None)).startswith("1: factors is missing; write")
