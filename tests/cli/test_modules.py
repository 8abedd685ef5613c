"""`--expand` and `--extract` on the command line."""

import json
import resource

import pytest

from branchwise.commands.running import allow_open_files
from branchwise.runs.store import open_run
from support.by_role import by_role, turn_of
from support.chat_server import call, say
from support.corpora.small import bm25_corpus

PASSAGES = {"p1": "Heat (1995 film)\nMichael Mann directed Heat. It is long."}
ANSWERS = {"Who directed Heat (1995 film)?": ["Michael Mann"]}


@pytest.fixture
def corpus(tmp_path):
    return bm25_corpus(tmp_path, PASSAGES)


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "q.jsonl"
    gold = {"id": "q1", "question": "Who directed Heat?", "answers": {"default": ["Michael Mann"]}}
    path.write_text(json.dumps(gold))
    return path


@pytest.fixture
def model(chat_server):
    """A model that expands, extracts, searches once and answers."""

    def agent(body):
        if turn_of(body) == 0:
            return call("local_retriever", query="Heat")
        return say(json.dumps({"answers": ANSWERS}))

    chat_server.play(
        by_role(
            expander=say("1. Who directed Heat (1995 film)?\n2. Who directed Heat (1986 film)?"),
            extractor=say("Michael Mann directed Heat.\nIt is short."),
            agent=agent,
        )
    )
    return f"openai:scripted@{chat_server.url}"


def test_ask_shows_readings_and_spans_as_they_come(type_in, model, corpus):
    code, out, err = type_in(
        *("ask", "Who directed Heat?", "--corpus", corpus, "--model", model),
        *("--expand", "--extract", "--max-turns", 3),
    )
    assert code == 0
    assert out == "Who directed Heat (1995 film)?: Michael Mann\n"
    lines = [line.split(", ")[0] for line in err.splitlines()]
    assert lines[1:5] == [
        "expand    2 readings",
        "          looks for 'Heat': local_retriever 1 title of 1",
        "          - Who directed Heat (1995 film)?",
        "          - Who directed Heat (1986 film)?",
    ]
    start = lines.index("extract   1 span from 1 of 1 passage")
    assert lines[start + 1 : start + 3] == [
        "          dropped: 1 not in the passage",
        "          [p1] Michael Mann directed Heat.",
    ]


@pytest.mark.slow
def test_run_keeps_modules_and_roles_and_resume_takes_them_elsewhere(
    type_in, model, corpus, questions, tmp_path
):
    small = model.replace("scripted", "small")
    code, _, err = type_in(
        *("run", "--questions", questions, "--corpus", corpus, "--model", model),
        *("--expand", "--extract", "--expander", small, "--out", tmp_path / "run"),
    )
    assert code == 0, err
    reader = open_run(tmp_path / "run")
    system, (row,) = reader.meta["system"], reader.items()
    reader.close()
    assert system["expand"] is system["extract"] is True
    assert system["roles"] == {
        **{"expander": small, "extractor": None, "checker": None, "matcher": None, "judge": None}
    }
    assert set(row.outcome["usage"]) == {"agent", "expander", "extractor"}
    code, _, err = type_in(
        "resume", tmp_path / "run", "--expander", model.replace("scripted", "big")
    )
    assert code == 2
    assert "changed: expander" in err


@pytest.mark.parametrize(
    ("option", "value", "module"),
    [
        ("--expander", "offline", "--expand"),
        ("--extractor", "offline", "--extract"),
        ("--readings-from", "memory", "--expand"),
        ("--readings-from", "search", "--expand"),  # the default, but written
        ("--extract-by", "passage", "--extract"),
    ],
)
def test_a_setting_of_a_module_that_is_not_asked_for_is_refused(
    type_in, corpus, option, value, module
):
    code, _, err = type_in("ask", "Who?", "--corpus", corpus, option, value)
    assert code == 2
    assert err == (
        f"branchwise: {option}: has no effect without {module}; "
        f"add {module}, or leave out {option}\n"
    )
    # Whether it finds an answer is another matter.
    assert type_in("ask", "Who?", "--corpus", corpus, option, value, module)[0] != 2


def test_the_limit_of_open_files_rises_with_questions_at_a_time_and_extraction():
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
    try:
        allow_open_files(8)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (200, most)
        for more, least in (((8, True), 8 * 32), ((512, False), 1024)):
            allow_open_files(more[0], several=more[1])
            soft, still = resource.getrlimit(resource.RLIMIT_NOFILE)
            assert soft >= least or soft == most
            assert still == most
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))
