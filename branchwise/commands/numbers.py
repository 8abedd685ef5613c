"""Numbers that options take, of every command."""

import math

import click


def check_numbers(command: click.Command, ctx: click.Context) -> None:
    """Refuse what is no number to count or compare with: nan and inf, and whole numbers beyond 64
    bits, which JSON and stores do not hold. Ranges of click let nan pass, since no comparison with
    it holds, and inf where there is no upper limit."""
    for param in command.get_params(ctx):
        value = ctx.params.get(param.name or "")
        if isinstance(value, float) and not math.isfinite(value):
            raise click.BadParameter(f"{value!r} is not a finite number", ctx, param)
        if isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise click.BadParameter("is a number of more than 64 bits", ctx, param)
