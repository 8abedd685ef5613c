"""The run store: one SQLite file that a killed run continues from."""

from branchwise.eval.store.damage import DamagedError
from branchwise.eval.store.reader import ItemRow, RunReader, open_run
from branchwise.eval.store.run_store import PendingItem, RunStore, create_run
from branchwise.eval.store.spec import RunSpec
from branchwise.eval.store.writer import StoreError

__all__ = [
    "DamagedError",
    "ItemRow",
    "PendingItem",
    "RunReader",
    "RunSpec",
    "RunStore",
    "StoreError",
    "create_run",
    "open_run",
]
