"""What the tests of judging models share: items, a caller of the scripted server, scripts for it.

As a program it aligns the items of a run, in a process that a test may kill:
`python -m support.eval.judging_cases RUN SERVER_URL` in `tests`.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import Journal
from branchwise.agents.prediction import Prediction
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec
from branchwise.eval.items import AnsweredItem
from branchwise.eval.judging.consultant import MemoryJudgements
from branchwise.eval.judging.matcher import MatcherReport, align_with_model
from branchwise.runs.store import RunSpec, RunStore, create_run
from branchwise.runs.store.results import run_judgements
from support.eval.scoring_cases import Gold, question

KEY = "sk-test-0123456789abcdef"
HEAT = {"Heat (1986 film)": ["Burt Reynolds"], "Heat (1995 film)": ["Al Pacino", "Val Kilmer"]}
Mapping_ = Mapping[str, str | None]


def an_item(
    answers: Mapping[str, Sequence[str]],
    gold: Gold = HEAT,
    *,
    id: str = "q1",
    text: str = "Who stars in Heat?",
    epoch: int = 0,
    error: str | None = None,
) -> AnsweredItem:
    """An item with gold and predicted branches of {name: [text, ...]}."""
    prediction = Prediction(answers={name: tuple(texts) for name, texts in answers.items()})
    return AnsweredItem(question(id, gold, text), prediction, epoch, error=error)


async def no_wait(seconds: float) -> None:
    """Retries that do not wait."""


def a_caller(url: str, prompts: Prompts | None = None, **decoding: Any) -> ModelCaller:
    spec = ModelSpec.parse(f"openai:scripted@{url}")
    settings = Decoding(**{"attempts": 2, "timeout": 20.0, **decoding})
    return ModelCaller(spec, settings, prompts or Prompts.load(), sleep=no_wait)


async def align(
    items: Sequence[AnsweredItem], url: str, journal: Journal | None = None, **decoding: Any
) -> tuple[list[AnsweredItem], MatcherReport]:
    """Align items with the scripted server's model, one request after the other."""
    caller = a_caller(url, **decoding)
    try:
        kept = MemoryJudgements() if journal is None else journal
        return await align_with_model(items, caller, kept, concurrency=1)
    finally:
        await caller.aclose()


def user_message(body: Mapping[str, Any]) -> str:
    return next(m["content"] for m in body["messages"] if m["role"] == "user")


def listed(body: Mapping[str, Any], letter: str) -> dict[str, str]:
    """Id to text of what a request lists under a letter."""
    return dict(re.findall(rf"^({letter}\d+): (.*)$", user_message(body), re.MULTILINE))


def by_name(mapping: Mapping_) -> Callable[[Mapping[str, Any]], str]:
    """The reply of a matcher that maps names so, and all others to null."""

    def reply(body: Mapping[str, Any]) -> str:
        ids = {name: id for id, name in listed(body, "r").items()}
        names = listed(body, "n").items()
        return json.dumps({id: ids.get(mapping.get(name) or "") for id, name in names})

    return reply


def make_run(folder: Path, items: Sequence[AnsweredItem]) -> None:
    """A run whose questions and answers are those of the items."""
    create_run(folder, RunSpec("branches", "test", "d", {}, {}, "s", 1, "0"), [
        item.question for item in items
    ])  # fmt: skip
    asyncio.run(_finish(folder, items))


async def _finish(folder: Path, items: Sequence[AnsweredItem]) -> None:
    with RunStore(folder) as store:
        for pending, item in zip(list(store.pending()), items, strict=True):
            prediction = item.prediction.model_dump(mode="json")
            record = {
                "prediction": prediction,
                "how": "strict",
                "evidence": [],
                "usage": {},
                "error": None,
            }
            await store.begin(pending).finish("done", record)


async def _main(run: Path, url: str) -> None:
    from branchwise.runs.store import open_run

    reader = open_run(run)
    items = list(reader.answered_items())
    reader.close()
    with run_judgements(run) as judgements:
        _, report = await align(items, url, judgements)
    sys.stdout.write(json.dumps(report.to_json()))


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), sys.argv[2]))
