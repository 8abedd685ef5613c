"""A built graph behind rdflib's interface, for those whose own code speaks rdflib."""

from pathlib import Path
from typing import TYPE_CHECKING

from branchwise.corpora.graph.open import graph_folder

if TYPE_CHECKING:
    from rdflib import Graph


def rdflib_graph(folder: Path) -> "Graph":
    """The triples in a graph's folder (or a world's) as an rdflib graph, on disk and read-only.

    What is asked of it runs in this process, without the checks and the deadline that queries of
    models have. Raises InputError where there is no graph.
    """
    from oxrdflib import OxigraphStore
    from pyoxigraph import Store
    from rdflib import Graph
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    from branchwise.corpora.graph.description import STORE_FOLDER

    store = Store.read_only(str(graph_folder(folder) / STORE_FOLDER))
    return Graph(OxigraphStore(store=store), DATASET_DEFAULT_GRAPH_ID)
