"""Numbers that options take."""

import math

import click


class Finite(click.FloatRange):
    """A number within limits. `click.FloatRange` lets nan pass, since no comparison with it holds,
    and inf where there is no upper limit: a limit of that value would limit nothing."""

    name = "number"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number
