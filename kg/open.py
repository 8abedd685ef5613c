"""Opening a graph from a user's source: a folder, queried in processes that stop, or an address."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from branchwise.base.errors import DamagedDataError, InputError
from branchwise.base.http import check_way
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.kg.answers import (
    DEFAULT_SECONDS,
    MAX_QUERY_BYTES,
    Graph,
    KgError,
    Match,
    QueryResult,
    SearchKind,
)
from branchwise.kg.names.index import NameIndex
from branchwise.kg.processes.pool import IN_MEMORY_TRIPLES, MEMORY_BYTES, Pool
from branchwise.kg.remote.endpoint import RemoteKg
from branchwise.kg.store import (
    DESCRIPTION_FILE,
    REBUILD,
    check_kg,
    read_description,
    refuse_replaced,
)
from branchwise.kg.world_folder import KG_FILE


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


IN_A_WORLD = "kg"
"""The folder of a world's graph, within the world's own."""

_NAMES_OF_KGS = {"default-graph-uri", "named-graph-uri"}


def open_kg(source: str, keys: Keys = NO_KEYS) -> Graph:
    """The graph in a folder that `branchwise kg build` made, or behind an http(s) address.

    A folder with a graph in `kg/` (a world) will do. An endpoint gets its own key of `keys`.
    Raises InputError.
    """
    if is_address(source):
        check_way(_without_secrets(source))
        return RemoteKg(source, keys=keys)

    return EmbeddedKg(kg_folder(Path(source)))


def is_address(source: str) -> bool:
    """Whether it is an endpoint's address rather than a folder."""
    return urlsplit(source).scheme in ("http", "https")


def _without_secrets(address: str) -> str:
    """The address; runs keep it, so one with a password is refused.

    Which graphs of a server are meant (SPARQL 1.1 Protocol, section 2.1) is not a secret.
    """
    parts = urlsplit(address)
    named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    hidden = parts.username or parts.password or named - _NAMES_OF_KGS
    if hidden or not parts.hostname:
        raise InputError(
            "the endpoint's address contains a user or a key, or has no host",
            remedy="give it as https://HOST/PATH",
        )
    return address


def kg_folder(path: Path) -> Path:
    """The folder of the built graph that a path means. Raises InputError if there is none."""
    for folder in (path, path / IN_A_WORLD):
        if (folder / DESCRIPTION_FILE).is_file():
            return folder
    if not path.exists():
        raise InputError("no such folder", where=str(path), remedy="name a graph or world folder")
    if (path / KG_FILE).is_file():
        source = str(path)
    else:
        source = f"{'FILE' if path.is_dir() else path} --out KG"
    raise InputError(
        "no graph here", where=str(path), remedy=f"build one with `branchwise kg build {source}`"
    )
