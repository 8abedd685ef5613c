"""How often a question is not said in the plainest way."""

from random import Random


class Plainest(Random):
    """A draw that always takes the first and the plainest."""

    def random(self) -> float:
        return 0.0


def now_and_then(often: float, random: Random) -> bool:
    """Whether to say it another way this time; never for `Plainest`."""
    return random.random() >= 1 - often
