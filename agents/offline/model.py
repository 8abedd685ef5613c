"""A chat model that needs neither key nor network: a baseline to beat, not a language model.

It sees what any model sees, the messages and the tools' schemas, and calls the same tools. Names
in titles, word overlap and the form of the question word are all that it goes by; see the other
files here. Importing this imports LangChain.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from branchwise.agents.offline.answers import keys_for, read_branches, read_listed, readings
from branchwise.agents.offline.conditional import read_conditional
from branchwise.agents.offline.kg import kg_account, kg_answers, kg_view, next_kg_call
from branchwise.agents.offline.modules import module_reply
from branchwise.agents.offline.view import Seen, View, is_listing
from branchwise.agents.offline.words import (
    asked_name,
    contains_name,
    names,
    sentences,
    stems,
    unique,
    words_beside,
)

PASSAGES_A_CALL = 8
MAX_CALLS, MAX_TURNS = 10, 3
_HOPS = 3

CallArguments = tuple[str, dict[str, Any]]
"""A tool's name and arguments."""


class OfflineChatModel(BaseChatModel):
    """Searches a few times, then reads answers out of what came back. Deterministic."""

    @property
    def _llm_type(self) -> str:
        return "branchwise-offline"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        message = _turn(messages, kwargs.get("tools") or ())
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)


def _turn(messages: list[BaseMessage], schemas: Sequence[Mapping[str, Any]]) -> AIMessage:
    """The model's next message."""
    if not schemas and (text := module_reply(messages)) is not None:
        return AIMessage(content=text)
    tools = _by_use(schemas)
    search, listing = tools.get("search"), tools.get("listing")
    view = View.of(messages, listing["name"] if listing else None)
    if view.wants_groups:
        return AIMessage(content=read_conditional(view.message, in_steps=view.in_steps))
    calls = _calls(search, next_queries(view)) if search else []
    name = asked_name(view.question)
    if listing and name and not view.must_answer and view.turns == 0:
        calls += _calls(listing, [name])
    answers: dict[str, list[str]] = {}
    account = ""
    if not (view.wants_conditions or view.wants_texts):
        kg = kg_view(messages)
        answers = kg_answers(view.question, kg)
        account = kg_account(view.question, kg)
        called = {use: function["name"] for use, function in tools.items()}
        if not view.must_answer and (call := next_kg_call(view.question, kg, called)):
            calls.append(call)
    if not calls:
        return AIMessage(content=orjson.dumps(_answer(view, answers, account)).decode())
    return AIMessage(
        content="",
        tool_calls=[
            {"name": tool, "args": args, "id": f"call_{view.turns}_{n}", "type": "tool_call"}
            for n, (tool, args) in enumerate(calls)
        ],
    )


