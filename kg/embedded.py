"""A graph in a local folder, queried in processes that can be stopped."""

from pathlib import Path

from branchwise.base.errors import DamagedDataError
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    MAX_QUERY_BYTES,
    KgError,
    Match,
    QueryResult,
    SearchKind,
)
from branchwise.kg.description import REBUILD, read_description, refuse_replaced
from branchwise.kg.names.index import NameIndex
from branchwise.kg.processes.pool import IN_MEMORY_TRIPLES, MEMORY_BYTES, Pool
from branchwise.kg.store import check_kg


class EmbeddedKg:
    """A folder that `build_graph` made. Use it from any thread; close it when done.

    If the folder is rebuilt meanwhile, queries and searches that would see the new graph raise
    KgError. Raises InputError if the folder does not contain a graph, and DamagedDataError, then
    and later, if it is not what was built.
    """

    def __init__(
        self,
        folder: Path,
        workers: int | None = None,
        memory: int = MEMORY_BYTES,
        in_memory: int = IN_MEMORY_TRIPLES,
    ) -> None:
        self._folder = folder
        check_kg(folder)
        self._description = read_description(folder)
        self._names = NameIndex.open(folder)
        self._pool = Pool(folder, workers, memory, in_memory, self._description.sha256)

    def identity(self) -> dict[str, str]:
        """The digest of the contents that it was built from, wherever it is."""
        return {"kg": "embedded", "sha256": self._description.sha256}

    def query(self, sparql: str, seconds: float = DEFAULT_SECONDS) -> QueryResult:
        """Answer a query as models write them for Wikidata. Raises KgError.

        `seconds` count from when a query process takes the query; it waits up to three times as
        long for one, and then raises "busy".
        """
        if len(sparql.encode(errors="replace")) > MAX_QUERY_BYTES:
            raise KgError(
                "refused", f"The query is longer than {MAX_QUERY_BYTES // 1024} KB: shorten it."
            )
        try:
            return self._pool.query(sparql, seconds)
        except KgError as error:
            if error.kind in ("resources", "damaged"):  # tables that are opened late may be gone
                refuse_replaced(self._folder, self._description.sha256)
            raise self._told(error) from None

    def search(self, text: str, kind: SearchKind = "item", limit: int = 8) -> list[Match]:
        """Things with this name, best first, bearers of one name together.

        Raises KgError if the folder was rebuilt since.
        """
        try:
            found = self._names.search(text, kind, limit)
        except KgError as error:
            raise self._told(error) from None
        refuse_replaced(self._folder, self._description.sha256)
        return found

    def _told(self, error: KgError) -> Exception:
        """The error; damage as what ends a pass."""
        if error.kind != "damaged":
            return error
        return DamagedDataError(str(error).rstrip("."), where=str(self._folder), remedy=REBUILD)

    def close(self) -> None:
        """End the query processes."""
        self._pool.close()
        self._names.close()
