"""What a model server says: bodies, streams, answers, tool calls, verdicts. The run has to end."""

import functools
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.servers import Answer, serving
from fuzzing.target import Check, Opened, Target
from fuzzing.typed import typed
from fuzzing.verdicts import FoundError, Verdict, plain

Reply = Callable[[bytes], Answer]
"""From an input to what the server answers."""

_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "local_retriever", "arguments": '{"query": "King Kong", "k": 2}'},
}
_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
_ANSWER = (
    '{"reasoning": "It is known.", "answers": {"King Kong (1933 film)": ["Merian C. Cooper"]}}'
)


def body(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": _USAGE,
    }


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "choices": [choice], **more}
    return b"data: " + json.dumps(chunk).encode()


_BODIES = [
    json.dumps(value).encode()
    for value in (
        body({"content": _ANSWER}),
        body({"content": None, "tool_calls": [_CALL, _CALL | {"id": "c2"}]}, "tool_calls"),
        body({"content": "<think>hm</think>" + _ANSWER, "reasoning_content": "So."}),
        body({"content": [{"type": "text", "text": _ANSWER}], "refusal": None}, "length"),
        body({"content": [{"type": "thinking", "thinking": [{"text": "hm"}]}]}, "unheard_of"),
        body({"content": "half", "function_call": _CALL["function"]}, "error"),
        {"error": {"code": 429, "message": "Slow down"}, "choices": []},
        {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
    )
]
_ERRORS = [
    json.dumps({"error": {"message": "No.", "type": "t", "param": None, "code": "c"}}).encode(),
    json.dumps({"object": "error", "message": "This is too long.", "code": 400}).encode(),
    json.dumps([{"error": {"message": "The prompt has 5 tokens > 4", "code": 400}}]).encode(),
    json.dumps({"error": "Rate limit exceeded: free-models-per-day"}).encode(),
    json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "not known", "type": "x"}]}).encode(),
]
_STREAMS = [
    b"\n\n".join(
        (
            _chunk({"role": "assistant", "content": ""}),
            _chunk({"reasoning_content": "So"}),
            *(_chunk({"content": _ANSWER[at : at + 30]}) for at in range(0, len(_ANSWER), 30)),
            _chunk({}, "stop"),
            b"data: " + json.dumps({"choices": [], "usage": _USAGE}).encode(),
            b"data: [DONE]\n\n",
        )
    ),
    b"\n\n".join(
        (
            _chunk({"tool_calls": [{"index": 0} | _CALL]}),
            _chunk({"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "x"}}]}),
            _chunk({"tool_calls": [{"index": 1, "function": {"arguments": '{"a": 1}'}}]}),
            _chunk({}, "tool_calls"),
            b"data: [DONE]\n\n",
        )
    ),
    b"\n".join(
        (
            _chunk({"tool_calls": [_CALL]}),
            _chunk({"tool_calls": [_CALL]}),
            _chunk({"content": [{"type": "text", "text": _ANSWER}]}),
            b'data: {"choices": [{"message": {"content": "whole"}, "finish_reason": "abort"}]}',
            b"event: error",
            b'data: {"object": "error", "message": "gone", "code": 500}',
            b"data: [DONE]",
        )
    ),
    _BODIES[0],
]
_ANSWERS = [
    text.encode()
    for text in (
        _ANSWER,
        "```json\n" + _ANSWER + "\n```\nThat is all.",
        '{"answers": [{"branch": "default", "entities": ["Jackson"]}], "citations": {"a": [1]}}',
        '<think>\nLet me see.\n</think>\n{"answers": {"default": "Peter Jackson"}}',
        '{"readings": ["King Kong (1933 film)", "King Kong (2005 film)"]}',
        '{"spans": ["Merian C. Cooper", "1933"], "relevant": true}',
        '```tool_call\n{"name": "local_retriever", "arguments": {"query": "x"}}\n```',
        '{"answers": {"a": ["x"]}}\n{"answers": {"b": "[\'y\' \'z\']", "b": ["w"]}}',
        'First:\n{"answers": {"a": ["x"]}}\nThen:\n{"answers": {"b": "[\\"y\\", 1]"}}',
        '<function=local_retriever>{"query": ["King Kong"]}</function>',
    )
]
_ARGUMENTS = [
    json.dumps(value).encode()
    for value in (
        {"name": "local_retriever", "arguments": {"query": "King Kong", "k": 3}},
        {"name": "wikidata_search", "arguments": {"text": "Reef", "kind": "item", "limit": 5}},
        {"name": "wikisparql", "arguments": {"query": "SELECT ?a WHERE { ?a wdt:P31 wd:Q5 }"}},
    )
]
_VERDICTS = [b'{"n1": "r1", "n2": null}', b'```\n{"n1": "r2", "n2": "r1"}\n```', b"n1: r1"]


def as_body(data: bytes) -> Answer:
    return Answer(data)


def _as_error(data: bytes) -> Answer:
    return Answer(data, status=400 + sum(data[:64]) % 4)


def _as_stream(data: bytes) -> Answer:
    return Answer(data, "text/event-stream")


def _as_text(data: bytes) -> Answer:
    text = data.decode("utf-8", "surrogateescape")
    return Answer(json.dumps(body({"content": text})).encode())


def _as_call(data: bytes) -> Answer:
    """A tool call where the input is an object with a name; else its text as arguments."""
    try:
        call = json.loads(data)
        name, arguments = call["name"], call["arguments"]
    except (ValueError, TypeError, KeyError, RecursionError):
        name, arguments = "wikisparql", data.decode("utf-8", "replace")
    if not isinstance(arguments, str) and len(data) % 2:
        arguments = json.dumps(arguments)
    call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return Answer(json.dumps(body({"tool_calls": [call]}, "tool_calls")).encode())


_CONDITIONS = {
    "mdcr": 1,
    "documents": [
        {
            "id": id,
            "title": id,
            "domain": "offers",
            "sentences": {"c0": "<h1>An offer</h1>", "c1": "<p>One.</p>", "c2": "<p>Two.</p>"},
            "conditions": {"c1": "c1", "c2": "c2"},
            "expression": "c1 AND c2",
        }
        for id in ("doc1", "doc2")
    ],
    "relations": [{"kind": "equivalent", "between": ["doc1-c1", "doc2-c1"]}],
    "scenarios": [
        {"id": "q1", "documents": ["doc1", "doc2"], "text": "Here.", "values": {}, "kinds": ["q3"]}
    ],
}
_CONDITIONAL = [
    text.encode()
    for text in (
        '<ans>2</ans> <cond>[["doc2-c1", "doc1-c2", "doc2-c2"]]</cond>',
        "Both.\n<ans>yes</ans> <cond>[['doc1-c1'], [doc2.c2, doc1-c2]]</cond>",
        '```json\n{"ans": 1, "cond": [["doc1-c1", "doc1-c2"], "doc2-c1"]}\n```',
        "<ans>0</ans> <cond>[]</cond> <ans>two</ans> <cond>doc1-c1, doc9-c9",
    )
]


def in_run(
    reply: Reply, with_kg: bool = False, conditional: bool = False, **settings: Any
) -> Callable[[Ground, Path], Opened]:
    """A question is run with a model that answers everything so; it ends scored, or as failed."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        from branchwise.agents.decoding import Decoding
        from branchwise.corpora.loaders import load_questions
        from branchwise.graphs.budget import Budget
        from branchwise.graphs.system import System

        if conditional:
            (here / "q.json").write_text(json.dumps(_CONDITIONS))
            questions, sources = load_questions(f"mdcr:{here / 'q.json'}"), {}
        else:
            questions = load_questions(str(ground.questions))
            sources = {"corpus": str(ground.corpus), "retriever": "bm25"}
        if with_kg:
            sources["kg"] = str(ground.kg)
        kept = ("stream", "tool_protocol", "structured")
        chosen = {k: settings.pop(k) for k in kept if k in settings}
        with serving() as server:
            system = System(
                model=f"openai:m@{server.url}/v1",
                decoding=Decoding(attempts=1, timeout=20, **chosen),
                budget=Budget(turns=1 if conditional else 3, calls=4, seconds=20),
                **sources,
                **settings,
            )

            def check(data: bytes) -> Verdict:
                server.answer = reply(data)
                return _answered(questions, system, here / "R", "q1-q3" if conditional else "q1")

            yield check

    return opened


def _answered(questions: Any, system: Any, out: Path, id: str) -> Verdict:
    """Run the first question; whether it ended with an answer."""
    from branchwise.eval.selection import Selection
    from branchwise.runs import experiment
    from branchwise.runs.scoring.score import ScoringSettings, score_answers

    shutil.rmtree(out, ignore_errors=True)
    made = experiment.run(questions, system, out=out, selection=Selection(limit=1))
    if made.state.stopped:
        return plain(made.state.stopped, "refused")
    reader = made.open()
    try:
        (row,) = reader.items()
    finally:
        reader.close()
    if row.outcome is None:
        raise FoundError("the item has no outcome")
    scored = score_answers(out, ScoringSettings(prices=_prices(), saves=False))
    json.dumps(scored.to_json())
    code, _, errors = typed("trace", "R", "--print", "--question", id)
    if code:
        raise FoundError(f"its trace: exit code {code} and {errors[-1000:]}")
    error = row.outcome["error"]
    return plain(error, "refused") if error else "accepted"


@functools.cache
def _prices() -> Any:
    from branchwise.runs.costs.prices import Prices

    return Prices.load(None)


@contextmanager
def _scoring(ground: Ground, here: Path) -> Iterator[Check]:
    """A model aligns and judges the answers of a predictions file."""
    from branchwise.agents.decoding import Decoding
    from branchwise.eval.scoring_choice import ScoringChoice
    from branchwise.runs.scoring.score import PredictionsFile, ScoringSettings, score_answers

    predictions = here / "p.jsonl"
    answers = {"The old film": ["M. Cooper"], "The new film": ["P. Jackson", "Someone"]}
    predictions.write_text(json.dumps({"id": "q1", "answers": answers}) + "\n")
    with serving() as server:
        model = f"openai:m@{server.url}/v1"
        settings = ScoringSettings(
            ScoringChoice.parse(f"llm:{model}", judge_entities=True, judge=model),
            decoding=Decoding(attempts=1, timeout=20),
        )

        def check(data: bytes) -> Verdict:
            server.answer = _as_text(data)
            scored = score_answers(PredictionsFile(predictions, str(ground.questions)), settings)
            json.dumps(scored.to_json())
            return "accepted"

        yield check


@contextmanager
def _writing(ground: Ground, here: Path) -> Iterator[Check]:
    """A model words documents and scenarios; what it says is the same for all of them."""
    from branchwise.corpora.conditions.conditions_file import conditions_record, parse_conditions
    from branchwise.worlds.conditions.generate import MdcrSettings, draft_set
    from branchwise.worlds.conditions.rewording import reword

    drafts = draft_set(MdcrSettings(documents=6, groups=1, scenarios=3))

    def check(data: bytes) -> Verdict:
        text = data.decode("utf-8", "replace")
        found = reword(drafts, lambda prompts: [text] * len(prompts))[0].finished()
        parse_conditions(json.loads(json.dumps(conditions_record(found))), "f")
        return "accepted"

    yield check


_SENTENCES = [
    b"1. I sing in a choir.\n2. My average is at least 3.6.\n3) I do not live in Teal County.\n",
    b"Here you are:\n\n1. You must be under 25 years old or sing in a choir.\n2: No.\n",
]
_RUN = ("questions", "corpus")
_MODULES = in_run(_as_text, expand=True, extract=True, tool_protocol="text")
TARGETS = (
    Target("sentences-of-writers", forms.text, lambda _: _SENTENCES, _writing),
    Target("replies", forms.json_value, lambda _: _BODIES, in_run(as_body), _RUN),
    Target("errors-of-models", forms.json_value, lambda _: _ERRORS, in_run(_as_error), _RUN, False),
    Target("streams", forms.events, lambda _: _STREAMS, in_run(_as_stream, stream=True), _RUN),
    Target("answers", forms.json_texts, lambda _: _ANSWERS, in_run(_as_text), _RUN),
    Target(
        "conditional-answers",
        forms.json_texts,
        lambda _: _CONDITIONAL,
        in_run(_as_text, conditional=True),
    ),
    Target("answers-of-modules", forms.json_texts, lambda _: _ANSWERS, _MODULES, _RUN),
    Target(
        "tool-arguments",
        forms.json_value,
        lambda _: _ARGUMENTS,
        in_run(_as_call, with_kg=True),
        (*_RUN, "kg"),
    ),
    Target("verdicts", forms.json_texts, lambda _: _VERDICTS, _scoring, ("questions",)),
)
