"""Any tool behind MCP: what it returns or raises becomes a result that can be sent."""

import asyncio
from datetime import datetime

import pytest
from langchain_core.tools import StructuredTool, ToolException

from branchwise.tools.errors import ToolError
from branchwise.tools.serving.mcp_server import (
    MAX_STRUCTURED_BYTES,
    MAX_TEXT_CHARS,
    call,
    listed,
)


def tool_that(answer, artifact=None):
    """A tool with this text and artifact; an exception is raised."""

    async def probe(number: int = 0):
        if isinstance(answer, BaseException):
            raise answer
        return answer, artifact

    return StructuredTool.from_function(
        coroutine=probe,
        name="probe",
        description="Probes.",
        response_format="content_and_artifact",
    )


async def called(answer, artifact=None, arguments=None):
    result = await call({"probe": tool_that(answer, artifact)}, "probe", arguments or {})
    result.model_dump_json()  # as it is sent
    [part] = result.content
    return result.isError, part.text, result.structuredContent


async def test_text_and_artifact_come_apart():
    assert await called("text", {"rows": [1, None, "é"]}) == (
        False,
        "text",
        {"rows": [1, None, "é"]},
    )


@pytest.mark.parametrize(
    "artifact",
    [None, {}, "text", 7, {"x": object()}, {"x": "\ud800"}, {"x": 2**70}, {1: "x"}],
)
async def test_an_artifact_that_is_no_plain_object_is_left_out(artifact):
    assert await called("text", artifact) == (False, "text", None)


async def test_dates_in_artifacts_are_written_as_json_writes_them():
    assert (await called("t", {"on": datetime(2026, 1, 2)}))[2] == {"on": "2026-01-02T00:00:00"}


async def test_what_is_too_large_is_cut_or_left_out():
    is_error, text, structured = await called(
        "x" * (MAX_TEXT_CHARS + 1), {"x": "y" * MAX_STRUCTURED_BYTES}
    )
    assert not is_error
    assert text == "x" * MAX_TEXT_CHARS + f"\n[cut: {MAX_TEXT_CHARS + 1} characters]"
    assert structured is None


async def test_halves_of_characters_can_be_sent():
    assert await called("a \ud800 b") == (False, "a ? b", None)
    assert (await called(ToolError("a \ud800 b")))[1] == "a ? b"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError("line 1\n  ^ here"), "line 1\n  ^ here"),
        (ToolException("no"), "ToolException: no"),
        (RuntimeError("two\nlines"), "RuntimeError: two lines"),
        (ValueError("x" * 1000), ("ValueError: " + "x" * 1000)[:500]),
        (TimeoutError(), "TimeoutError: "),
    ],
)
async def test_what_is_raised_is_an_error_result(error, said):
    assert (await called(error))[:2] == (True, said.rstrip())


async def test_bad_arguments_name_the_argument():
    assert (await called("text", arguments={"number": "many"}))[:2] == (
        True,
        "bad arguments: number: Input should be a valid integer, unable to parse string as an "
        "integer",
    )


async def test_a_call_that_hangs_ends_at_its_limit():
    async def hang() -> str:
        """Hangs."""
        await asyncio.Event().wait()
        return ""

    tool = StructuredTool.from_function(coroutine=hang)
    result = await call({"hang": tool}, "hang", {}, seconds=0.01)
    assert result.isError
    assert result.content[0].text == "no result within 0 seconds"


def test_a_tool_is_listed_with_its_schema():
    shown = listed(tool_that("x"))
    assert (shown.name, shown.description) == ("probe", "Probes.")
    assert shown.inputSchema["properties"] == {"number": {"default": 0, "type": "integer"}}
