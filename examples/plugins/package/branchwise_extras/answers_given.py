"""A metric: how many answers an agent gave. Recall that is bought with guesses shows here."""

from branchwise import metric
from branchwise.eval.items import AnsweredItem


@metric(heading="answers\ngiven", note="answers given, over all branches", digits=1)
def answers_given(item: AnsweredItem) -> float | None:
    """How many answers were given; nothing for an item that failed."""
    if item.error is not None:
        return None
    return sum(len(entities) for entities in item.prediction.answers.values())
