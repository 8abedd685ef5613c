"""What every command has: `--quiet`, short help, results alone on standard output."""

import math
import os
import re
from collections import Counter
from contextlib import ExitStack, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import click
from typer import Typer
from typer.core import TyperCommand, TyperOption

from branchwise.base.errors import InputError
from branchwise.report.terminal.console import echo, results_alone, without_progress


def check_numbers(command: click.Command, ctx: click.Context) -> None:
    """Refuse nan, inf and numbers beyond 64 bits, which click's ranges may let pass."""
    for param in command.get_params(ctx):
        value = ctx.params.get(param.name or "")
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"{value!r} is not a finite number", ctx, param)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise click.BadParameter("is a number of more than 64 bits", ctx, param)


_SHORT_HELP = frozenset(
    {
        "clarify", "concurrency", "corpus", "dry_run", "epochs", "expand", "extract", "help",
        "help_all", "ids", "json_output", "k", "key", "kg", "limit", "matcher", "max_cost",
        "max_tokens", "max_turns", "model", "node", "out", "pilot", "prompts", "question",
        "questions", "quiet", "retriever", "sample", "set", "task", "tool",
    }
)  # fmt: skip
"""What the help of a command with more options than a screen holds shows; `--help-all` has all."""
_MOST_OPTIONS = 30
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
            more = [_help_all()] if len(own) > _MOST_OPTIONS else []
            return [*own, _option(), *more, last]

        def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            parameters = self.get_params(ctx)
            options = [each for each in parameters if isinstance(each, TyperOption)]
            if len(options) <= _MOST_OPTIONS or ctx.meta.get(_ALL):
                super().format_help(ctx, formatter)
                return
            self.format_usage(ctx, formatter)
            self.format_help_text(ctx, formatter)
            with formatter.section("Options that most people need"):
                shown = [option for option in options if option.name in _SHORT_HELP]
                formatter.write_dl([_short(option) for option in shown], col_max=24)

        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            # A file that was asked for, and is not written, is noticed too late.
            _, _, given = self.make_parser(ctx).parse_args(args=[*args])
            for option, times in Counter(given).items():
                is_path = isinstance(option.type, click.Path) and option.param_type_name == "option"
                if is_path and times > 1 and not option.multiple:
                    raise InputError("is given twice", where=option.opts[0], remedy="keep one")
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


_ALL = "help_all"


def _short(option: TyperOption) -> tuple[str, str]:
    number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
    value = "" if option.is_flag else option.metavar or ("N" if number else "WORD")
    if isinstance(option.type, click.Path):
        value = option.metavar or "PATH"
    sentence = re.split(r"(?<=\w)\.(?=\s|$)|; ", option.help or "", maxsplit=1)[0]
    return f"{', '.join(option.opts)} {value}".strip(), f"{sentence.rstrip('.')}."


def _print_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        ctx.meta[_ALL] = True
        echo(ctx.get_help())
        ctx.exit()


@cache
def _help_all() -> TyperOption:
    return TyperOption(
        param_decls=["--help-all", _ALL],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_all,
        help="Show every option and exit: decoding, protocols, servers, machines.",
    )


@cache
def _option() -> TyperOption:
    return TyperOption(
        param_decls=["-q", "--quiet", _NAME],
        is_flag=True,
        help="Print errors alone, and JSON where it is asked for.",
    )
