"""The models of a system by role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.corpora.errors import InputError
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Models:
    """Who is asked in which role. `expander` and `extractor` are None where the module is off.

    Roles with the same spec share one caller, and with it its connections.
    """

    agent: ModelCaller
    expander: ModelCaller | None = None
    extractor: ModelCaller | None = None

    @classmethod
    def of(
        cls,
        system: System,
        prompts: Prompts,
        model: BaseChatModel | None = None,
        restraints: Restraints = UNRESTRAINED,
    ) -> Models:
        """The callers of a system; `model` takes the place of the agent's spec in every role.

        Raises InputError for a spec that is none, and for one that cannot be asked at all.
        """
        spec = ModelSpec.parse(system.model)
        if model is None:
            check_ready(spec)
        first = ModelCaller(spec, system.decoding, prompts, model=model, restraints=restraints)
        callers = {spec: first}

        def role(option: str, text: str | None) -> ModelCaller:
            if text is None:
                return callers[spec]
            own = _ready(option, text, callers)
            if own not in callers:
                callers[own] = ModelCaller(own, system.decoding, prompts, restraints=restraints)
            return callers[own]

        return cls(
            callers[spec],
            role("--expander", system.roles.expander) if system.expand else None,
            role("--extractor", system.roles.extractor) if system.extract else None,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """What answers depend on: the agent's model, and those of the modules that are there."""
        callers = {"expander": self.expander, "extractor": self.extractor}
        modules = {name: caller.identity for name, caller in callers.items() if caller}
        return {"model": self.agent.identity} | modules

    async def aclose(self) -> None:
        """Close all connections; they open again when a model is asked."""
        callers = [self.agent, self.expander, self.extractor]
        for caller in {id(caller): caller for caller in callers if caller}.values():
            await caller.aclose()


def _ready(option: str, text: str, known: Mapping[ModelSpec, ModelCaller]) -> ModelSpec:
    """The spec of a role, checked unless another role has it; a refusal names its option."""
    try:
        spec = ModelSpec.parse(text)
        if spec not in known:
            check_ready(spec)
    except InputError as error:
        remedy = (error.remedy or "").replace("--model", option)
        raise InputError(error.what, where=option, remedy=remedy) from None
    return spec
