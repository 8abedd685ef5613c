"""The prompt set `paper`: what it has of the paper's Figures 16 to 21, item by item, and a study
that asks with it in the paper's four settings, from the file to the scores."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from branchwise import score
from branchwise.agents.prompt_files import Prompts
from branchwise.corpora.questions import DEFAULT_BRANCH
from branchwise.eval.tasks.branches.format import BranchesFormat
from branchwise.graphs.list_replies import read_readings
from branchwise.runs.studies.running import StudyDesign, run_study
from branchwise.runs.studies.schema import load_study
from support.by_role import passage_of, role_of, user_of
from support.chat_server import Answer, Body, ChatServer, call, say
from support.corpora.small import bm25_corpus

PAPER = Prompts.load(of="paper").texts
BASE, EXPANDED, DIRECT = "answer_with_tools", "answer_with_tools_expanded", "answer_directly"
ANSWERING = (BASE, EXPANDED, DIRECT)
CONTENTS = {
    "answers come from tools": (BASE, "tools that look things up"),
    "tools may be called as often as needed": (BASE, "as many calls as you need"),
    "answers come from the model's knowledge without tools": (DIRECT, "from what you know"),
    "the reply has reasoning and answers": (ANSWERING, '(?s)two keys.*- "reasoning".*- "answers"'),
    "reasoning tells interpretation and evidence": (BASE, "how you took the question, what you lo"),
    "reasoning names its sources": (BASE, "sources"),
    "reasoning is short": ((EXPANDED, DIRECT), "two to (four|five) sentences"),
    "one interpretation has the key default": (ANSWERING, 'one key "default"'),
    "each entity once": ((BASE, DIRECT), "each once"),
    "several interpretations have keys of their own": ((BASE, DIRECT), "a key of its own"),
    "keys are titles, years or the like": ((BASE, DIRECT), "by a title, a year or whatever"),
    "keys are no numbers": (BASE, "not by a number"),
    "the form is shown": ((BASE, EXPANDED), r'The form:\s+\{"reasoning": '),
    "nothing stands outside of the object": (DIRECT, "nothing outside of the JSON object"),
    "an expansion is a question of its own": (EXPANDED, "each expansion as a question of its own"),
    "the question itself stays in view": (EXPANDED, "keep the question itself in view"),
    "reasoning tells how expansions led the search": (EXPANDED, "each expansion, if there are any"),
    "each expansion is answered": ((EXPANDED, "readings"), "[aA]nswer each of them"),
    "an expansion's key is its text": ((EXPANDED, "readings"), "word for word"),
    "keys that are made up are forbidden": (EXPANDED, "no keys that you made up"),
    "general keys are forbidden": (EXPANDED, "none that are general"),
    "no expansions, one interpretation: default": (
        EXPANDED,
        "without expansions and with one clear",
    ),
    "expansions are listed below the question": (
        "readings",
        r"Expansions of the question.*\s+\$re",
    ),
    "the graph is one more tool": ("graph", "Choose for each step the tools"),
    "reasoning tells the calls made": ("graph", "which calls you made and what each"),
    "several variations": ("expander", "several variations"),
    "more specific ones": ("expander", "more specific"),
    "of every question": ("expander", "for every question, also where you see a single"),
    "nothing is asked back": ("expander", "Do not ask back"),
    "from the model's own knowledge": ("expander", "your own knowledge"),
    "of all that a name may refer to": ("expander", "people, places, works"),
    "with background": ("expander", "background that you know"),
    "within the scope of the question": ("expander", "(?s)nothing else.*importance, cause, effect"),
    "all reasonable interpretations": ("expander", "all interpretations that you find reasonable"),
    "each understood alone": ("expander", "understood alone"),
    "one variation a line": ("expander", "one variation a line"),
    "text is copied word for word": ("extractor", "word for word"),
    "one piece a line without marks": ("extractor", "one piece a line, without numbers, bullets"),
    "its letters are kept": ("extractor", "Keep capitals and punctuation"),
    "NONE for nothing": ("extractor", "write NONE"),
}


@pytest.mark.parametrize("item", CONTENTS)
def test_the_papers_content_is_there(item: str) -> None:
    names, pattern = CONTENTS[item]
    for name in (names,) if isinstance(names, str) else names:
        assert re.search(pattern, PAPER[name]), name


def test_nothing_is_said_of_decomposition() -> None:
    """In no task's prompts."""
    assert [name for name, text in PAPER.items() if re.search("decompos|simpler", text, re.I)] == []


