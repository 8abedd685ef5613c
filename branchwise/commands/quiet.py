"""What every command has: `--quiet` (only the exit code, errors, and JSON where it is asked for),
a standard output for its results alone, and what it refuses of its numbers."""

import math
import os
from contextlib import ExitStack, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import click
from typer import Typer
from typer.core import TyperCommand, TyperOption

from branchwise.report.terminal.console import results_alone, without_progress


def check_numbers(command: click.Command, ctx: click.Context) -> None:
    """Refuse nan, inf and whole numbers beyond 64 bits, which JSON and stores cannot hold.

    Click's ranges let nan pass, since every comparison with it is false, and inf where a range has
    no upper limit.
    """
    for param in command.get_params(ctx):
        value = ctx.params.get(param.name or "")
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"{value!r} is not a finite number", ctx, param)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise click.BadParameter("is a number of more than 64 bits", ctx, param)


_NAME = "quiet"
_PRINTED = Path("-")


def add_quiet(app: Typer) -> None:
    """Give every command of the app and its groups the option."""
    for command in app.registered_commands:
        command.cls = _quiet(command.cls or TyperCommand)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_quiet(group.typer_instance)


def _quiet(kind: type[TyperCommand]) -> type[TyperCommand]:
    class QuietCommand(kind):  # type: ignore[valid-type,misc]
        def get_params(self, ctx: click.Context) -> list[click.Parameter]:
            *own, last = super().get_params(ctx)  # --help stays last
            return [*own, _option(), last]

        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            rest: list[str] = super().parse_args(ctx, args)
            check_numbers(self, ctx)
            return rest

        def invoke(self, ctx: click.Context) -> Any:
            with ExitStack() as stack:
                if ctx.params.pop(_NAME, False):
                    stack.enter_context(without_progress())
                    # JSON, or a file that goes to standard output, is printed all the same.
                    asks = ctx.params.get("json_output") or ctx.params.get("events")
                    if not asks and _PRINTED not in ctx.params.values():
                        sink = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
                        stack.enter_context(redirect_stdout(sink))
                stack.enter_context(results_alone())
                return super().invoke(ctx)

    return QuietCommand


@cache
def _option() -> TyperOption:
    return TyperOption(
        param_decls=["-q", "--quiet", _NAME],
        is_flag=True,
        help="Print errors alone, and JSON where it is asked for.",
    )
