"""The agent in inspect_ai: the same prompt's length, tool, searches, budget of turns and answer.

Run by `compare.py` in the environment that `install.sh` makes:

    python benchmarks/peers/inspect_agent.py URL FOLDER QUESTIONS AT_ONCE
"""

import json
import sys
from pathlib import Path

import bm25s
import Stemmer
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate, system_message, use_tools
from inspect_ai.tool import Tool, tool

K = 5


@tool
def local_retriever(folder: Path) -> Tool:
    rows = [json.loads(line)["contents"] for line in (folder / "C.jsonl").open()]
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    index.index(bm25s.tokenize(rows, stemmer=stemmer, show_progress=False), show_progress=False)

    async def execute(query: str) -> str:
        """Search a corpus of passages.

        Args:
            query: What to search for.
        """
        tokens = bm25s.tokenize([query], stemmer=stemmer, show_progress=False)
        found, _ = index.retrieve(tokens, corpus=rows, k=K, show_progress=False)
        return "\n\n".join(found[0])

    return execute


@scorer(metrics=[mean(), stderr()])
def right() -> Scorer:
    """The share of gold answers that are named."""

    async def score(state: TaskState, target: Target) -> Score:
        answers = json.loads(state.output.completion)["answers"]
        named = {text for texts in answers.values() for text in texts}
        return Score(value=len(named & set(target)) / len(target))

    return score


def samples(path: Path, count: int) -> list[Sample]:
    """The questions with all gold answers of their readings."""
    rows = [json.loads(line) for line in path.open()][:count]
    return [
        Sample(
            id=row["id"],
            input=row["question"],
            target=[a["text"] for branch in row["branches"] for a in branch["answers"]],
        )
        for row in rows
    ]


def main() -> None:
    url, folder, count, at_once = sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:5])
    prompt = (folder / "prompt.txt").read_text()
    task = Task(
        dataset=samples(folder / "q.jsonl", count),
        solver=[
            system_message(prompt),
            use_tools(local_retriever(folder)),
            generate(tool_calls="loop"),
        ],
        scorer=right(),
    )
    model = get_model("openai/m", base_url=url, api_key="none", responses_api=False)
    (log,) = eval(
        task,
        model=model,
        max_connections=at_once,
        max_samples=at_once,
        log_dir=str(folder / "logs"),
        display="none",
    )
    assert log.status == "success", log.error
    assert log.results is not None
    print(json.dumps({"scored": log.results.completed_samples}))


if __name__ == "__main__":
    main()
