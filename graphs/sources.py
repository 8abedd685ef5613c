"""What a system searches, opened: the corpus behind a retriever, and the graph."""

from dataclasses import dataclass
from pathlib import Path

from branchwise.base.keys import Keys
from branchwise.corpora.open import needs_corpus, open_retriever
from branchwise.corpora.reranking import RerankingRetriever
from branchwise.corpora.retrieval import Retriever
from branchwise.graphs.flows import Flow
from branchwise.graphs.system import System
from branchwise.kg.answers import Graph
from branchwise.kg.open import open_kg
from branchwise.tools.batcher import Batcher
from branchwise.tools.registry import ToolContext


@dataclass(frozen=True)
class OpenSources:
    """The retriever and the graph of a system; None where it has none."""

    # One for the tool and for what else searches: a batcher has one thread.
    retriever: Batcher | None = None
    kg: Graph | None = None

    @classmethod
    def of(
        cls,
        system: System,
        keys: Keys,
        retriever: Retriever | Batcher | None = None,
        kg: Graph | None = None,
    ) -> "OpenSources":
        """`retriever` and `kg` replace what the system names. Raises InputError."""
        searched = retriever or retriever_of(system)
        if searched is not None and not isinstance(searched, Batcher):
            searched = Batcher(searched)
        return cls(searched, kg or (open_kg(system.kg, keys) if system.kg else None))

    def tool_context(self, system: System, flow: Flow, keys: Keys) -> ToolContext:
        """What the tools of a system are made from."""
        return ToolContext(
            self.retriever,
            system.k,
            self.kg,
            _corpus(system),
            system.settings,
            keys,
            shortens=not repeats_passages(system),
            cites=flow.format.cites,
            per_name=system.per_name,
            prompt_set=system.prompt_set,
        )


def repeats_passages(system: System) -> bool:
    """Whether passages that the agent has before it are shown whole again."""
    # Extraction by passage reads all that each search finds.
    return system.repeat_passages or (system.extract and system.extract_by == "passage")


def retriever_of(system: System) -> Retriever | None:
    """What the system searches; None if nothing. Raises InputError."""
    if system.corpus is None and needs_corpus(system.retriever):
        return None
    found = open_retriever(
        _corpus(system), system.retriever, system.settings, Keys(system.keys), system.headers
    )
    if system.reranker is None:
        return found

    return RerankingRetriever(found, Path(system.reranker))


def _corpus(system: System) -> Path | None:
    return Path(system.corpus) if system.corpus else None
