"""A server of the Model Context Protocol with one tool: what a name may refer to.

Its tools are an agent's like any other, over standard input and output:

    branchwise ask "Who directed King Kong?" --corpus F --tool local_retriever \\
        --tool "mcp:python mcp_server.py F/names.jsonl"

or over HTTP, from a terminal of its own (`python mcp_server.py F/names.jsonl --http`) with
`--tool mcp:http://127.0.0.1:8000/mcp`. It imports nothing of Branchwise: a server may be written
in any language.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import FastMCP


def server(names: Path) -> FastMCP:
    """The server, over a `names.jsonl`."""
    with names.open(encoding="utf-8") as lines:
        pages: dict[str, Any] = {page["name"].casefold(): page for page in map(json.loads, lines)}
    served = FastMCP("names", log_level="WARNING")

    @served.tool()
    def what_bears(name: str) -> str:
        """List what a name may refer to, each by its full title."""
        page = pages.get(name.strip().casefold())
        if page is None:
            return f"No two things share the name {name.strip()[:100]!r}."
        lines = [f"  {one['title']}: {one.get('description', '')}" for one in page["entities"]]
        return "\n".join([f"{page['name']} may refer to:", *lines])

    return served


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_file():
        sys.exit("usage: python mcp_server.py F/names.jsonl [--http]")
    over_http = "--http" in sys.argv[2:]
    server(Path(sys.argv[1])).run("streamable-http" if over_http else "stdio")
