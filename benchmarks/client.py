"""What a model call costs in this process, beside the clients underneath.

A chat-completions server in a process of its own answers at once; only this process's processor
time is counted. "branchwise" is `ModelCaller.ask`: digest, request, reading, record in memory.

    python benchmarks/client.py [--calls 200] [--repeats 5]
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_openai_messages
from langchain_openai import ChatOpenAI
from machine import describe_machine
from openai import AsyncOpenAI
from pydantic import SecretStr

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import MemoryJournal
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.spec import ModelSpec

TESTS = Path(__file__).parents[1] / "tests"
Call = Callable[[], Awaitable[object]]


def conversation(turns: int, characters: int) -> list[BaseMessage]:
    """A question and `turns` exchanges of `characters` each."""
    messages: list[BaseMessage] = [HumanMessage("Who directed Heat?")]
    for _ in range(turns):
        messages += [AIMessage("word " * 20), HumanMessage("word " * (characters // 5))]
    return messages


def clients(url: str, messages: list[BaseMessage]) -> Mapping[str, Call]:
    """One call of each client with the same conversation."""
    caller = ModelCaller(ModelSpec.parse(f"openai:m@{url}"), Decoding(), Prompts.load())
    langchain = ChatOpenAI(model="m", base_url=url, api_key=SecretStr("none"), max_retries=0)
    plain = AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    dictionaries: Any = convert_to_openai_messages(messages)
    return {
        "branchwise": lambda: caller.ask(messages, journal=MemoryJournal()),
        "ChatOpenAI": lambda: langchain.ainvoke(messages),
        "AsyncOpenAI": lambda: plain.chat.completions.create(model="m", messages=dictionaries),
    }


async def cpu_ms(call: Call, calls: int, concurrency: int) -> float:
    """Processor milliseconds a call, `concurrency` at a time."""

    async def worker(count: int) -> None:
        for _ in range(count):
            await call()

    await worker(2)
    began = time.process_time()
    await asyncio.gather(*(worker(calls // concurrency) for _ in range(concurrency)))
    return 1000 * (time.process_time() - began) / (calls // concurrency * concurrency)


async def measure(url: str, calls: int, repeats: int) -> None:
    """Print the medians; the clients take turns."""
    print(
        f"{'':28}{'branchwise':>12}{'ChatOpenAI':>12}{'AsyncOpenAI':>13}{'ratio to ChatOpenAI':>21}"
    )
    for size, turns, characters in (("short", 0, 0), ("40 KB, 13 messages", 6, 6500)):
        for concurrency in (1, 32):
            found = clients(url, conversation(turns, characters))
            rounds = [
                {name: await cpu_ms(call, calls, concurrency) for name, call in found.items()}
                for _ in range(repeats)
            ]
            median = {name: statistics.median(r[name] for r in rounds) for name in found}
            ratio = median["branchwise"] / median["ChatOpenAI"]
            cells = "".join(f"{median[n]:{w}.2f}" for n, w in zip(found, (12, 12, 13), strict=True))
            print(f"{f'{size}, {concurrency} at once':28}{cells}{ratio:21.2f}")


def main() -> None:
    """Start the server, measure, stop it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    os.environ["LANGSMITH_TRACING"] = "false"
    command = [sys.executable, "-m", "support.chat_server", "--script", "direct"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        print(describe_machine())
        print(f"CPU ms a call; median of {options.repeats} rounds of {options.calls} calls")
        try:
            asyncio.run(measure(url, options.calls, options.repeats))
        finally:
            server.kill()


if __name__ == "__main__":
    main()
