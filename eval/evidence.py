"""What an agent had before it when it answered."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Evidence:
    """Passage ids in the order first shown to the agent: those given, then those retrieved."""

    passages: tuple[str, ...] = ()
