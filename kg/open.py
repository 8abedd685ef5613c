"""Opening a graph from a user's source: a folder or an address."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from branchwise.base.errors import InputError
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.proxies import check_way
from branchwise.kg.answers import Graph
from branchwise.kg.description import DESCRIPTION_FILE
from branchwise.kg.embedded import EmbeddedKg
from branchwise.kg.remote.endpoint import RemoteKg
from branchwise.kg.world_folder import KG_FILE

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
