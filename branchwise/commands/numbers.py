"""Numbers that options take, of every command."""

import math

import click


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
