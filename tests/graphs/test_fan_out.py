"""A sub-agent for each reading: what each is told and may spend, and what is merged of them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from branchwise import System
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError
from branchwise.corpora.passages import Passage
from branchwise.eval.tasks.branches.task import BRANCHES
from branchwise.eval.tasks.condambigqa.task import CONDITIONS
from branchwise.graphs.agent import Agent
from branchwise.graphs.budget import Budget
from branchwise.graphs.compiled import build
from branchwise.graphs.fan_out import reading_names
from branchwise.graphs.flows import Brief
from branchwise.trace.events import Expansion
from branchwise.trace.parts import FoundTitle, TitleSearch, Usage
from support.by_role import by_role, counts, role_of, turn_of, user_of
from support.chat_server import Answer, Body, call, say
from support.corpora.small import FILMS, bm25_corpus

QUESTION = "Who directed Heat?"
LATER, EARLIER = "Heat (1995 film)", "Heat (1986 film)"
READINGS = {LATER: "Who directed Heat (1995 film)?", EARLIER: "Who directed Heat (1986 film)?"}
LEAD = say("\n".join(READINGS.values()))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(bm25_corpus(tmp_path_factory.mktemp("corpus"), FILMS))


@pytest.fixture
def system(chat_server: Any, corpus: str) -> System:
    return System(
        model=f"openai:scripted@{chat_server.url}",
        corpus=corpus,
        k=2,
        tools=("local_retriever",),
        fan_out=True,
        readings_from="memory",
    )


async def outcome_of(system: System, flow: Any = BRANCHES, brief: Brief | None = None) -> Any:
    """The outcome of the question, and its events as (kind, data)."""
    agent, journal = Agent(system, flow), MemoryJournal()
    prompt = flow.prompts[flow.setting(has_tools=bool(agent.tools))]
    outcome = await agent.answer(brief or Brief(prompt, QUESTION, QUESTION), journal)
    await agent.aclose()
    return outcome, journal.events


def reading_of(body: Body) -> str:
    """The name of the reading that a sub-agent is asked; "" of a plain question."""
    return next((name for name, line in READINGS.items() if f"- {line}" in user_of(body)), "")


def answers(**by_key: list[str]) -> Answer:
    return say(json.dumps({"reasoning": "", "answers": by_key}))


def searching(body: Body) -> Answer:
    """Searches in its first turn, then answers under a name of its own."""
    if turn_of(body) == 0:
        return call("local_retriever", query=reading_of(body) or "Heat")
    return answers(mine=["Mann" if reading_of(body) == LATER else "Richards"])


async def test_each_reading_is_asked_alone_and_answers_are_merged_under_its_name(
    chat_server: Any, system: System
) -> None:
    chat_server.play(by_role(expander=LEAD, agent=searching))
    outcome, events = await outcome_of(system)
    assert outcome.prediction.answers == {LATER: ("Mann",), EARLIER: ("Richards",)}
    assert (outcome.how, outcome.problem) == ("strict", None)
    assert (outcome.spent.turns, outcome.spent.calls) == (4, 2)
    conversation = ["stage", "model", "tool", "model", "answer", "stage_end"]
    assert [kind for kind, _ in events] == [
        *("start", "expansion", *conversation, *conversation, "answer")
    ]
    begun = [data for kind, data in events if kind == "stage"]
    assert [(data["name"], data["option"]) for data in begun] == [
        ("reading", LATER),
        ("reading", EARLIER),
    ]
    alone = Prompts.load().render("reading", reading=READINGS[EARLIER])
    assert begun[1]["content"] == f"{QUESTION}\n\n{alone}"
    assert READINGS[LATER] not in begun[1]["content"]
    # The expander's tokens and those of four turns.
    spent = [d["usage"] for kind, d in events if kind in ("model", "expansion")]
    assert outcome.spent.tokens == sum(one["input"] + one["output"] for one in spent)
    assert counts(chat_server.requests) == {"expander": 1, "agent": 4}


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        # Three calls and two readings: two each, rounded up.
        ({"calls": 3}, 2),
        ({"calls": 9, "calls_per_reading": 4}, 4),
        ({"calls": 3, "calls_per_reading": 4}, 3),
    ],
)
async def test_each_is_told_its_own_part_of_the_budget(
    chat_server: Any, system: System, settings: dict[str, int], calls: int
) -> None:
    chat_server.play(by_role(expander=LEAD, agent=searching))
    _, events = await outcome_of(system.model_copy(update={"budget": Budget(turns=7, **settings)}))
    for kind, data in events:
        if kind == "stage":
            stated = Prompts.load().render("budget", turns="7", calls=str(calls))
            assert data["system"].endswith(f"\n\n{stated}")
        if kind == "tool":
            assert data["left"].startswith(f"[{calls - 1} of {calls} tool calls and 6 of 7 turns")


async def test_tokens_that_are_left_are_parted_and_a_reading_cannot_take_anothers(
    chat_server: Any, system: System
) -> None:
    """Of 1,000 tokens the expander takes 400: 300 for each reading, of which one takes 350."""

    def greedy(body: Body) -> Answer:
        tokens = {"": 400, LATER: 350, EARLIER: 200}[
            "" if role_of(body) == "expander" else reading_of(body)
        ]
        answer = LEAD if role_of(body) == "expander" else searching(body)
        usage = {"prompt_tokens": tokens, "completion_tokens": 0, "total_tokens": tokens}
        return replace(answer, usage=usage)

    chat_server.play(greedy)
    _, events = await outcome_of(system.model_copy(update={"budget": Budget(tokens=1000)}))
    told: dict[str, list[str]] = {}
    name = ""
    for kind, data in events:
        name = data["option"] if kind == "stage" else name
        told.setdefault(name, []).extend([data["reason"]] if kind == "budget" else [])
    assert told == {"": [], LATER: ["300 tokens"], EARLIER: []}


@pytest.mark.parametrize(("calls", "checks"), [(2, 0), (4, 2)])
async def test_a_reading_is_checked_while_its_own_part_lasts(
    chat_server: Any, system: System, calls: int, checks: int
) -> None:
    """Each searches once: of two calls that is its whole part."""
    chat_server.play(by_role(expander=LEAD, agent=searching, checker=say("COMPLETE")))
    budget = Budget(calls=calls)
    _, events = await outcome_of(system.model_copy(update={"budget": budget, "check": 1}))
    assert sum(kind == "check" for kind, _ in events) == checks


async def test_branches_of_a_sub_agent_are_united_and_a_reading_without_answers_is_none(
    chat_server: Any, system: System
) -> None:
    def several(body: Body) -> Answer:
        if reading_of(body) == EARLIER:
            return answers()
        return answers(one=["Mann", "Bay"], other=["Bay", "Cooper"])

    chat_server.play(by_role(expander=LEAD, agent=several))
    outcome, _ = await outcome_of(system)
    assert outcome.prediction.answers == {LATER: ("Mann", "Bay", "Cooper")}
    assert (outcome.how, outcome.problem) == ("strict", None)


@pytest.mark.parametrize(
    ("later", "earlier", "expected"),
    [
        ("Heat (film of 1995)", "mine", {"Heat (film of 1995)": ("Mann",), EARLIER: ("Richards",)}),
        ("Heat (film)", "Heat (film)", {"Heat (film)": ("Mann", "Richards")}),
        ("Ronin (film)", "Heat", {LATER: ("Mann",), EARLIER: ("Richards",)}),
    ],
)
async def test_a_sub_agent_tells_its_reading_apart_in_its_own_words(
    later: str, earlier: str, expected: dict[str, tuple[str, ...]], chat_server: Any, system: System
) -> None:
    """The same name with other brackets; readings that come to one name are one."""

    def named(body: Body) -> Answer:
        is_later = reading_of(body) == LATER
        return answers(**({later: ["Mann"]} if is_later else {earlier: ["Richards"]}))

    chat_server.play(by_role(expander=LEAD, agent=named))
    outcome, _ = await outcome_of(system)
    assert outcome.prediction.answers == expected


@pytest.mark.parametrize("lost", [{EARLIER}, {LATER, EARLIER}])
async def test_what_cannot_be_read_is_an_empty_reading_and_fails_the_item_if_nothing_can(
    chat_server: Any, system: System, lost: set[str]
) -> None:
    def agent(body: Body) -> Answer:
        return say("hard to say") if reading_of(body) in lost else answers(mine=["Mann"])

    chat_server.play(by_role(expander=LEAD, agent=agent))
    outcome, _ = await outcome_of(system)
    first = next(name for name in READINGS if name in lost)
    assert outcome.problem.startswith(f"reading {first}: there is no JSON object")
    all_lost = len(lost) == 2
    assert outcome.how == ("failed" if all_lost else "strict")
    assert outcome.prediction.answers == ({} if all_lost else {LATER: ("Mann",)})


@pytest.mark.parametrize("lead", [say(QUESTION), Answer(status=400, raw="{}")])
async def test_a_question_without_several_readings_is_asked_as_without_the_design(
    chat_server: Any, system: System, lead: Answer
) -> None:
    chat_server.play(by_role(expander=lead, agent=searching))
    outcome, events = await outcome_of(system)
    asked = [body for body in chat_server.requests if role_of(body) == "agent"]
    assert outcome.prediction.answers == {"mine": ("Richards",)}
    kinds = ["start", "expansion", "model", "tool", "model", "answer"]
    assert [kind for kind, _ in events] == kinds
    chat_server.play(by_role(expander=lead, agent=searching))
    await outcome_of(system.with_(fan_out=False, expand=True))
    assert asked == [body for body in chat_server.requests if role_of(body) == "agent"][2:]
    # One passage was found twice in neither.
    assert len(outcome.evidence) == 2


async def test_passages_that_come_with_the_question_are_there_for_each_reading_and_cited(
    chat_server: Any, system: System
) -> None:
    def agent(body: Body) -> Answer:
        year = reading_of(body)[6:10]
        found = [
            {"condition": f"c{n}", "answer": year, "citations": [f"Fragment {n}"]} for n in (1, 2)
        ]
        return say(json.dumps({"conditions": found}))

    chat_server.play(by_role(expander=LEAD, agent=agent))
    given = tuple(Passage(id=f"p{n}", title="T", text="t") for n in (1, 2))
    message = f"{QUESTION}\n\nFragment 1: T\nt\n\nFragment 2: T\nt"
    brief = Brief("conditions_given", message, QUESTION, given)
    outcome, events = await outcome_of(
        system.model_copy(update={"tools": (), "corpus": None, "k": None}), CONDITIONS, brief
    )
    assert outcome.prediction.answers == {LATER: ("1995",), EARLIER: ("1986",)}
    assert outcome.prediction.citations == dict.fromkeys(READINGS, ("p1", "p2"))
    stages = [data for kind, data in events if kind == "stage"]
    for data, line in zip(stages, READINGS.values(), strict=True):
        alone = Prompts.load().render("conditions_reading", reading=line)
        assert data["content"] == f"{message}\n\n{alone}"
        assert data["system"] == Prompts.load().texts["conditions_given"]


def expansion(*readings: str, titles: tuple[str, ...] = (), question: str = QUESTION) -> Expansion:
    found = tuple(FoundTitle("id", title, "Heat") for title in titles)
    looked = (TitleSearch(tool="local_retriever", args={}, hits=1, found=found),)
    return Expansion(
        question=question,
        looked=looked,
        readings=readings,
        error=None,
        usage=Usage(0, 0),
        seconds=0.0,
    )


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (expansion(*READINGS.values()), [LATER, EARLIER]),
        # What was found says more than brackets: a place, and the bare name.
        (
            expansion("Who built Heat, Ohio?", "Who built Heat?", titles=("Heat", "Heat, Ohio")),
            ["Heat, Ohio", "Heat"],
        ),
        # A name that both have tells neither apart; nothing does.
        (
            expansion("Was Heat (1995 film) first?", "Was Heat (1995 film) last?"),
            ["Was Heat (1995 film) first?", "Was Heat (1995 film) last?"],
        ),
        (expansion(), []),
    ],
)
def test_a_reading_is_named_by_what_its_line_alone_has(made: Expansion, names: list[str]) -> None:
    assert reading_names(made) == dict(zip(names, made.readings, strict=True))


def test_it_turns_expansion_on_and_off_with_it() -> None:
    system = System(fan_out=True)
    assert (
        system == System(fan_out=True, expand=True) == System().model_copy(update={"fan_out": True})
    )
    assert system.expand
    assert not system.with_(fan_out=False).expand
    digests = {Agent(one).digest for one in (system, System(fan_out=True, expand=True))}
    assert len(digests) == 1
    assert digests.isdisjoint({Agent(System(expand=True)).digest, Agent(System()).digest})
    assert "fan_out" not in Agent(System(expand=True)).identity


async def test_it_is_a_graph_in_python_too(chat_server: Any, system: System) -> None:
    chat_server.play(by_role(expander=LEAD, agent=searching))
    found = await build(system).ainvoke({"question": QUESTION})
    assert found["answers"] == {LATER: ["Mann"], EARLIER: ["Richards"]}
    assert {role: one["calls"] for role, one in found["usage"].items()} == {
        "expander": 1,
        "agent": 4,
    }


def test_a_flow_whose_answers_are_not_by_readings_is_refused_in_python() -> None:
    said = r"^--fan-out: mdcr is not answered in one conversation, by reading; leave it out"
    with pytest.raises(InputError, match=said):
        build(System(fan_out=True), "mdcr")


def test_a_question_is_not_put_through_two_designs() -> None:
    said = r"^--fan-out: does not go with --tries: .*; leave out one of --fan-out and --tries"
    with pytest.raises(InputError, match=said):
        Agent(System(fan_out=True, tries=2, merge="union"))
