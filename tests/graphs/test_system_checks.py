"""What does not fit is refused alike: on the command line, in a study, and from Python."""

import json
from pathlib import Path
from typing import Any

import pytest

from branchwise.base.errors import InputError, SettingError
from branchwise.commands.declared_options import read_options
from branchwise.corpora.build import build_corpus
from branchwise.graphs.agent import Agent
from branchwise.graphs.sources import check_search
from branchwise.graphs.system import System
from branchwise.runs.studies.schema import load_study

NO_TOOLS = "no tool returns passages to extract evidence from"
CASES = [
    ({"k": 5}, {"k": 5}, "needs a corpus to search"),
    ({"retriever": "bm25"}, {"retriever": "bm25"}, "needs a corpus to search"),
    ({"extract": True}, {"extraction": True}, NO_TOOLS),
    ({"tools": ["wikisparql"]}, {"tools": ["wikisparql"]},
     "the tool wikisparql has no graph to query"),
    ({"tools": ["local_retriever"]}, {"tools": ["local_retriever"]},
     "the tool local_retriever has no corpus to search"),
]  # fmt: skip


@pytest.fixture
def refused(tmp_path: Path) -> Any:
    """The error of a study with this base, and the line that it names."""
    question = {"id": "q1", "question": "Who?", "answers": {"default": ["Mann"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(question))

    def refused(base: dict[str, Any]) -> InputError:
        study = {"name": "s", "questions": "q.jsonl", "base": base, "factors": {"seed": [1, 2]}}
        (tmp_path / "s.yaml").write_text(json.dumps(study))
        with pytest.raises(InputError) as error:
            load_study(tmp_path / "s.yaml")
        return error.value

    return refused


@pytest.mark.parametrize(("settings", "base", "what"), CASES)
def test_a_rule_says_the_same_everywhere(
    settings: dict[str, Any], base: dict[str, Any], what: str, refused: Any
) -> None:
    options = {"tool" if name == "tools" else name: value for name, value in settings.items()}
    with pytest.raises(SettingError) as of_flags:
        read_options(System, options)
    with pytest.raises(SettingError) as of_agent:
        Agent(System(**settings))
    of_study = refused(base)
    assert of_flags.value.what == of_agent.value.what == what
    assert of_study.what.endswith(what)
    flag, key = ("--kg DIR", "kg: DIR") if "graph" in what else ("--corpus DIR", "corpus: DIR")
    assert str(of_flags.value.remedy).startswith(f"add {flag}")
    assert str(of_study.remedy).startswith(f"add {key}")
    assert str(of_study.where).endswith("s.yaml:1")


def test_an_index_that_is_not_there_is_refused_alike(tmp_path: Path, refused: Any) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "p1", "contents": "Heat\nMann."}))
    build_corpus(str(tmp_path / "p.jsonl"), tmp_path / "C")
    for name in (None, "flat", "bm25", "hybrid", "bm52", "dense"):
        with pytest.raises(SettingError) as of_agent:
            Agent(System(corpus=str(tmp_path / "C"), retriever=name))
        of_study = refused({"corpus": "C", "retriever": name})
        assert (of_study.what, of_study.remedy) == (of_agent.value.what, of_agent.value.remedy)


def test_objects_of_this_process_are_sources() -> None:
    check_search(System(k=5, extract=True), ["corpus"], ["local_retriever"])
    with pytest.raises(SettingError, match="no graph to query"):
        check_search(System(), ["corpus"], ["wikidata_search"])