def _by_use(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The tools' function schemas by what they are good for: "search" and "listing" take one text,
    of passages and of what a name may refer to; "names" and "query" are a graph's."""
    by_use: dict[str, Mapping[str, Any]] = {}
    for function in (schema["function"] for schema in schemas if "function" in schema):
        about = function.get("description", "")
        if "kind" in function.get("parameters", {}).get("properties", {}):
            by_use["names"] = function
        elif "SPARQL" in about:
            by_use["query"] = function
        elif len(_text_arguments(function)) == 1:
            use = "listing" if is_listing(function) else "search"
            known = by_use.setdefault(use, function)
            if "passage" in about.lower() and "passage" not in known.get("description", "").lower():
                by_use[use] = function
    return by_use


def _text_arguments(function: Mapping[str, Any]) -> list[str]:
    properties = function.get("parameters", {}).get("properties", {})
    return [name for name, schema in properties.items() if schema.get("type") == "string"]


def _calls(function: Mapping[str, Any], queries: Sequence[str]) -> list[CallArguments]:
    argument = _text_arguments(function)[0]
    more = {"k": PASSAGES_A_CALL} if "k" in function["parameters"]["properties"] else {}
    return [(function["name"], {argument: query, **more}) for query in queries]


def next_queries(view: View) -> list[str]:
    """Queries for the next turn, none when it is time to answer.

    First the question as it stands, or the readings that it came with; then each reading of the
    asked name with what is asked about it, or the bare name where only one was found; then names
    that the best sentences bring up.
    """
    most = MAX_CALLS + len(view.readings)
    if view.must_answer or view.turns >= MAX_TURNS or len(view.queries) >= most:
        return []
    if not view.queries:
        question = f"{view.question} {view.chosen}".rstrip()
        return unique(view.readings or (question,)) if view.question else []
    asked = {query.lower() for query in view.queries}
    wanted = _about_readings(view) if view.turns == 1 else _about_names(view)
    fresh = [query for query in unique(wanted) if query.lower() not in asked]
    return fresh[: most - len(view.queries)]


def _about_readings(view: View) -> Iterator[str]:
    listed = [Seen("", title, "") for title in view.listed]
    titled = readings(view.question, [*view.passages, *listed])
    for title, own in titled.items():
        yield " ".join([title, *words_beside(view.question, own[0].base)])
    if titled:
        yield next(iter(titled.values()))[0].base
    else:
        yield from _about_names(view)


def _about_names(view: View) -> Iterator[str]:
    """Second hops: names out of the sentences that say most of what the question says."""
    titled = readings(view.question, view.passages)
    sources = [passage for own in titled.values() for passage in own] or view.passages[:3]
    known = {passage.title.lower() for passage in view.passages}
    asked = stems(view.question)
    brought = [
        name[0].rstrip(".")
        for passage in sources
        for name in names(max(sentences(passage.text), key=lambda s: len(stems(s) & asked)))
        if " " in name[0] and not contains_name(view.question, name[0])
    ]
    yield from (name for name in unique(brought)[:_HOPS] if name.lower() not in known)


def _answer(view: View, from_graph: Mapping[str, list[str]], account: str) -> dict[str, Any]:
    if view.wants_conditions:
        return {"conditions": read_listed(view)}
    if view.wants_texts:
        shown = ("answer", "citations")
        return {"answers": [{key: text[key] for key in shown} for text in read_listed(view)]}
    # Out of a graph under the readings that the question came with, where some fit.
    keys = keys_for(view.question, view.readings, dict.fromkeys(from_graph, ""))
    answers = {key: from_graph[name] for name, key in keys.items()} or from_graph
    answers = answers or read_branches(view)
    answers = _of_choice(view.chosen, answers) if view.chosen else answers
    answer: dict[str, Any] = {"reasoning": _reasoning(view, account, reads=not from_graph)}
    if view.wants_verdict:
        answer["ambiguous"] = max(len(answers), len(view.readings)) > 1
    elif view.wants_clarification:
        answer["clarification_question"] = _question_back(view, answers)
    else:
        answer["answers"] = answers
    return answer


def _question_back(view: View, answers: Mapping[str, list[str]]) -> str:
    """One that offers the readings that have answers, those that are told if there are any; or
    else the readings that the question came with; the question itself where there are none."""
    offered = [name for name, texts in answers.items() if set(texts) & set(view.told)]
    offered = offered if len(offered) > 1 else list(answers)
    offered = offered if len(offered) > 1 else list(view.readings)
    *options, last = unique(" ".join(name.split()) for name in offered or [view.question])
    mark = ";" if any("," in name for name in (*options, last)) else ","
    return f"Which one: {f'{mark} '.join([*options, f'or {last}' if options else last])}?"


def _of_choice(chosen: str, answers: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """The answers of the reading whose name has most of the chosen words; none where no reading, or
    several, have."""
    shared = {name: len(stems(name) & stems(chosen)) for name in answers}
    most = [name for name in answers if shared[name] == max(shared.values())]
    is_clear = len(most) == 1 and (len(answers) == 1 or shared[most[0]])
    return {"default": answers[most[0]]} if is_clear else {}


def _reasoning(view: View, account: str, *, reads: bool) -> str:
    """What was done, in the graph and with passages: also where nothing came of it."""
    done = [account] if account else []
    if reads and (view.passages or view.queries):
        titled = readings(view.question, view.passages)
        several = f" with readings {', '.join(titled)}" if len(titled) > 1 else ""
        done.append(f"read {len(view.passages)} passages{several}")
    account = "; ".join(done or ["found nothing to look up or read"])
    return f"{account[0].upper()}{account[1:]} (without a language model)."
