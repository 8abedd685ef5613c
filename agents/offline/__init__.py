"""The offline reader: a rule-based baseline that needs no key and no network. Imported only where it is used."""

from branchwise.agents.offline.model import OfflineChatModel

__all__ = ["OfflineChatModel"]
