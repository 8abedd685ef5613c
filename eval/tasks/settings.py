"""Settings that several tasks take."""

from typing import Annotated

from pydantic import BaseModel, Field

from branchwise.base.setting import Setting


class ShotSettings(BaseModel):
    """Worked examples; each flow says how many it has."""

    shots: Annotated[
        int,
        Field(ge=0, le=4),
        Setting(
            "Worked examples in the prompt: conditional answers 0 or 1, with --protocol dialogue 0 "
            "or 4.",
            "Model",
            of_task=True,
        ),
    ] = 0
