"""The models of a system by role."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.replay import OpenRecordings, RecordedModel, Replays
from branchwise.agents.restraints import UNRESTRAINED, Restraints
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.graphs.own_settings import decoding_with
from branchwise.graphs.system import System

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Models:
    """The model for each role, None if its module is off. Roles with the same spec and decoding
    share one caller and its connections."""

    agent: ModelCaller
    expander: ModelCaller | None = None
    extractor: ModelCaller | None = None
    checker: ModelCaller | None = None
    replays: Replays = field(default_factory=Replays)

    @classmethod
    def of(
        cls,
        system: System,
        prompts: Prompts,
        model: BaseChatModel | None = None,
        restraints: Restraints = UNRESTRAINED,
        recordings: OpenRecordings | None = None,
        keys: Keys = NO_KEYS,
    ) -> Models:
        """The callers of a system; `model` replaces the agent's spec in every role. `recordings`
        opens the runs of replays; `keys` are for the model servers. Raises InputError for an
        invalid spec and for a model that cannot be used at all."""
        agent_spec = ModelSpec.parse(system.model)
        if model is None:
            check_ready(agent_spec, keys)
        replays = Replays(recordings)
        made: dict[tuple[ModelSpec, Decoding, str], ModelCaller] = {}

        def caller(role: str, text: str | None) -> ModelCaller:
            known = {spec for spec, *_ in made}
            spec = agent_spec if text is None else _ready(f"--{role}", text, known, keys)
            is_given = model is not None and spec == agent_spec
            is_replay = spec.provider == "replay" and not is_given
            decoding = system.decoding_of(role)
            # A recorded run has one model per role.
            key = (spec, decoding, role if is_replay else "")
            if key not in made:
                made[key] = ModelCaller(
                    spec,
                    decoding,
                    prompts,
                    model=model if is_given else None,
                    restraints=restraints,
                    recorded=_recorded(replays, system, spec, role) if is_replay else None,
                    keys=keys,
                    headers=system.headers,
                )
            return made[key]

        return cls(
            caller("agent", None),
            caller("expander", system.roles.expander) if system.expand else None,
            caller("extractor", system.roles.extractor) if system.extract else None,
            caller("checker", system.roles.checker) if system.check else None,
            replays,
        )

    def explain(self, identity: Callable[[], Mapping[str, Any]]) -> None:
        """Let replays say how the current system differs from the recorded one."""
        for recorded in self.replays.models:
            recorded.present_identity = identity

    @property
    def identity(self) -> Mapping[str, Any]:
        """What answers depend on: the agent's model, and those of the active modules."""
        return {"model": self.agent.identity} | {
            name: caller.identity for name, caller in self._modules.items() if caller
        }

    @property
    def _modules(self) -> Mapping[str, ModelCaller | None]:
        roles = ("expander", "extractor", "checker")
        return {role: getattr(self, role) for role in roles}

    async def aclose(self) -> None:
        callers = [self.agent, *self._modules.values()]
        for caller in {id(caller): caller for caller in callers if caller}.values():
            await caller.aclose()


def _recorded(replays: Replays, system: System, spec: ModelSpec, role: str) -> RecordedModel:
    recorded = replays.model(spec, role)
    # What is set for the agent is not said of modules, whose replies may be of another run.
    if role == "agent" or role in system.role_decoding:
        own = system.role_decoding.get(role, {})
        recorded.check_decoding(decoding_with(Decoding(), own) if own else system.decoding)
    return recorded


def _ready(option: str, text: str, known: Collection[ModelSpec], keys: Keys) -> ModelSpec:
    """The spec of a role, checked unless another role has it; a refusal names its option."""
    try:
        spec = ModelSpec.parse(text)
        if spec not in known:
            check_ready(spec, keys)
    except InputError as error:
        remedy = (error.remedy or "").replace("--model", option)
        raise InputError(error.what, where=option, remedy=remedy) from None
    return spec
