"""What a system may be asked for in CondAmbigQA's questions alone."""

from typing import Annotated

from pydantic import BaseModel, Field

from branchwise.base.setting import Setting


class CondAmbigQASettings(BaseModel):
    """`at_most`: how much an answer in free text may hold."""

    at_most: Annotated[
        int | None,
        Field(ge=1, le=1000),
        Setting(
            "Free text: conditions, with --protocol standard citations of an answer, at most.",
            "Model",
            none="unbounded",
            of_task=True,
        ),
    ] = None
