"""`branchwise tools`: what an agent may call."""

from typing import Annotated

import typer

tools_app = typer.Typer(help="What an agent may call.", no_args_is_help=True)


@tools_app.callback()
def _group() -> None:
    """Keeps `list` a command of its own while it is the only one."""


@tools_app.command("list")
def list_tools(
    json_output: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the tools, one a line.

    Example: branchwise tools list
    """
    from branchwise.tools.registry import known_tools

    tools = known_tools()
    if json_output:
        from branchwise.ui.console import printable_json

        typer.echo(printable_json(tools))
        return
    for name, summary in tools.items():
        typer.echo(f"{name}  {summary}")
