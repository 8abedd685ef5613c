"""A chat model that needs neither key nor network: a baseline to beat, not a language model.

It sees what any model sees, the messages and the tools' schemas, and calls the same tools. Names
in titles, word overlap and the form of the question word are all that it goes by; see the other
files here. Importing this imports LangChain.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from branchwise.agents.offline.branches import read_branches
from branchwise.agents.offline.conditional import read_conditional
from branchwise.agents.offline.conditions import read_listed
from branchwise.agents.offline.kg import (
    kg_account,
    kg_answers,
    kg_view,
    next_kg_call,
)
from branchwise.agents.offline.modules import module_reply
from branchwise.agents.offline.readings import keys_for, readings
from branchwise.agents.offline.searches import next_queries
from branchwise.agents.offline.view import View, is_listing
from branchwise.agents.offline.words import asked_name, stems, unique

PASSAGES_A_CALL = 8

CallArguments = tuple[str, dict[str, Any]]
"""A tool's name and arguments."""


class OfflineChatModel(BaseChatModel):
    """Searches a few times, then reads answers out of what came back. Deterministic."""

    @property
    def _llm_type(self) -> str:
        return "branchwise-offline"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with `tools`; `tool_choice="none"` makes it answer at once."""
        schemas = [convert_to_openai_tool(tool) for tool in tools]
        return self.bind(tools=schemas, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        schemas: Sequence[Mapping[str, Any]] = kwargs.get("tools") or ()
        if not schemas and (text := module_reply(messages)) is not None:
            return _result(AIMessage(content=text))
        tools = _by_use(schemas)
        listing = tools.get("listing")
        view = View.of(messages, listing["name"] if listing else None)
        if view.wants_groups:
            text = read_conditional(view.message, in_steps=view.in_steps)
            return _result(AIMessage(content=text))
        is_free = kwargs.get("tool_choice") != "none"
        calls: list[CallArguments] = []
        if is_free and (search := tools.get("search")):
            calls += _calls(search, next_queries(view))
        name = asked_name(view.question)
        may_call = is_free and not view.must_answer
        if listing and name and may_call and view.turns == 0:
            calls += _calls(listing, [name])
        answers: dict[str, list[str]] = {}
        account = ""
        if not (view.wants_conditions or view.wants_texts):
            kg = kg_view(messages)
            answers = kg_answers(view.question, kg)
            account = kg_account(view.question, kg)
            names = {use: function["name"] for use, function in tools.items()}
            if may_call and (asked := next_kg_call(view.question, kg, names)):
                calls.append(asked)
        message = _message(calls, view.turns) if calls else _answer(view, answers, account)
        return _result(message)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return self._generate(messages, stop, None, **kwargs)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


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
    query_name = _text_arguments(function)[0]
    takes_k = "k" in function["parameters"]["properties"]
    more = {"k": PASSAGES_A_CALL} if takes_k else {}
    return [(function["name"], {query_name: query, **more}) for query in queries]


def _message(calls: Sequence[CallArguments], turn: int) -> AIMessage:
    return AIMessage(
        content="",
        tool_calls=[
            {"name": name, "args": args, "id": f"call_{turn}_{n}", "type": "tool_call"}
            for n, (name, args) in enumerate(calls)
        ],
    )


def _answer(view: View, from_graph: Mapping[str, list[str]], account: str) -> AIMessage:
    if view.wants_conditions:
        answer: dict[str, Any] = {"conditions": read_listed(view)}
    elif view.wants_texts:
        told = ("answer", "citations")
        answer = {"answers": [{key: one[key] for key in told} for one in read_listed(view)]}
    else:
        answers = _under_readings(view, from_graph) or read_branches(view)
        answers = _of_choice(view.chosen, answers) if view.chosen else answers
        answer = {"reasoning": _reasoning(view, account, reads=not from_graph)}
        if view.wants_verdict:
            answer["ambiguous"] = max(len(answers), len(view.readings)) > 1
        elif view.wants_clarification:
            answer["clarification_question"] = _question_back(view, answers)
        else:
            answer["answers"] = answers
    return AIMessage(content=orjson.dumps(answer).decode())


def _question_back(view: View, answers: Mapping[str, list[str]]) -> str:
    """One that offers the readings that have answers, those that are told if there are any; or
    else the readings that the question came with; the question itself where there are none."""
    told = [name for name, texts in answers.items() if set(texts) & set(view.told)]
    found = told if len(told) > 1 else list(answers)
    found = found if len(found) > 1 else list(view.readings)
    *options, last = unique(" ".join(name.split()) for name in found or [view.question])
    mark = ";" if any("," in name for name in (*options, last)) else ","
    offered = f"{mark} ".join([*options, f"or {last}" if options else last])
    return f"Which one: {offered}?"


def _of_choice(chosen: str, answers: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """The answers of the reading whose name has most of the chosen words; none where no reading, or
    several, have."""
    shared = {name: len(stems(name) & stems(chosen)) for name in answers}
    most = [name for name in answers if shared[name] == max(shared.values())]
    is_told = len(most) == 1 and (len(answers) == 1 or shared[most[0]])
    return {"default": answers[most[0]]} if is_told else {}


def _under_readings(view: View, answers: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Answers out of a graph under the readings that the question came with, where some fit."""
    keys = keys_for(view.question, view.readings, dict.fromkeys(answers, ""))
    return {key: answers[name] for name, key in keys.items()} or answers


def _reasoning(view: View, account: str, *, reads: bool) -> str:
    """What was done, in the graph and with passages: also where nothing came of it."""
    done = [account] if account else []
    if reads and (view.passages or view.queries):
        found = readings(view.question, view.passages)
        several = f" with readings {', '.join(found)}" if len(found) > 1 else ""
        done.append(f"read {len(view.passages)} passages{several}")
    if not done:
        done = ["found nothing to look up or read"]
    told = "; ".join(done)
    return f"{told[0].upper()}{told[1:]} (without a language model)."
