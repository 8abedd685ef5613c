"""What a study may cost at most, by hand and by the greediest server, and what is expected."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from branchwise.corpora.questions import Answer as GoldAnswer
from branchwise.corpora.questions import Branch, Question
from branchwise.report.terminal.costs import plan_tables
from branchwise.runs.costs.prices import Price, Prices
from branchwise.runs.estimates import Expected, Sample, pilot_ids, together
from branchwise.runs.experiment import run
from branchwise.runs.studies.plan import Bound, StudyPlan, plan_of
from branchwise.runs.studies.shared import sets_of
from support.by_role import by_role, counts, role_of
from support.chat_server import Answer, calls, say
from support.eval.study_cases import KG, QUESTIONS, load

SEARCH = ["local_retriever"]
MINE = "openai:mine@http://127.0.0.1:9/v1"
BASE = {
    "model": MINE, "corpus": "corpus", "kg": "graph", "tools": SEARCH, "k": 2,
    "max_turns": 4, "max_calls": 3, "max_tokens": 100, "max_tokens_total": 500_000,
    "prompt_set": "paper",
}  # fmt: skip
ASKED = {"source": "questions.jsonl", "epochs": 2}


def plan(parts: Path, **changes: Any) -> StudyPlan:
    """`openai:mine` costs 1 USD for a million tokens of input and 10 of output."""
    loaded = load(parts, **{"base": BASE, "questions": ASKED, "prices": "prices.yaml", **changes})
    return plan_of(loaded, loaded.systems(), sets_of(loaded), loaded.prices())


def shown(found: StudyPlan, width: int = 80) -> str:
    screen = Console(width=width, record=True, file=None, quiet=False)
    with screen.capture() as captured:
        for part in plan_tables(found):
            screen.print(part)
    return captured.get()


def test_calls_tokens_and_money_are_what_the_budget_allows(parts: Path) -> None:
    factors = {"expansion": [False, True], "extraction": [False, True], "tools": [SEARCH, []]}
    alone = {**BASE, "extraction_by": "passage"}
    base, expanding, extracting, direct = plan(parts, base=alone, factors=factors).systems
    assert [one.items for one in (base, direct)] == [10, 10]  # 5 questions, 2 epochs
    # A turn for each of the 3 tool calls, the answer, a repair.
    assert (base.calls, base.tool_calls) == ({"agent": 50}, 30)
    # Half a million an item; 5 x 100 tokens of it at 10, the rest at 1 USD a million.
    assert base.within == Bound(5_000_000, pytest.approx(5.045))
    # All five calls: 5 x (128,000 + 100), less than half a million and three calls more.
    assert base.at_most == Bound(6_405_000, pytest.approx(6.45))
    assert expanding.calls == {"agent": 50, "expander": 10}
    # One more of 4,000 and 100.
    assert expanding.at_most == Bound(6_446_000, pytest.approx(6.5))
    assert extracting.calls == {"agent": 50, "extractor": 60}  # 3 calls of 2 passages
    assert extracting.at_most == Bound(6_651_000, pytest.approx(6.75))
    # An answer and a repair, whatever max_tokens_total says.
    assert (direct.calls, direct.tool_calls) == ({"agent": 20}, 0)
    assert direct.within == direct.at_most == Bound(2_562_000, pytest.approx(2.58))


def test_each_conversation_of_an_item_has_all_turns_and_calls(parts: Path) -> None:
    factors = {"protocol": ["default", "answers"]}
    asked = {**ASKED, "task": "clarify"}
    alone, told = plan(parts, questions=asked, factors=factors).systems
    # Detection, the question back and 32 options; or answers in the place of detection.
    assert alone.calls == told.calls == {"agent": 34 * 50}
    assert alone.tool_calls == 34 * 30
    # The tokens are the item's: what goes beyond them is three calls of each conversation.
    assert alone.within.tokens == 5_000_000
    assert alone.at_most.tokens == 5_000_000 + 10 * 34 * 3 * 128_100
    (back, _) = plan(parts, questions={**ASKED, "task": "clarification"}).systems
    assert back.calls == {"agent": 50}


def test_passages_that_are_read_together_may_have_to_be_read_alone(parts: Path) -> None:
    base = {**BASE, "extraction": True, "extraction_by": "search"}
    (found, _) = plan(parts, base=base).systems
    # 3 calls of 2 passages: both together, of no use, then each alone.
    assert found.calls == {"agent": 50, "extractor": 10 * 3 * 3}
    assert found.at_most.tokens == 10 * (500_000 + 3 * 128_100 + 9 * 8_100) - 10 * 243_800


def test_a_call_may_ask_five_queries_or_open_a_title(parts: Path) -> None:
    base = {**BASE, "prompt_set": "v2", "extraction": True, "extraction_by": "passage"}
    (several, _) = plan(parts, base=base).systems
    assert several.calls["extractor"] == 10 * 3 * 5 * 2
    (one, _) = plan(parts, base={**base, "prompt_set": "paper"}).systems
    assert one.calls["extractor"] == 10 * 3 * 2
    (opening, _) = plan(parts, base={**base, "tools": ["open_passages"]}).systems
    assert opening.calls["extractor"] == 10 * 3 * 20


def test_beyond_the_budget_go_one_turn_its_extractions_the_answer_and_a_repair(parts: Path) -> None:
    base = {
        "model": MINE, "corpus": "corpus", "prompt_set": "paper",
        "extraction": True, "extraction_by": "passage",
    }  # fmt: skip
    free, fixed = plan(parts, base=base, factors={"k": [None, 2]}).systems
    # 12 turns and a repair; 24 calls of at most 50 passages, where the model may choose.
    assert free.calls == {"agent": 130, "extractor": 10 * 24 * 50}
    assert fixed.calls == {"agent": 130, "extractor": 10 * 24 * 2}
    # 400,000 an item by default; replies of 16,000 where max_tokens is not set.
    assert fixed.within.tokens == 4_000_000
    assert fixed.at_most.tokens == 10 * (400_000 + 3 * 144_000 + 48 * 20_000)


@pytest.mark.parametrize(
    ("turns", "calls", "agent", "tool_calls"),
    [(1, 24, 2, 0), (2, 24, 3, 24), (12, 0, 2, 0), (12, 1, 3, 1), (5, 9, 6, 9)],
)
def test_turns_and_calls_bound_each_other(parts, turns, calls, agent, tool_calls):
    found = plan(parts, base={**BASE, "max_turns": turns, "max_calls": calls}).systems[0]
    assert found.calls["agent"] == 10 * agent
    assert found.tool_calls == 10 * tool_calls


def test_an_unknown_price_is_unknown_and_named(parts: Path) -> None:
    found = plan(parts, prices=None)
    assert found.within.cost is None
    assert found.at_most == Bound(12_851_000, None)
    assert found.unpriced == (MINE,)
    text = " ".join(shown(found).split())
    assert "no price is known for openai:mine@http://127.0.0.1:9/v1; give one" in text


def test_models_that_score_are_named_and_not_counted(parts: Path) -> None:
    found = plan(parts, matcher="llm:openai:gpt-6-luna", judge="openai:gpt-6.2-sol")
    assert found.scored_by == ("openai:gpt-6-luna", "openai:gpt-6.2-sol")
    assert found.at_most == plan(parts).at_most
    assert "not counted: what openai:gpt-6-luna, openai:gpt-6.2-sol is asked" in shown(found, 200)


def test_the_table_says_that_it_is_an_upper_bound_and_fits_a_terminal(parts: Path) -> None:
    factors = {"expansion": [False, True], "extraction": [False, True], "tools": [SEARCH, KG]}
    base = {**BASE, "extraction_by": "passage"}
    text = shown(plan(parts, base=base, factors=factors, max_cost=2.5))
    assert max(map(len, text.splitlines())) <= 80
    assert "At most, by the settings alone" in text
    assert "4 systems (vary) x 5 questions x 2 epochs = 40 items" in text
    words = " ".join(text.split())
    assert "what to expect is not known: --pilot 5 asks 5 questions" in words
    assert "it stops before 2.50 USD are passed" in words
    row = next(line for line in text.splitlines() if line.startswith("+extraction"))
    assert row.split() == ["+extraction", "50", "0", "60", "5.00M", "5.10", "6.65M", "6.75"]


def test_each_model_has_a_total_of_its_own(parts: Path) -> None:
    models = [MINE, "openai:free@http://127.0.0.1:9/v1"]
    base = {key: value for key, value in BASE.items() if key != "model"}
    found = plan(parts, base={"models": models, **base})
    # Twice the 5,000,000 tokens of the base that is worked out above, and expansion in the budget.
    mine, free, whole = found.totals
    assert [one.name for one in found.totals] == ["all of mine", "all of free", "all"]
    assert (mine.calls, whole.calls) == (
        {"agent": 100, "expander": 10},
        {"agent": 200, "expander": 20},
    )
    assert mine.within.tokens == free.within.tokens == 10_000_000
    assert mine.within.cost == sum(one.within.cost or 0 for one in found.systems[:2])
    assert (free.within.cost, whole.within.cost) == (None, None)
    assert whole.within == found.within
    text = shown(found)
    assert "4 systems (vary, 2 models) x 5 questions" in text
    assert text.index("mine, +expansion") < text.index("all of mine") < text.index("all of free")


def greedy(body: dict[str, Any]) -> Answer:
    """Calls as many tools as it may, answers nothing that can be read, says it took the most."""
    usage = {"prompt_tokens": 128_000, "completion_tokens": body["max_tokens"]}
    if not body.get("tools"):
        return say("no answer", usage=usage)
    asked = calls(*[("local_retriever", {"query": f"Heat {n}"}) for n in range(2)])
    return Answer(tool_calls=asked.tool_calls, usage=usage)


@pytest.mark.usefixtures("process")
@pytest.mark.parametrize(
    "budget",
    [
        {"max_turns": 3, "max_calls": 4, "max_tokens_total": 10_000_000},
        {"max_turns": 9, "max_calls": 7, "max_tokens_total": 10_000_000},
        {"max_turns": 9, "max_calls": 40, "max_tokens_total": 150_000},
        {"max_turns": 9, "max_calls": 40, "max_tokens_total": 1},
        {"max_turns": 1},
        {"max_calls": 0},
        {"tools": []},
    ],
)
def test_no_run_takes_more_than_its_plan_says(parts, tmp_path, chat_server, budget):
    module = {"prompt_tokens": 4_000, "completion_tokens": 100}
    readings = say("Who directed Heat (1995)?\nWho directed Heat (1986)?", usage=module)
    chat_server.play(by_role(agent=greedy, expander=readings, extractor=say("NONE", usage=module)))
    base = {
        **BASE, "model": f"openai:mine@{chat_server.url}", "k": 1, "expansion": True,
        "extraction": "tools" not in budget, **budget,
        **({} if "tools" in budget else {"extraction_by": "passage"}),
    }  # fmt: skip
    loaded = load(parts, base=base, factors={"seed": [1, 2]}, prices="prices.yaml")
    systems, questions = loaded.systems(), sets_of(loaded)
    planned = plan_of(loaded, systems, questions, loaded.prices()).systems[0]
    run(questions[0].questions, systems[0].system, out=tmp_path / "run")

    asked = counts(chat_server.requests)
    for role, number in asked.items():
        assert 0 < number <= planned.calls[role]
    sizes = {"agent": 128_100, "expander": 4_100, "extractor": 4_100}
    assert sum(sizes[role_of(body)] for body in chat_server.requests) <= planned.at_most.tokens
    if budget == {"max_turns": 3, "max_calls": 4, "max_tokens_total": 10_000_000}:
        assert asked == planned.calls == {
            "expander": QUESTIONS, "agent": 4 * QUESTIONS, "extractor": 4 * QUESTIONS,
        }  # fmt: skip


def test_what_a_judge_may_take_stands_apart(parts: Path) -> None:
    properties = [
        {"condition": place, "groundtruth": "It erupted.", "citations": []} for place in "ABC"
    ]
    contexts = [{"title": "Etna", "text": "Etna is a volcano.", "score": 1}]
    entry = {"id": "q", "question": "?", "properties": properties, "ctxs": contexts}
    (parts / "conditions.json").write_text(json.dumps([entry]))
    asked = {
        "questions": {"source": "condambigqa:conditions.json", "epochs": 2},
        "base": {"model": MINE, "at_most": 4, "roles": {"judge": {"max_tokens": 50}}},
        "factors": {"protocol": ["default", "standard"]},
        "judge": MINE,
    }
    found = plan(parts, **asked)
    main, standard = found.grading
    # 2 epochs: 4 by 3 pairs of a condition and an answer; 10 answers by 3. Then 5 samples of each.
    assert [one.demand.once.calls for one in found.grading] == [2 * 4 * 3 * 2, 2 * 10 * 3]
    assert (main.demand.most.calls, standard.demand.most.calls) == (240, 300)
    assert main.cost == pytest.approx(48 * (4_000 * 1 + 50 * 10) / 1e6)
    assert main.cost_at_most == pytest.approx(5 * 48 * 4_500 / 1e6)
    assert found.scored_by == ()
    text = " ".join(shown(found, 120).split())
    assert "base 48 194k .2160 240 972k 1.08" in text
    json.dumps(found.to_json())
    asked |= {"judge_pairs": "aligned"}
    assert [one.demand.once.calls for one in plan(parts, **asked).grading] == [12, 6]
    asked |= {"base": {"model": MINE}, "factors": {"protocol": ["closed", "guided"]}}
    asked |= {"judge_pairs": "all"}
    closed, guided = plan(parts, **asked).grading
    assert (closed.demand.once.calls, guided.demand.once.calls) == (2 * 10 * 3, 2 * 3 * 3 * 2)


PRICES = Prices({}, None, None, {"openai:m": Price(input=1.0, output=2.0)})


def outcome(read: int, written: int = 0, *, calls: int = 1, seconds: float = 2.0) -> dict[str, Any]:
    usage = {"agent": {"calls": calls, "input": read, "output": written}}
    return {"usage": usage, "calls": 3, "seconds": seconds}


def sample(*outcomes: dict[str, Any], kept: bool = True) -> Sample:
    return Sample({"model": "openai:m"}, outcomes, kept)


def test_a_total_is_the_mean_times_what_is_left_and_what_was_paid() -> None:
    found = sample(outcome(1000, 100), outcome(3000, 300)).estimate(10, PRICES, 4)
    assert found.sample == 2
    assert (found.calls, found.tool_calls) == ({"agent": 10.0}, 30.0)
    assert found.tokens.value == pytest.approx(10 * 2200)
    assert found.cost is not None
    assert found.cost.value == pytest.approx(10 * (2000 + 400) / 1e6)
    # 8 items of 2 seconds, 4 at a time.
    assert found.seconds == pytest.approx(4.0)


def test_the_range_is_students_around_the_logarithm() -> None:
    """Mean 2,000, deviation 1,414.2, of two items: 6.31 * .7071 / 1.4142 = 3.155."""
    found = sample(outcome(1000), outcome(3000), kept=False).estimate(10, PRICES, 1)
    factor = math.exp(6.31 * (math.sqrt(2) * 1000 / 2000) / math.sqrt(2))
    assert found.tokens.low == pytest.approx(20_000 / factor)
    assert found.tokens.high == pytest.approx(20_000 * factor)
    kept = sample(outcome(1000), outcome(3000)).estimate(10, PRICES, 1)
    assert kept.tokens.low == pytest.approx(4000 + 16_000 / factor)


def test_equal_items_leave_no_doubt_and_one_item_leaves_a_factor_of_two() -> None:
    alike = sample(outcome(500), outcome(500), outcome(500)).estimate(6, PRICES, 1).tokens
    assert (alike.low, alike.value, alike.high) == (3000, 3000, 3000)
    alone = sample(outcome(500), kept=False).estimate(6, PRICES, 1).tokens
    assert (alone.low, alone.high) == (pytest.approx(1500), pytest.approx(6000))


def test_systems_together_are_unknown_where_one_is() -> None:
    one = sample(outcome(1000)).estimate(10, PRICES, 1)
    both = together([one, one])
    assert both is not None
    assert both.cost is not None
    assert one.cost is not None
    assert both.cost == Expected(2 * one.cost.value, 2 * one.cost.low, 2 * one.cost.high)
    assert both.calls == {"agent": 20.0}
    assert together([one, None]) is None


@pytest.mark.slow
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(0, 100))
def test_the_expected_total_lies_in_its_range(read: list[int], more: int) -> None:
    found = sample(*map(outcome, read)).estimate(len(read) + more, PRICES, 8).tokens
    assert sum(read) <= found.value * (1 + 1e-9)
    assert found.low <= found.value * (1 + 1e-9)
    assert found.value <= found.high * (1 + 1e-9)


def question(n: int, answers: int) -> Question:
    gold = tuple(GoldAnswer(text=f"a{k}") for k in range(answers))
    return Question(
        id=f"q{n}", question=f"Question {n}?", branches=(Branch(name="b", answers=gold),)
    )


def test_a_pilot_has_questions_with_few_and_with_many_answers() -> None:
    asked = [question(n, 1 + n % 10) for n in range(100)]
    chosen = pilot_ids(asked, 5)
    answers = sorted(len(one.branches[0].answers) for one in asked if one.id in chosen)
    # One of each fifth: of two numbers of answers each.
    assert [(1 + (n - 1) // 2) for n in answers] == [1, 2, 3, 4, 5]
    assert pilot_ids(list(reversed(asked)), 5) == chosen
