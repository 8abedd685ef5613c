"""What servers send in answer to a question, played through the command line: what comes of it."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from branchwise.agents import restraints
from branchwise.agents.reply import TEXT_CALLS
from branchwise.runs.store import ItemRow, open_run
from support.agents.played_cases import CaseServer, Played, whole

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("process")]
TABLE = yaml.safe_load((Path(__file__).parent / "played_replies.yaml").read_text())
CASES = Path(os.environ.get("BRANCHWISE_DATA", "")).parent / "cases"
HALF = '{"reasoning": "r", "answers": {"default": ["Orla Quint", "Tom'
LISTED = {"default": ["Tomas Reyl", "Orla Quint"]}
SURE = {"default": ["Tomas Reyl"]}


class Ended:
    """A run of cases: each item, its requests, its trace, and what the command said."""

    def __init__(self, run: Path, server: CaseServer, said: str) -> None:
        self.said, self.requests = said, server.requests
        reader = open_run(run)
        self.items: dict[str, ItemRow] = {row.question.id: row for row in reader.items()}
        self.traces = {id: list(reader.events(row.item)) for id, row in self.items.items()}
        reader.close()

    def outcome(self, name: str) -> Mapping[str, Any]:
        outcome = self.items[name].outcome
        assert outcome is not None
        return outcome

    def answers(self, name: str) -> dict[str, list[str]]:
        assert self.outcome(name)["error"] is None
        return {**self.outcome(name)["prediction"]["answers"]}

    def retries(self, name: str) -> int:
        return sum(event.kind == "retry" for event in self.traces[name])

    def queries(self, name: str) -> list[str]:
        calls = [event.body.call for event in self.traces[name] if event.kind == "tool"]
        return [call.args["query"] for call in calls]


@pytest.fixture
def play(tmp_path, corpus, type_in, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(restraints, "FIRST_WAIT", 0.0)

    def run(cases: Mapping[str, Played], *options: str) -> Ended:
        questions, out = tmp_path / "q.jsonl", tmp_path / "R"
        lines = [
            {"id": name, "question": f"case {name} of the play: who made Heat?", "answers": SURE}
            for name in cases
        ]
        questions.write_text("\n".join(map(json.dumps, lines)))
        with CaseServer(cases) as server:
            model = f"openai:m@{server.url}"
            named = ("--questions", questions, "--corpus", corpus, "--model", model, "--out", out)
            code, said, errors = type_in("run", *named, "--concurrency", 32, *options)
            assert "Traceback" not in errors
            assert code in (0, 1), errors
            return Ended(out, server, " ".join(f"{said}\n{errors}".split()))

    return run


def lines_of(name: str) -> list[dict[str, Any]]:
    file = CASES / f"{name}.jsonl"
    if not file.is_file():
        pytest.skip("the files of cases are not here (BRANCHWISE_DATA)")
    return [json.loads(line) for line in file.read_text().splitlines()]


def is_read(ended: Ended, name: str) -> None:
    """Answered, or one recorded error in plain words."""
    outcome = ended.outcome(name)
    assert outcome["error"] is None
    assert outcome["prediction"]["answers"] or outcome["problem"]


def test_recorded_refusals_of_long_conversations_leave_out_older_results(play):
    cases = {
        row["server"]: Played(json.dumps(row["body"]).encode(), row["status"], after_search=True)
        for row in lines_of("context_length")
    }
    ended = play(cases)
    for name in cases:
        assert ended.answers(name) == SURE
        assert len(ended.requests[name]) == 3
        assert "left out to fit" in json.dumps(ended.requests[name][-1])
        assert not ended.retries(name)


def test_recorded_finish_reasons_are_never_scored_as_finished(play: Callable[..., Ended]) -> None:
    rows = lines_of("finish_reasons")
    cases = {
        row["finish_reason"]: Played(
            json.dumps(whole(row["content"], row["finish_reason"])).encode()
        )
        for row in rows
    }
    ended = play(cases)
    for name in cases:
        told = ended.outcome(name)["usage"]["agent"].get("remarks")
        assert ended.retries(name) or told or ended.outcome(name)["how"] == "failed"


def test_recorded_replies_lose_nothing_in_silence(play: Callable[..., Ended]) -> None:
    cases = {row["case"]: Played.of(row["reply"]) for row in lines_of("replies")}
    ended = play(cases)
    for name in cases:
        if "error" in name:
            assert (ended.retries(name), ended.answers(name)) == (1, SURE)
        elif name.startswith("list_in_"):
            assert ended.answers(name) == LISTED
        elif name.startswith("dup_"):
            (texts,) = ended.answers(name).values()
            assert len(texts) == 2
        elif name == "two_objects":
            assert len(ended.answers(name)) == 2
        elif name.startswith("length_"):
            assert "cut at the token limit" in ended.outcome(name)["usage"]["agent"]["remarks"]
        elif name.startswith("text_call"):
            assert ended.outcome(name)["problem"] == TEXT_CALLS
        elif name.startswith("reasoning_only"):
            (remark,) = ended.outcome(name)["usage"]["agent"]["remarks"]
            assert "in the reasoning" in remark
        else:
            is_read(ended, name)
    for words in ("--tool-protocol text", "cut at the token limit", "in the reasoning"):
        assert words in ended.said


def test_recorded_streams_are_read_as_whole_replies_are(play: Callable[..., Ended]) -> None:
    cases = {row["case"]: Played.of(row["reply"]) for row in lines_of("streams")}
    ended = play(cases, "--stream")
    for name in cases:
        assert ended.answers(name) == SURE
        assert ended.retries(name) == ("error" in name)
        if name.startswith("s_tool"):
            queries = ended.queries(name)
            assert queries[:1] == ["Amber Tide 1971"]
            assert queries[1:] in ([], ["Copper Lane street"])


def test_replies_that_servers_send_are_read_told_or_asked_again(play: Callable[..., Ended]) -> None:
    rows = TABLE["replies"]
    cases = {
        name: Played.of(row)
        if "content" not in row
        else Played(json.dumps(whole(row["content"], row.get("finish", "stop"))).encode())
        for name, row in rows.items()
    }
    ended = play(cases)
    for name, row in rows.items():
        if "problem" in row:
            assert row["problem"] in ended.outcome(name)["problem"], name
            assert len(ended.requests[name]) == 1, name
            continue
        assert ended.answers(name) == row.get("answers", SURE), name
        assert len(ended.requests[name]) == row.get("requests", 1), name
        told = ended.outcome(name)["usage"]["agent"].get("remarks", {})
        assert any(row["tells"] in one for one in told) if "tells" in row else not told, name
        assert row.get("tells", "") in ended.said


def test_finish_reasons_are_read_by_what_they_mean(play: Callable[..., Ended]) -> None:
    rows = {
        f"{meaning}{number}": (meaning, reason)
        for meaning, reasons in TABLE["finish_reasons"].items()
        for number, reason in enumerate(reasons)
    }
    cases = {
        name: Played(json.dumps(whole(HALF, reason)).encode()) for name, (_, reason) in rows.items()
    }
    ended = play(cases)
    for name, (meaning, reason) in rows.items():
        outcome = ended.outcome(name)
        told = outcome["usage"]["agent"].get("remarks")
        what = (
            "interrupted"
            if ended.retries(name)
            else "filtered"
            if outcome["how"] == "failed"
            else "finished"
            if not told
            else "cut"
            if "cut at the token limit" in told
            else "unknown"
        )
        assert what == meaning, (name, reason)


def test_streams_that_servers_send_are_read_as_whole_replies_are(play):
    answer = '{"answers": {"default": ["Ana"]}}'

    def filled(value: Any) -> Any:
        text = json.dumps(value)
        first, second = json.dumps(answer[:10])[1:-1], json.dumps(answer[10:])[1:-1]
        text = text.replace("ANSWER", json.dumps(answer)[1:-1])
        return json.loads(text.replace("ANS", first).replace("WER", second))

    rows, cases = TABLE["streams"], {}
    for name, row in rows.items():
        row = {key: value for key, value in row.items() if key in ("raw", "sse", "json", "calls")}
        if "calls" in row:
            chunks = [
                {"choices": [{"index": 0, "delta": {"tool_calls": [c]}}]} for c in row["calls"]
            ]
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
            row = {"sse": [*chunks, end, "[DONE]"]}
        elif "raw" in row:
            row = {"raw": row["raw"].replace("ANSWER", json.dumps(answer)[1:-1])}
        cases[name] = Played.of(filled(row) if "raw" not in row else row)
    ended = play(cases, "--stream")
    for name, row in rows.items():
        if "calls" in row:
            assert ended.queries(name) == row.get("queries", ["Heat"]), name
        else:
            read = SURE if "requests" in row else {"default": ["Ana"]}
            assert ended.answers(name) == read, name
            assert len(ended.requests[name]) == row.get("requests", 1), name
