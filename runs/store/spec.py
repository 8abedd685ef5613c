"""A run's identity: written once when it is made, compared when it is resumed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunSpec:
    """A run's identity.

    `system`: the settings as given (paths included), enough to build the agent again. `identity`:
    everything that answers depend on (`Agent.identity`), `system_digest` its SHA-256. `source`:
    where the questions came from, `questions_digest`: their content. `scoring`: who aligns and
    judges when the run is scored (`ScoringChoice`), empty for names alone. `fork`: for a fork, its
    parent, step and changes (`eval.forks`), else empty.
    """

    task: str
    source: str
    questions_digest: str
    system: Mapping[str, Any]
    identity: Mapping[str, Any]
    system_digest: str
    epochs: int
    version: str
    scoring: Mapping[str, Any] = field(default_factory=dict)
    fork: Mapping[str, Any] = field(default_factory=dict)
