"""The nodes of a system: found by their specs, with what they need."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from branchwise.corpora.errors import InputError, did_you_mean
from branchwise.corpora.open import is_plugin_retriever
from branchwise.corpora.plugins.injection import InjectionContext, fill
from branchwise.corpora.plugins.kinds import made
from branchwise.corpora.plugins.loading import find_plugin
from branchwise.corpora.plugins.retriever import RetrieverPlugin
from branchwise.graphs.plugins.declared import NodePlugin
from branchwise.graphs.plugins.running import MadeNode


def load_node(spec: str) -> NodePlugin:
    """The node that a spec names. Raises a one-line InputError if there is none."""
    found = find_plugin(spec, "nodes")
    plugin: NodePlugin = made(found.object, "nodes", spec)
    return replace(plugin, source=found.source)


def make_nodes(specs: Sequence[str], context: InjectionContext) -> list[MadeNode]:
    """The nodes in order, with settings and other injected values.

    Raises InputError for a spec that does not name a node, two nodes of the same name, settings
    that do not fit, and a missing corpus or graph.
    """
    nodes: dict[str, MadeNode] = {}
    places: dict[str, str] = {}
    for spec in specs:
        plugin = load_node(spec)
        if plugin.name in nodes:
            raise InputError(
                f"two nodes are called {plugin.name!r}: {places[plugin.name]} and {spec}",
                where="--node",
                remedy="leave one out, or give it another name: @node(..., name=...)",
            )
        nodes[plugin.name] = MadeNode(plugin, fill(plugin, context))
        places[plugin.name] = spec
    return list(nodes.values())


def check_named(settings: Iterable[str], names: Iterable[str], retriever: str | None) -> None:
    """Raise InputError for settings that belong to none of `names` and not to the retriever."""
    known = list(names)
    if is_plugin_retriever(retriever):
        found = find_plugin(str(retriever), "retrievers").object
        if not isinstance(found, RetrieverPlugin):
            return  # a function that makes one: its name is known only after a call
        known.append(found.name)
    for name in settings:
        if name not in known:
            listed = f"the system has {', '.join(known)}" if known else "the system has none"
            raise InputError(
                f"no plug-in is called {name!r}",
                where=f"--set {name}",
                remedy=did_you_mean(name, known, else_=listed),
            )
