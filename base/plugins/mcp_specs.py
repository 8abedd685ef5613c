"""How to name an MCP server: `mcp:COMMAND ARGS...` or `mcp:http://HOST/mcp`, then `#TOOL`."""

import contextlib
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from branchwise.base.errors import InputError

MCP = "mcp:"

_ONE_TOOL = re.compile(r"#([\w./-]{1,128})$")
_SECRET = re.compile(
    r"key$|token$|secret|passw|^pwd$|^auth|credential|^sig(nature)?$", re.IGNORECASE
)
_EXAMPLES = "write mcp:COMMAND ARGS..., or mcp:http://HOST:PORT/mcp"


@dataclass(frozen=True)
class Server:
    """A program to start, by its words, or an address; `url` is "" for a program."""

    command: tuple[str, ...] = ()
    url: str = ""

    @property
    def place(self) -> str:
        """For messages: the program, or the address without possible keys."""
        if self.url:
            parts = urlsplit(self.url)
            return f"{MCP}{parts.scheme}://{parts.netloc}{parts.path}"
        return MCP + shlex.join(self.command)


@dataclass(frozen=True)
class McpSpec:
    """A server and one of its tools; "" means all."""

    server: Server
    tool: str = ""


def parse_mcp(text: str) -> McpSpec:
    """Read a spec; a command is split into words as in a shell, but not run by a shell.

    `python` alone is the running Python, in which our own extras are installed. Raises
    InputError.
    """
    named = text.removeprefix(MCP).strip()
    tool = ""
    if one := _ONE_TOOL.search(named):
        named, tool = named[: one.start()].strip(), one[1]
    if named.startswith(("http://", "https://")):
        return McpSpec(_at(named), tool)
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise InputError(
            f"the command cannot be read: {error}", where=text[:200], remedy=_EXAMPLES
        ) from None
    if not words or "\0" in named:
        raise InputError("names no MCP server", where=repr(text[:200]), remedy=_EXAMPLES)
    if words[0] == "python":
        words[0] = sys.executable
    return McpSpec(Server(command=tuple(words)), tool)


def _at(url: str) -> Server:
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and parts.port != 0 and url.isprintable()
    except ValueError:
        is_address = False
    if not is_address or " " in url:
        raise InputError(
            "is not an address of an MCP server", where=repr(url[:200]), remedy=_EXAMPLES
        )
    carried = "a user or a password" if parts.username or parts.password else ""
    if any(_SECRET.search(name) for name, _ in parse_qsl(parts.query)):
        carried = "what may be a key"
    if carried:
        raise InputError(
            f"the address contains {carried}, which the run would store",
            where=f"{MCP}{parts.scheme}://{parts.hostname}",
            remedy="leave it out of the address; --key HOST=VARIABLE sends a key as bearer token",
        )
    return Server(url=url)


def absolute_mcp(text: str, folder: Path) -> str:
    """The spec with whole paths for the words that are files of `folder`.

    A bare first word is looked up on the PATH.
    """
    spec = parse_mcp(text)
    if spec.server.url:
        return text
    words = shlex.split(_ONE_TOOL.sub("", text.removeprefix(MCP).strip()))
    for n, word in enumerate(words):
        # A word may be a whole script, too long for the name of a file.
        with contextlib.suppress(OSError):
            if (n or "/" in word) and not word.startswith("-") and (folder / word).is_file():
                words[n] = str((folder / word).absolute())
    return MCP + shlex.join(words) + (f"#{spec.tool}" if spec.tool else "")
