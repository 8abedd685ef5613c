"""How plans become questions in words: by the grammar, or by a model that is checked."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from branchwise.kg.schema import Schema
from branchwise.worlds.questions.drafts import RejectedError
from branchwise.worlds.questions.plans import Plan
from branchwise.worlds.questions.wording.grammar import Grammar
from branchwise.worlds.questions.wording.reviewing import Reviewer
from branchwise.worlds.questions.wording.vocabulary import NameOf
from branchwise.worlds.questions.wording.writing import ModelWriter


class Verbalization(NamedTuple):
    """A question's text, who worded it, and its plan's numbered steps in words."""

    text: str
    by: Literal["grammar", "model"]
    steps: tuple[str, ...]


class Verbalizer:
    """The grammar, with a writer and a reviewer where there are models for them.

    `strayed` counts why a writer's text was left for the grammar's.
    """

    def __init__(
        self,
        schema: Schema,
        seed: int,
        writer: ModelWriter | None = None,
        reviewer: Reviewer | None = None,
    ) -> None:
        self._worder = Grammar(schema, seed)
        self._writer = writer
        self._reviewer = reviewer
        self._judged: dict[str, bool] = {}
        self.strayed: Counter[str] = Counter()

    def sayable(self, relation: str, inverse: bool) -> bool:
        """Whether a step along a relation, or a filter by it, can be said."""
        return self._worder.sayable(relation, inverse)

    def say(self, plan: Plan, name: NameOf, variant: int) -> Verbalization:
        """The plan as a question."""
        text = self._worder.question(plan, name, variant)
        steps = self._worder.steps(plan, name)
        if self._writer is None:
            return Verbalization(text, "grammar", tuple(steps))
        written = self._writer.question(plan, steps, name, text)
        if written.problem:
            self.strayed[written.problem] += 1
        return Verbalization(written.text, written.by, tuple(steps))

    def review_template(self, plan: Plan, kind: NameOf) -> None:
        """Ask once for all plans with the same relations whether such questions can make sense.

        `kind`: what stands for each entity, as "a certain film". Raises RejectedError, and
        TextModelError where the reviewer does not answer.
        """
        if self._reviewer is None:
            return
        steps = self._worder.steps(plan, kind)
        key = "\n".join(steps)
        if key not in self._judged:
            self._judged[key] = self._reviewer.judge_template(steps).valid
        if not self._judged[key]:
            raise RejectedError("the reviewer finds the template infeasible")

    def review(
        self, said: Verbalization, plan: Plan, name: NameOf, answers: Sequence[Sequence[str]]
    ) -> None:
        """Ask of each reading whether question, plan and answers belong together. Raises as
        `review_template` does."""
        if self._reviewer is None:
            return
        steps = self._worder.steps(plan, name)
        if not all(self._reviewer.judge(said.text, steps, found).valid for found in answers):
            raise RejectedError("the reviewer finds the question invalid")
