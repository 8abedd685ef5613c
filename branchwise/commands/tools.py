"""`branchwise tools`: list, show, try and create the tools that an agent may call."""

import asyncio
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from branchwise.base.plugins.declare import read_settings
from branchwise.base.text import printable
from branchwise.commands.new_tool import write_tool
from branchwise.commands.options import AsJson, Key, read_keys
from branchwise.corpora.retrieval import MAX_K
from branchwise.report.terminal.console import echo, print_json
from branchwise.tools.registry import installed_tools, known_tools
from branchwise.trace.artifacts import RENDERED
from branchwise.trace.events import Tool

tools_app = typer.Typer(no_args_is_help=True, add_completion=False)

Spec = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A tool by NAME, file.py:NAME, package.module:NAME, or mcp:COMMAND, mcp:URL.",
    ),
]


@tools_app.command("list")
def list_tools(json_output: AsJson = False) -> None:
    """List the tools, one per line: built-in ones, then those of installed packages. No package is
    imported; `branchwise tools show NAME` says what its tools do.

    Example: branchwise tools list
    """
    known, installed = known_tools(), installed_tools()
    if json_output:
        listed = [{"name": n, "from": "branchwise", "summary": s} for n, s in known.items()]
        listed += [{"name": n, "from": package} for n, package in installed.items()]
        print_json(listed)
        return
    _print([f"{name}  {summary}" for name, summary in known.items()])
    _print([f"{name}  of the package {package}" for name, package in installed.items()])


@tools_app.command()
def show(spec: Spec, key: Key = None, json_output: AsJson = False) -> None:
    """Show a tool: what a model sees of it, its limit, settings and source.

    Example: branchwise tools show film_year.py:film_year
    """
    # Lists and help need none of what plug-ins are made of.
    from branchwise.commands.tool_card import cards_of

    cards = cards_of(spec, read_keys(key))
    if json_output:
        print_json([card.to_json() for card in cards])
        return
    for card in cards:
        _print(card.lines())


@tools_app.command("try")
def try_one(
    spec: Spec,
    args: Annotated[
        str, typer.Option(help="Arguments as a model would write them: a JSON object.")
    ] = "{}",
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder.")] = None,
    retriever: Annotated[str | None, typer.Option(help="Index, for local_retriever.")] = None,
    k: Annotated[int | None, typer.Option(help="Passages per search.", min=1, max=MAX_K)] = None,
    kg: Annotated[str | None, typer.Option(help="Knowledge graph: folder or endpoint.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.KEY=VALUE", help="A plug-in's setting; repeatable."),
    ] = None,
    question: Annotated[str, typer.Option(help="The question, for a tool that reads it.")] = "",
    model: Annotated[str | None, typer.Option(help="Model, for a tool that asks one.")] = None,
    key: Key = None,
    json_output: AsJson = False,
) -> None:
    """Call a tool as an agent would, and print what the model would read. Below it comes what only
    the trace keeps: the artifact. Exits with 1 if the call failed.

    Example: branchwise tools try film_year.py:film_year --args '{"title": "King Kong"}'
    """
    from branchwise.commands.tool_call import read_arguments, try_tool

    call = try_tool(
        spec,
        read_arguments(args),
        corpus=corpus,
        retriever=retriever,
        k=k,
        kg=kg,
        settings=read_settings(set_ or ()),
        question=question,
        model=model,
        keys=read_keys(key),
    )
    result = asyncio.run(call)
    if json_output:
        kept = ("content", "error", "failure", "artifact", "asked", "seconds")
        record = result.record()
        print_json({name: record[name] for name in kept if name in record})
    else:
        _print(_outcome(result))
    sys.exit(1 if result.error is not None else 0)


@tools_app.command()
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the tool, such as film_year.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
) -> None:
    """Write a tool to start from, with its test: NAME.py and test_NAME.py. Overwrites nothing.

    Example: branchwise tools new film_year
    """
    from shlex import quote

    tool, test = write_tool(name, out)
    spec = quote(f"{tool}:{name}")
    _print(
        [
            f"{tool} and {test} are written; next:",
            f"  python -m pytest {quote(str(test))}",
            f"  branchwise tools show {spec}",
            f"  branchwise tools try {spec} --args " + """'{"text": "two words"}'""",
        ]
    )


def _outcome(result: Tool) -> Iterable[str]:
    import orjson

    yield f"the model reads ({result.seconds:.2f} s)"
    yield from _below(result.content)
    artifact, lines = result.found.data, result.found.rendered
    if isinstance(lines, list):
        yield "shown in the trace"
        yield from _below("\n".join(map(str, lines)))
        artifact = result.found.without(RENDERED)
    if artifact:
        yield "artifact"
        yield from _below(orjson.dumps(artifact, option=orjson.OPT_INDENT_2).decode())


def _below(text: str) -> Iterable[str]:
    return (f"  {line}" for line in text.splitlines() or [""])


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        echo(printable(line))
