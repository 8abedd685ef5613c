"""`branchwise serve`: the corpus and the tools, for other programs."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from branchwise.agents.prompt_files import Prompts
from branchwise.base.errors import InputError, require
from branchwise.base.text import printable
from branchwise.commands.options import Key, read_keys
from branchwise.commands.running import allow_open_files
from branchwise.corpora.kinds import DEFAULT, NAMES
from branchwise.corpora.open import open_retriever
from branchwise.corpora.retrieval import MAX_K
from branchwise.kg.open import open_kg
from branchwise.report.terminal.console import echo, output
from branchwise.tools.batcher import Batcher
from branchwise.tools.registry import KG_TOOLS, ToolContext, make_tools, sections

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from branchwise.tools.web_server import Listener


serve_app = typer.Typer(no_args_is_help=True, add_completion=False)

Searched = Annotated[
    str | None,
    typer.Option(
        help=f"{NAMES}, an index name, http:URL or flashrag:FILE. "
        f"Default: the only one, or {DEFAULT}."
    ),
]

Passages = Annotated[
    int | None,
    typer.Option(help="Passages per search. Default: the client chooses.", min=1, max=MAX_K),
]
ToolNames = Annotated[
    list[str] | None,
    typer.Option(help="Tool by name; repeatable. Default: all that --corpus and --kg allow."),
]


@serve_app.command()
def retrieve(
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder to search.")] = None,
    retriever: Searched = None,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Any but the loopback address lets other machines in."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: any free port.", min=0, max=65535)] = 8000,
    key: Key = None,
) -> None:
    """Answer Search-R1's POST /retrieve from a corpus, until Ctrl-C.

    Example: branchwise serve retrieve --corpus C --port 8000
    """
    require("serve", "serving")
    from branchwise.tools import retrieval_server as service
    from branchwise.tools import web_server as web

    keys = read_keys(key)
    listener = web.listen(host, port, "--host, --port")
    opened = open_retriever(corpus, retriever, keys=keys)
    app = service.retrieve_app(Batcher(opened), _complain, only_loopback=listener.is_local)
    _serve(app, listener, f"{service.PATH} ({opened.name}{f' of {corpus}' if corpus else ''})")


@serve_app.command()
def mcp(
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder for local_retriever.")] = None,
    retriever: Searched = None,
    k: Passages = None,
    kg: Annotated[
        str | None,
        typer.Option(help="Knowledge graph: a built graph's folder, a world, or an endpoint."),
    ] = None,
    tool: ToolNames = None,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve over streamable HTTP at /mcp instead of standard input and output.",
        ),
    ] = None,
    key: Key = None,
) -> None:
    """Serve the search tools to an MCP client, over standard input and output or HTTP.

    Example: branchwise serve mcp --corpus C --kg W
    """
    require("mcp", "serving")
    from branchwise.tools import mcp_server
    from branchwise.tools import web_server as web

    # The client is told of its errors; without a handler Python prints pages on them.
    logging.getLogger().addHandler(logging.NullHandler())
    if http is None and sys.stdin is not None and sys.stdin.isatty():
        _complain(
            "this speaks MCP on standard input and output, for a client that starts it "
            "(docs/serving.md); Ctrl-C ends it"
        )
    address = None if http is None else web.parse_address(http, "--http")
    listener = web.listen(*address, "--http") if address else None
    # Before anything that might print is loaded.
    streams = None if listener else mcp_server.take_standard_streams()
    keys = read_keys(key)
    searches = (corpus, retriever, k) != (None, None, None)
    opened = open_retriever(corpus, retriever, keys=keys) if searches else None
    opened_kg = open_kg(kg, keys) if kg else None  # its processes end with this one
    names = tool or [*(["local_retriever"] if opened else []), *(KG_TOOLS if opened_kg else [])]
    if not names:
        raise InputError("there is nothing to serve", remedy="add --corpus DIR or --kg SRC")
    tools = make_tools(names, ToolContext(opened, k, opened_kg, corpus, keys=keys))
    names = [tool.name for tool in tools]
    advice = "\n\n".join(map(Prompts.load(None).render, sections(names)))
    server = mcp_server.mcp_server(tools, advice or None)
    if listener:
        app = mcp_server.mcp_app(server, only_loopback=listener.is_local)
        _serve(app, listener, f"{mcp_server.PATH} ({', '.join(names)})")
    elif streams:
        _end_at_signals()
        asyncio.run(mcp_server.serve_stdio(server, *streams))
        _leave()


def _serve(app: "ASGIApp", listener: "Listener", path: str) -> NoReturn:
    """Serve until Ctrl-C; `path`: the address's, and what is served there."""
    from branchwise.tools.web_server import MAX_CONNECTIONS, web_server

    if not listener.is_local:
        _complain(
            f"warning: anyone who can reach {listener.url} gets answers: there is no authentication"
        )
    allow_open_files(MAX_CONNECTIONS)
    _end_at_signals()
    echo(printable(f"serving {listener.url}{path}; Ctrl-C ends it"))
    output().flush()
    web_server(app).run(sockets=[listener.socket])
    _leave()


def _complain(line: str) -> None:
    typer.echo(f"branchwise: {printable(line)}", err=True)


def _end_at_signals() -> None:
    """Exit with code 0 on SIGINT and SIGTERM; uvicorn finishes requests, then raises the signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(*_: object) -> NoReturn:
    """Exit now: an abandoned search would delay the end of the process."""
    output().flush()
    sys.stderr.flush()
    os._exit(0)
