"""`replay:RUN`: a model that answers with what a run recorded, and with nothing else.

What reads a run is declared here and given from above (`eval.store.recordings`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from branchwise.agents.decoding import Decoding
from branchwise.agents.journal import Slot
from branchwise.agents.reply import Completion, FailureKind, ModelError
from branchwise.agents.spec import ModelSpec
from branchwise.base.errors import InputError
from branchwise.base.providers import PROVIDERS

_FROM_THE_START = frozenset({"agent", "expander"})
"""Roles whose first request follows from question and system alone."""


class Recordings(Protocol):
    """The recorded model responses of one run. Opens when it is asked, closes any number of times.

    Methods but `close` raise ModelError where the run can no longer be read.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """The identity of the system that was recorded (`Agent.identity`)."""
        ...

    def find(self, slot: Slot) -> Mapping[str, Any] | None:
        """The recorded payload that answers the slot, None where nothing is recorded for it."""
        ...

    def has_nothing_of(self, slot: Slot) -> bool:
        """Whether the recorded item of the slot's question and epoch has no reply in its role."""
        ...

    def was_trimmed(self, slot: Slot) -> bool:
        """Whether tool results were left out there because the conversation was too long."""
        ...

    def close(self) -> None:
        """Close the run; the next call opens it again."""
        ...


OpenRecordings = Callable[[Path], Recordings]
"""Opens the recordings of a run folder. Raises InputError if it holds no readable run."""


class RecordedModel:
    """The model of one role of a recorded run, in the place of a server.

    `present_identity` gives the identity of the system that asks, for a miss to say what differs.

    Raises InputError where the run asked no model in this role.
    """

    def __init__(self, spec: ModelSpec, role: str, recordings: Recordings) -> None:
        self.spec, self.role, self._recordings = spec, role, recordings
        identity = recordings.identity.get("model" if role == "agent" else role)
        if identity is None:
            raise InputError(
                f"the run used no {role}, so it has no {role} replies",
                where=spec.name,
                remedy=f"name another model with --{role}, or leave out the module",
            )
        self.identity: Mapping[str, Any] = identity
        self.present_identity: Callable[[], Mapping[str, Any]] | None = None
        self._has_found = False

    @property
    def speaks_text(self) -> bool:
        """Whether tools were described in the text of requests: then digests cover how."""
        in_text = self.identity.get("tool_protocol") == "text"
        return in_text and str(self.identity.get("model", "")).partition(":")[0] in PROVIDERS

    def check_decoding(self, decoding: Decoding) -> None:
        """Raise InputError where a setting is given that the recorded replies did not have."""
        usual = Decoding().identity
        for name, value in decoding.identity.items():
            recorded = self.identity.get(name)
            if value not in (usual.get(name), recorded):
                own = "the server's own" if recorded is None else recorded
                raise InputError(
                    f"{name} is {value}, but the run was recorded with {own}",
                    where=self.spec.name,
                    remedy="leave it out: a replay answers as it was recorded",
                )

    def answer(self, slot: Slot) -> tuple[Completion, float]:
        """The recorded completion and the seconds that it took then. Raises ModelError if nothing
        is recorded for the request; `not_found` where no other one can be expected to be either."""
        payload = self._recordings.find(slot)
        if payload is None:
            raise self._miss(slot)
        try:
            completion, seconds = Completion.from_payload(payload), float(payload["seconds"])
        except (KeyError, TypeError, ValueError) as error:
            what = f"{self.spec}: a recorded reply is damaged ({type(error).__name__})"
            raise ModelError("invalid_response", what) from None
        self._has_found = True
        return completion, seconds

    def close(self) -> None:
        """Close the run; the next answer opens it again."""
        self._recordings.close()

    def _miss(self, slot: Slot) -> ModelError:
        kind: FailureKind = "not_recorded"
        is_missing = self._recordings.has_nothing_of(slot)
        if self.role == "agent" and self._recordings.was_trimmed(slot):
            # The recorded agent was refused here, too, and went on without its oldest results.
            kind = "context_length"
        elif not self._has_found and self.role in _FROM_THE_START and not is_missing:
            kind = "not_found"
        why = "the question or a tool result may differ, or the call failed there"
        if is_missing:
            why = "the item failed there or was not run"
        if self.present_identity is not None:
            was, now = self._recordings.identity, self.present_identity()
            changed = sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key))
            if changed:
                why = f"the system differs in {', '.join(changed)}"
        what = f"{self.spec} has no reply to this request of the {slot.key.role}"
        return ModelError(kind, f"{what}: {why}")


@dataclass
class Replays:
    """The recorded models of a system; each run is opened once, for all roles in it."""

    open_recordings: OpenRecordings | None = None
    models: list[RecordedModel] = field(default_factory=list)
    _opened: dict[Path, Recordings] = field(default_factory=dict)

    def model(self, spec: ModelSpec, role: str) -> RecordedModel:
        """The model of a role of the spec's run. Raises InputError."""
        if self.open_recordings is None:
            raise InputError(
                f"{spec} cannot be opened here", remedy="give the agent `recordings`, or a model"
            )
        run = spec.run
        if run not in self._opened:
            self._opened[run] = self.open_recordings(run)
        made = RecordedModel(spec, role, self._opened[run])
        self.models.append(made)
        return made