@pytest.mark.parametrize("name", ANSWERING)
def test_two_worked_examples_are_answers(name: str) -> None:
    """They are strictly in the form: one for one interpretation, one with keys that tell apart."""
    examples = re.findall(r"^Example.*\n\n(\{.*\})$", PAPER[name], re.MULTILINE)
    read = [json.loads(example) for example in examples]
    assert all(BranchesFormat().fits(example) and example["reasoning"] for example in read)
    one, several = (BranchesFormat().read(example).answers for example in read)
    assert list(one) == [DEFAULT_BRANCH]
    assert len(several) == 2
    is_told_apart = r"Otello \(\d{4} opera\)" if name != EXPANDED else r"Who .*, .* in \d{4}\?"
    assert all(re.fullmatch(is_told_apart, key) and f'"{key}"' in PAPER[name] for key in several)


def test_one_variation_is_an_expansion() -> None:
    assert read_readings("Who directed the film Ronin of 1998?", least=1).kept
    assert read_readings("", least=1).kept == ()


CORPUS = {
    "heat-1995": "Heat (1995 film)\nMichael Mann directed this crime film.",
    "heat-1986": "Heat (1986 film)\nDick Richards directed this thriller.",
    "ronin": "Ronin (1998 film)\nJohn Frankenheimer directed Ronin.",
}
GOLD = {
    "Who directed Heat?": {
        "Heat (1995 film)": ["Michael Mann"],
        "Heat (1986 film)": ["Dick Richards"],
    },
    "Who directed Ronin?": {"default": ["John Frankenheimer"]},
}
VARIATIONS = {
    "Who directed Heat?": [
        "Who directed Heat, the crime film of 1995?",
        "Who directed Heat, the thriller of 1986?",
    ],
    "Who directed Ronin?": [
        "Who directed Ronin, the action film of 1998?",
        "Which director made the thriller Ronin with Robert De Niro?",
    ],
}
SETTINGS = ("base", "+expansion", "+extraction", "+expansion, +extraction")
STUDY = """
name: paper
questions: questions.jsonl
base:
  model: {model}
  corpus: {corpus}
  retriever: bm25
  k: 15
  tools: [local_retriever]
  prompt_set: paper
  readings_from: memory
  extraction_by: passage
  repeat_passages: on
  budget_shown: off
factors:
  expansion: [off, on]
  extraction: [off, on]
design: factorial
"""


def reply(body: Body) -> Answer:
    """As a model that does what the set says: it searches, then answers what it was shown."""
    role, user = role_of(body), user_of(body)
    if role == "extractor":
        return say(passage_of(body)[1])
    question, *below = user.split("\n")
    if role == "expander":
        return say("\n".join(VARIATIONS[question]))
    if body["messages"][-1]["role"] != "tool":
        return call("local_retriever", query=question)
    shown, gold = body["messages"][-1]["content"], GOLD[question]
    expansions = [line.removeprefix("- ") for line in below if line.startswith("- ")]
    answers = {
        key: [text for text in texts if text in shown]
        for key, texts in zip(expansions or gold, list(gold.values()) * 2, strict=False)
    }
    return say(json.dumps({"reasoning": "The passages say so.", "answers": answers}))


@pytest.mark.slow
def test_right_answers_are_right_in_the_papers_four_settings(
    chat_server: ChatServer, tmp_path: Path, type_in: Callable[..., tuple[int, str, str]]
) -> None:
    chat_server.play(reply)
    lines = [
        {"id": f"q{n}", "question": question, "answers": gold}
        for n, (question, gold) in enumerate(GOLD.items())
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    corpus = bm25_corpus(tmp_path, CORPUS)
    file = tmp_path / "study.yaml"
    file.write_text(STUDY.format(model=f"openai:scripted@{chat_server.url}", corpus=corpus))
    made = run_study(StudyDesign.of(load_study(file)), tmp_path / "S")
    assert (made.state.done, made.state.failed) == (4 * 2, 0)
    runs = dict(made.folder.runs())
    assert tuple(runs) == SETTINGS
    for name, folder in runs.items():
        for item in score(folder).items:
            assert item.metrics["strict_em"] == item.metrics["pooled_em"] == 1, (name, item.id)
    agents = [body["messages"] for body in chat_server.requests if role_of(body) == "agent"]
    for system, asked, *_ in agents:
        name = EXPANDED if "\n- " in asked["content"] else BASE
        assert system["content"].startswith(PAPER[name])
    assert {"\n- " in asked["content"] for _, asked, *_ in agents} == {True, False}
    assert type_in("report", tmp_path / "S")[0] == 0
