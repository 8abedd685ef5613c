"""What a shape of answers is: what prompts ask for, and how it is read into a prediction."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from branchwise.agents.prediction import Prediction


class TextAnswer(NamedTuple):
    """What a text itself says, and whether it says it exactly as the form has it."""

    prediction: Prediction
    is_exact: bool


class AnswerFormat(Protocol):
    """One shape of answers: a JSON object, or text in a `form` of its own."""

    @property
    def name(self) -> str:
        """Its key in `formats.FORMATS`."""
        ...

    @property
    def cites(self) -> bool:
        """Whether answers name the passages that support them."""
        return False

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the shape that prompts ask for, JSON-serialisable; None with a `form`."""
        return None

    @property
    def form(self) -> str | None:
        """A pattern of the text that prompts ask for, as a model is shown it; None where they ask
        for JSON."""
        return None

    @property
    def repair(self) -> str:
        """The prompt file that asks for an answer again that could not be read."""
        return "repair_form" if self.form else "repair"

    def fits(self, data: object) -> bool:
        """Whether JSON data is exactly of the shape that prompts ask for."""
        return False

    def read_text(self, text: str) -> TextAnswer | None:
        """The answer that a text gives in the `form`; None where it does not try to.

        In time linear in the length of `text`, which is bounded. Raises FormatError where what
        stands in the places of the form is no answer.
        """
        return None

    def read(self, data: object, fragments: Sequence[str] = ()) -> Prediction:
        """The prediction in JSON data, common variants of the shape included.

        `fragments`: ids of the passages that were given to the model as 1, 2, ...

        Raises:
            FormatError: `data` holds no answer.
        """
        ...
