"""`branchwise serve`: the corpus and the tools, for other programs."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from branchwise.commands.options import Key, read_keys
from branchwise.corpora.kinds import DEFAULT, NAMES
from branchwise.corpora.retrieval import MAX_K
from branchwise.ui.console import echo, output

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from branchwise.corpora.keys import Keys
    from branchwise.tools.registry import ToolContext
    from branchwise.tools.serving.listening import Listener

serve_app = typer.Typer(
    help="Serve the corpus and the tools to other programs.", no_args_is_help=True
)

_CONNECTIONS = 1000
Searched = Annotated[
    str | None,
    typer.Option(
        help=f"{NAMES}, an index name, http:URL or flashrag:FILE. "
        f"Default: the only one, or {DEFAULT}."
    ),
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
    from branchwise.corpora.extras import require

    require("serve", "serving")
    from branchwise.corpora.open import open_retriever
    from branchwise.tools.batcher import Batcher
    from branchwise.tools.serving.listening import listen
    from branchwise.tools.serving.retrieve import PATH, retrieve_app
    from branchwise.tools.serving.web import serve_app

    keys = read_keys(key)
    listener = listen(host, port, "--host, --port")
    opened = open_retriever(corpus, retriever, keys=keys)
    app = retrieve_app(Batcher(opened), _complain, only_loopback=listener.is_local)
    what = f"{opened.name} of {corpus}" if corpus else opened.name
    _warn_of_strangers(listener)
    _allow_connections()
    serve_app(app, listener, lambda: _say(f"serving {listener.url}{PATH} ({what}); Ctrl-C ends it"))
    _leave()


@serve_app.command()
def mcp(
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder for local_retriever.")] = None,
    retriever: Searched = None,
    k: Annotated[
        int | None,
        typer.Option(help="Passages per search. Default: the client chooses.", min=1, max=MAX_K),
    ] = None,
    kg: Annotated[
        str | None,
        typer.Option(help="Knowledge graph: a built graph's folder, a world, or an endpoint."),
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(help="Tool by name; repeatable. Default: all that --corpus and --kg allow."),
    ] = None,
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
    from branchwise.corpora.extras import require

    require("mcp", "serving")
    # The client is told of its errors; without a handler Python prints the SDK's pages on them.
    logging.getLogger().addHandler(logging.NullHandler())
    sources = _Sources(corpus, retriever, k, kg, tool, read_keys(key))
    if http is None:
        _serve_streams(sources)
    else:
        _serve_http(sources, http)
    _leave()


@dataclass(frozen=True)
class _Sources:
    """The options that say what to serve."""

    corpus: Path | None
    retriever: str | None
    k: int | None
    kg: str | None
    tool: list[str] | None
    keys: "Keys"

    @contextmanager
    def open_server(self) -> "Iterator[tuple[Server[Any, Any], str]]":
        """The MCP server and its tools' names in a line; closes its graph at the end."""
        from branchwise.agents.prompt_files import Prompts
        from branchwise.tools.registry import make_tools, sections
        from branchwise.tools.serving.mcp_server import mcp_server

        context = self._open()
        try:
            tools = make_tools(self._names(context), context)
            names = [tool.name for tool in tools]
            prompts = Prompts.load(None)
            advice = "\n\n".join(prompts.render(section) for section in sections(names))
            yield mcp_server(tools, advice or None), ", ".join(names)
        finally:
            if context.graph is not None:
                context.graph.close()

    def _open(self) -> "ToolContext":
        from branchwise.corpora.graph.open import open_graph
        from branchwise.corpora.open import open_retriever
        from branchwise.tools.registry import ToolContext

        searches = (self.corpus, self.retriever, self.k) != (None, None, None)
        found = open_retriever(self.corpus, self.retriever, keys=self.keys) if searches else None
        graph = open_graph(self.kg, self.keys) if self.kg else None
        return ToolContext(found, self.k, graph, self.corpus, keys=self.keys)

    def _names(self, context: "ToolContext") -> tuple[str, ...]:
        from branchwise.corpora.errors import InputError
        from branchwise.tools.registry import GRAPH_TOOLS

        search = ("local_retriever",) if context.retriever is not None else ()
        names = tuple(self.tool or (*search, *(GRAPH_TOOLS if context.graph is not None else ())))
        if not names:
            raise InputError("there is nothing to serve", remedy="add --corpus DIR or --kg SRC")
        return names


def _serve_streams(sources: _Sources) -> None:
    from branchwise.tools.serving.mcp_stdio import serve_stdio, take_standard_streams

    if sys.stdin is not None and sys.stdin.isatty():
        _complain(
            "this speaks MCP on standard input and output, for a client that starts it "
            "(docs/serving.md); Ctrl-C ends it"
        )
    streams = take_standard_streams()  # before anything that might print is loaded
    with sources.open_server() as (server, _):
        serve_stdio(server, streams)


def _serve_http(sources: _Sources, address: str) -> None:
    from branchwise.tools.serving.listening import listen, parse_address
    from branchwise.tools.serving.mcp_http import PATH, mcp_app
    from branchwise.tools.serving.web import serve_app

    listener = listen(*parse_address(address, "--http"), "--http")
    with sources.open_server() as (server, names):
        app = mcp_app(server, only_loopback=listener.is_local)
        _warn_of_strangers(listener)
        _allow_connections()
        ready = f"serving {listener.url}{PATH} ({names}); Ctrl-C ends it"
        serve_app(app, listener, lambda: _say(ready))


def _warn_of_strangers(listener: "Listener") -> None:
    if not listener.is_local:
        _complain(
            f"warning: anyone who can reach {listener.url} gets answers: there is no authentication"
        )


def _allow_connections() -> None:
    from branchwise.commands.run import allow_open_files

    allow_open_files(_CONNECTIONS)


def _say(line: str) -> None:
    from branchwise.corpora.text import printable

    echo(printable(line))
    output().flush()


def _complain(line: str) -> None:
    from branchwise.corpora.text import printable

    typer.echo(f"branchwise: {printable(line)}", err=True)


def _leave() -> NoReturn:
    """Exit now: an abandoned search would delay the end of the process."""
    output().flush()
    sys.stderr.flush()
    os._exit(0)
