"""Tool calls for servers that have none: written and read as fenced JSON in the text."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import orjson

from branchwise.agents.reply import Completion
from branchwise.agents.response_bodies import MAX_CALLS, make_call

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

# What is asked for, and what many open models were trained to write instead.
_BLOCK = re.compile(
    r"```tool(?:_call)?[ \t]*\n(?P<fenced>.*?)(?:\n?```|\Z)"
    r"|<tool_call>(?P<tagged>.*?)(?:</tool_call>|\Z)",
    re.DOTALL,
)
_MARKS = re.compile(
    # Qwen, Hermes, GLM, Granite, MiniMax, Kimi, DeepSeek with their own bars and spaces, LFM2
    r"<[^<>\n]{0,30}tool[_▁ -]?calls?[^<>\n]{0,30}>"
    # Mistral, LM Studio, Nemotron, Phi; Llama, Cohere, FunctionGemma; Claude, Gemma
    r"|\[TOOL_CALLS?\]|\[TOOL_REQUEST\]|<TOOLCALL>|functools\["
    r"|<\|python_tag\|>|<\|START_ACTION\|>|<start_function_call>"
    r"|<function(=|_calls?\b|[ _]name=)|<invoke\b|DSML|<tool_code>|```tool_(code|call)"
    r"|\bto=functions\.",  # gpt-oss
    re.IGNORECASE,
)
"""How models begin a call that their server did not read as one."""
_ANSWER = re.compile(r"""["']answers?["']\s*:|["']conditions["']\s*:|<ans""")
_JSON_FENCE = re.compile(r"```(?:json)?[ \t]*\n(?P<fenced>.*?)\n?```", re.DOTALL)


def describe_tools(schemas: Sequence[Mapping[str, Any]]) -> str:
    """The tools for the system message: name, description and JSON schema of the arguments."""
    return "\n\n".join(
        f"### {function['name']}\n{function.get('description', '')}\n"
        f"Arguments (JSON schema): {orjson.dumps(function.get('parameters', {})).decode()}"
        for function in (schema["function"] for schema in schemas)
    )


def render_messages(messages: Sequence[BaseMessage], instructions: str) -> list[BaseMessage]:
    """The conversation in system, user and assistant messages only: `instructions` (empty without
    tools) ends the system message, earlier calls become the fenced blocks that the model wrote, and
    the results of one turn one user message."""
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

    rendered: list[BaseMessage] = []
    for is_spoken, turn in groupby(messages, key=lambda m: not isinstance(m, ToolMessage)):
        if is_spoken:
            rendered += [AIMessage(_written(m)) if isinstance(m, AIMessage) else m for m in turn]
            continue
        results = [m for m in turn if isinstance(m, ToolMessage)]
        texts = [f"Result of {m.name or m.tool_call_id}:\n{m.text}" for m in results]
        rendered.append(HumanMessage("\n\n".join(texts)))
    if not instructions:
        return rendered
    if rendered and isinstance(rendered[0], SystemMessage):
        return [SystemMessage(f"{rendered[0].text}\n\n{instructions}"), *rendered[1:]]
    return [SystemMessage(instructions), *rendered]


def _written(message: AIMessage) -> str:
    """The text of a turn, and its calls as the model wrote them."""
    blocks = []
    for call in (*message.tool_calls, *message.invalid_tool_calls):
        arguments = call["args"]
        if not isinstance(arguments, str):
            arguments = orjson.dumps({"name": call["name"], "arguments": arguments}).decode()
        blocks.append(f"```tool\n{arguments}\n```")
    return "\n\n".join(part for part in (message.text, *blocks) if part)


def read_calls(completion: Completion, turn: int, names: Collection[str]) -> Completion:
    """`completion` with the calls that are written in its text.

    `turn` (assistant messages so far) makes the calls' ids unique in the conversation. A block of
    plain JSON is a call where it names one of the tools (`names`) and its arguments. What follows
    the last block is dropped: models like to imagine the result there.
    """
    blocks = list(_BLOCK.finditer(completion.text)) or [
        fence for fence in _JSON_FENCE.finditer(completion.text) if _names_a_tool(fence[1], names)
    ]
    if not blocks:
        return completion
    ends = [0, *(block.end() for block in blocks)]
    kept = [completion.text[at : block.start()] for at, block in zip(ends, blocks, strict=False)]
    texts = [next(filter(None, block.groups()), "").strip() for block in blocks[:MAX_CALLS]]
    read = [made for text in texts for made in _calls_of(text)][:MAX_CALLS]
    numbered = [{**call, "id": f"call_{turn}_{n}"} for n, call in enumerate(read)]
    return replace(
        completion,
        text="".join(kept).strip(),
        tool_calls=tuple(call for call in numbered if "error" not in call),
        invalid_tool_calls=tuple(call for call in numbered if "error" in call),
        finish="tool_calls" if completion.finish == "stop" else completion.finish,
    )


def is_written_call(text: str, names: Collection[str]) -> bool:
    """Whether a reply is a call of one of the tools (`names`) that is written as text, in whatever
    way a model does that, and no answer."""
    if not names or _ANSWER.search(text):
        return False
    named = "|".join(map(re.escape, names))
    if _MARKS.search(text):
        return True
    return bool(
        re.search(
            rf"""["']?(name|function|tool|action)["']?\s*[:=]\s*["']?(functions\.)?({named})\b"""
            # Within a line: a run of empty lines would be read again from each of them.
            rf"|^[ \t]*(?:\[[ \t]*)?({named})\(\w+[ \t]*=|^[ \t]*({named})[ \t]*\{{",
            text,
            re.IGNORECASE | re.MULTILINE,
        )
    )


def _names_a_tool(text: str, names: Collection[str]) -> bool:
    try:
        data = orjson.loads(text)
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("name") in names and "arguments" in data


def _calls_of(text: str) -> list[dict[str, Any]]:
    try:
        data = orjson.loads(text)
    except ValueError as reason:
        return [_invalid(text, f"the call is no valid JSON: {reason}")]
    calls = data if isinstance(data, list) else [data]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in calls):
        return [_invalid(text, 'a call must be an object with "name" and "arguments"')]
    return [make_call(call["name"], call.get("arguments"), "") for call in calls]


def _invalid(text: str, error: str) -> dict[str, Any]:
    return {"name": None, "args": text, "id": "", "error": error, "type": "invalid_tool_call"}
