"""The kinds of retrievers that are built in: a row here, and of an index the module behind it.

Commands, their help, manifests and refusals are made of these rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from branchwise.base.errors import InputError, require

if TYPE_CHECKING:
    from branchwise.base.process import Progress
    from branchwise.corpora.encoder_models import Encoding
    from branchwise.corpora.folder import Corpus
    from branchwise.corpora.manifest import Manifest
    from branchwise.corpora.retrieval import Scored

_DENSE = ("sentence_transformers", "faiss")
DEFAULT = "flat"
RECALL = 0.99
"""At ten, of a kind that is not exact."""
HYBRID = "hybrid"
"""Made at search time, of two indexes."""
SERVERS, FLASHRAG = ("http:", "https:"), "flashrag:"
"""How retrievers begin that search elsewhere."""


class Index(Protocol):
    """An index that is open."""

    def rank(self, queries: Sequence[str], k: int) -> "list[list[Scored]]":
        """For each query its best `k` rows, best first, ties broken by passage id."""
        ...


class IndexModule(Protocol):
    """What the module of a kind of index defines."""

    def build(
        self, corpus: "Corpus", folder: Path, encoding: "Encoding", progress: "Progress"
    ) -> "Manifest":
        """Write the index's files into `folder`, and say what it is."""
        ...

    def open_index(self, corpus: "Corpus", folder: Path, manifest: "Manifest") -> Index:
        """The index in `folder`."""
        ...

    def described(self, manifest: Mapping[str, Any]) -> str:
        """What it is, for `corpus info`; behind its kind."""
        ...


@dataclass(frozen=True)
class IndexKind:
    """A kind of index. `about`: for help; `building`: what is done meanwhile; `metric`: of scores;
    `needs`: modules of the extra `local`; `encodes`: it takes settings of an encoder. `fast_to`:
    passages up to which it answers in some hundredths of a second; None: any number."""

    name: str
    about: str
    building: str
    metric: str
    module: str
    needs: tuple[str, ...]
    encodes: bool = False
    fast_to: int | None = None

    def load(self) -> IndexModule:
        """Its module, which imports the libraries that it needs when they are used."""
        return cast(IndexModule, import_module(f"branchwise.corpora.{self.module}"))

    def ready(self) -> IndexModule:
        """Its module."""
        require("local", f"an index of kind {self.name}", modules=self.needs)
        return self.load()


_KINDS = (
    IndexKind(
        name="flat",
        about="dense vectors, exact search",
        building="encoding",
        metric="inner_product",
        module="flat",
        needs=_DENSE,
        encodes=True,
        fast_to=200_000,
    ),
    IndexKind(
        name="ivf",
        about="dense vectors, of millions",
        building="encoding",
        metric="inner_product",
        module="ivf",
        needs=_DENSE,
        encodes=True,
    ),
    IndexKind(
        name="bm25",
        about="words",
        building="indexing words",
        metric="bm25",
        module="lexical",
        needs=("tantivy",),
    ),
)
INDEX_KINDS: Mapping[str, IndexKind] = {kind.name: kind for kind in _KINDS}
BUILT_IN = (*INDEX_KINDS, HYBRID)
NAMES = ", ".join(BUILT_IN)


def index_kind(name: str) -> IndexKind:
    if name not in INDEX_KINDS:
        known = ", ".join(INDEX_KINDS)
        raise InputError(f"unknown kind of index {name!r}", remedy=f"known are {known}")
    return INDEX_KINDS[name]


def hybrid_parts(names: Sequence[str]) -> tuple[str, str]:
    """Which of a corpus's indexes `hybrid` is made of: the exact dense one where there is one."""
    dense = "ivf" if "ivf" in names and DEFAULT not in names else DEFAULT
    return dense, "bm25"
