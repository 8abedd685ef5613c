"""What `--matcher` and `--judge` mean."""

import pytest

from branchwise.base.errors import InputError
from branchwise.eval.scoring_choice import ScoringChoice
from branchwise.runs.options import MatchOptions

MODEL = "openai:gpt-6-luna"


@pytest.mark.parametrize(
    ("text", "kind", "model"),
    [
        ("lexical", "lexical", None),
        ("llm", "llm", None),
        ("both", "both", None),
        (MODEL, "llm", MODEL),
        (f"llm:{MODEL}", "llm", MODEL),
        (f"both:{MODEL}@http://localhost:1/v1", "both", f"{MODEL}@http://localhost:1/v1"),
    ],
)
def test_a_matcher_is_a_kind_or_a_model(text: str, kind: str, model: str | None) -> None:
    choice = ScoringChoice.parse(text)
    assert (choice.matcher, choice.model) == (kind, model)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("lexcal", "did you mean lexical?"),
        ("lmm", "did you mean llm or openai:lmm?"),
        ("gpt-6-luna", "did you mean openai:gpt-6-luna?"),
        ("llama3.1", "did you mean openai:llama3.1?"),
        ("Qwen/Qwen3-8B", "did you mean openai:Qwen/Qwen3-8B?"),
        ("both:gpt-6.2-sol", "--matcher: .*did you mean openai:gpt-6.2-sol?"),
        ("openai:", "--matcher: unknown model 'openai:'; write openai:gpt-6-luna or openai:"),
        ("two words", "write lexical, llm, both, a model such as openai:gpt-6-luna"),
        ("sk-abcdef", "write lexical"),
    ],
)
def test_what_is_neither_is_refused(text: str, hint: str) -> None:
    with pytest.raises(InputError, match=hint.replace("?", r"\?")) as refused:
        ScoringChoice.parse(text)
    assert "offline" not in str(refused.value)


def test_a_judge_that_is_no_model_is_refused_by_its_option() -> None:
    with pytest.raises(
        InputError, match=r"^--judge: unknown model 'gpt-6.2-sol'; did you mean openai:"
    ):
        ScoringChoice.parse("lexical", judge="gpt-6.2-sol")


def test_a_server_that_does_not_answer_is_named_by_its_option() -> None:
    dead = "openai:m@http://127.0.0.1:1/v1"
    for options, name in (({"matcher": dead}, "--matcher"), ({"judge": dead}, "--judge")):
        choice = ScoringChoice.parse(**{"matcher": "lexical"} | options).resolved(None)
        with pytest.raises(InputError, match=f"^{name}: nothing answers.*the URL in {name}$"):
            choice.check_ready()


@pytest.mark.parametrize("text", ["", " ", "llm:", "both:"])
def test_an_empty_name_is_refused_and_not_replaced_by_another(text: str) -> None:
    with pytest.raises(InputError, match="unknown"):
        ScoringChoice.parse(text)
    with pytest.raises(InputError, match="is empty"):
        MatchOptions(matcher="")
    with pytest.raises(InputError, match="unknown model"):
        ScoringChoice.parse("lexical", judge=text)


def test_models_come_from_the_option_then_the_runs_role_then_its_agent() -> None:
    llm = ScoringChoice.parse("llm", judge_entities=True)
    system = {"model": MODEL, "roles": {"matcher": "openai:other", "judge": None}}
    resolved = llm.resolved(system)
    assert (resolved.model, resolved.judge) == ("openai:other", MODEL)
    named = ScoringChoice.parse("openai:mine", judge="openai:theirs").resolved(system)
    assert (named.model, named.judge) == ("openai:mine", "openai:theirs")


@pytest.mark.parametrize("system", [None, {"model": "offline"}])
def test_without_a_model_the_choice_is_refused(system: dict[str, str] | None) -> None:
    with pytest.raises(InputError, match="--matcher openai:"):
        ScoringChoice.parse("llm").resolved(system)


def test_names_alone_need_no_model() -> None:
    assert ScoringChoice().resolved(None) == ScoringChoice()
    assert not ScoringChoice().asks
    assert ScoringChoice(judge_entities=True).asks


@pytest.mark.parametrize("text", ["lexical", "llm", f"llm:{MODEL}", f"both:{MODEL}"])
def test_options_read_back_as_the_same_choice(text: str) -> None:
    choice = ScoringChoice.parse(text)
    assert choice.options == f"--matcher {text}"
    judged = ScoringChoice.parse(text, judge=MODEL)
    assert judged.options == f"--matcher {text} --judge {MODEL}"
