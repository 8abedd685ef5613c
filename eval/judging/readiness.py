"""Whether the models of scoring can be used; errors name their options."""

from collections.abc import Callable

from branchwise.agents.spec import REPLAY_OFFER, ModelSpec, check_ready
from branchwise.base.errors import InputError

Ready = Callable[[ModelSpec], None]
"""Checks before the first request whether the model can be used at all; raises InputError."""


def role_spec(role: str, text: str) -> ModelSpec:
    """The model that `--matcher` or `--judge` names. Raises InputError if it names none."""
    try:
        spec = ModelSpec.parse(text)
    except InputError as error:
        raise _of_role(error, role) from None
    if spec.provider == "replay":
        raise no_replay(role)
    return spec


def no_replay(role: str) -> InputError:
    """The error for a replay that should score."""
    return InputError(
        f"a replay cannot be the {role}, whose replies are kept by themselves",
        where=f"--{role}",
        remedy=f"name a model, for example --{role} openai:gpt-6-luna",
    )


def check_role(role: str, spec: ModelSpec, ready: Ready = check_ready) -> None:
    """`ready`, with remedies that name the role's option, without `offline`, which cannot judge."""
    try:
        ready(spec)
    except InputError as error:
        raise _of_role(error, role) from None


def _of_role(error: InputError, role: str) -> InputError:
    remedy = (error.remedy or "").replace("--model", f"--{role}").replace(REPLAY_OFFER, "")
    for offer in (", or use offline", ", or offline"):
        if remedy.endswith(offer):
            remedy = " or ".join(remedy.removesuffix(offer).rsplit(", ", 1))
    return InputError(error.what, where=error.where or f"--{role}", remedy=remedy)
