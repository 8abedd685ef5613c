"""The offline reader: a rule-based baseline without key or network, imported where it is used."""

from branchwise.agents.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
