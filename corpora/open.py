"""Opening what searches: an index of a corpus, or a retriever that lives elsewhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from branchwise.corpora.errors import InputError
from branchwise.corpora.folder import Corpus
from branchwise.corpora.fusion import DEPTH, FUSION_K, fused
from branchwise.corpora.keys import NO_KEYS, Keys
from branchwise.corpora.manifest import (
    INDEX_FOLDER,
    Manifest,
    index_names,
    read_manifest,
    rebuild_command,
)
from branchwise.corpora.ranking import Scored
from branchwise.corpora.retrieval import Hit, Retriever

HYBRID = "hybrid"
_SERVERS, _FLASHRAG = ("http:", "https:"), "flashrag:"
_BUILT_IN = ("flat", "bm25", HYBRID)


class _Index(Protocol):
    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]: ...


class CorpusRetriever:
    """Searches one corpus through one index."""

    def __init__(
        self, name: str, identity: Mapping[str, Any], index: _Index, corpus: Corpus
    ) -> None:
        self.name, self.identity = name, identity
        self._index, self._corpus = index, corpus

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query its best `k` passages, best first, ties broken by passage id."""
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        return [
            [Hit(self._corpus.passage(row), score) for row, score in ranking]
            for ranking in self._index.rank(queries, k)
        ]


class _Hybrid:
    """Reciprocal rank fusion of two indexes, each asked to a fixed depth."""

    def __init__(self, parts: Sequence[_Index], corpus: Corpus) -> None:
        self._parts, self._corpus = parts, corpus

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        rankings = [part.rank(queries, DEPTH) for part in self._parts]
        return [fused(per_query, k, self._corpus.id) for per_query in zip(*rankings, strict=True)]


def needs_corpus(name: str | None) -> bool:
    """Whether a retriever of this name searches an index in a corpus folder of ours."""
    elsewhere = name is not None and name.startswith((*_SERVERS, _FLASHRAG))
    return not elsewhere and not is_plugin_retriever(name)


def is_plugin_retriever(name: str | None) -> bool:
    """Whether a name is a plug-in's: `file.py:name`, `module:name`, or an installed one's."""
    if name is None or name in _BUILT_IN or name.startswith((*_SERVERS, _FLASHRAG)):
        return False
    from branchwise.corpora.plugins.loading import entry_points
    from branchwise.corpora.plugins.specs import is_plugin

    return is_plugin(name) or name in entry_points("retrievers")


def absolute_name(name: str, folder: Path | None = None) -> str:
    """The name with its file's whole path, so that it means the same from any folder.

    A relative path is taken from `folder` (default: the working directory).
    """
    if name.startswith(_FLASHRAG):
        return _FLASHRAG + str(((folder or Path()) / name.removeprefix(_FLASHRAG)).resolve())
    if is_plugin_retriever(name):
        from branchwise.corpora.plugins.specs import absolute_spec

        return absolute_spec(name, folder)
    return name


def open_retriever(
    corpus_dir: Path | None,
    name: str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    keys: Keys = NO_KEYS,
) -> Retriever:
    """The retriever over index `name`, or `hybrid` for flat and bm25 fused.

    Without a name: the only index there is, else `flat`. `http:URL` and `flashrag:CONFIG.yaml`
    search elsewhere, whatever the corpus; a plug-in (`file.py:name`, `module:name`, or the name of
    an installed one) searches what it likes, with its own of the `settings` by plug-in name. A
    server gets its own of the `keys`. Raises InputError, with what mends it, where there is no such
    index, it belongs to another corpus or encoder, nothing answers, or a plug-in cannot be used.
    """
    if is_plugin_retriever(name):
        return _open_plugin(corpus_dir, str(name), settings)
    if name is not None and name.startswith(_SERVERS):
        from branchwise.corpora.search_server import open_search_server

        return open_search_server(name, keys=keys)
    if name is not None and name.startswith(_FLASHRAG):
        from branchwise.corpora.flashrag.retriever import open_flashrag

        return open_flashrag(Path(name.removeprefix(_FLASHRAG)))
    if corpus_dir is None:
        raise InputError("there is no corpus to search", remedy="add --corpus DIR")
    return _open_own(Path(corpus_dir), name)


def _open_plugin(
    corpus_dir: Path | None, name: str, settings: Mapping[str, Mapping[str, Any]] | None
) -> Retriever:
    from branchwise.corpora.plugins.searching import open_plugin

    if corpus_dir is not None and name in index_names(Path(corpus_dir)):
        raise InputError(
            f"both an index of the corpus and an installed plug-in are called {name!r}",
            where=str(corpus_dir),
            remedy="name the plug-in as package.module:name, or rename the index's folder",
        )
    return open_plugin(name, corpus_dir, settings)


def _open_own(corpus_dir: Path, name: str | None) -> Retriever:
    corpus = Corpus.open(corpus_dir)
    names = index_names(corpus.path)
    chosen = name or _default(corpus.path, names)
    if chosen == HYBRID and HYBRID not in names:
        parts = [_open(corpus, part, names) for part in ("flat", "bm25")]
        identity = {"kind": HYBRID, "k": FUSION_K, "depth": DEPTH} | {
            "parts": [part.identity for part in parts]
        }
        index = _Hybrid([part._index for part in parts], corpus)
        return CorpusRetriever(HYBRID, identity, index, corpus)
    return _open(corpus, chosen, names)


def _default(corpus_dir: Path, names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    if names and "flat" not in names:
        raise InputError(
            f"has several indexes ({', '.join(names)}) and none is called flat",
            where=str(corpus_dir),
            remedy="choose one with --retriever",
        )
    return "flat"


def _open(corpus: Corpus, name: str, names: Sequence[str]) -> CorpusRetriever:
    if name not in names:
        raise _no_index(corpus.path, name, names)
    manifest = read_manifest(corpus, name)
    index = _open_index(corpus, name, manifest)
    return CorpusRetriever(name, _identity(manifest), index, corpus)


def _open_index(corpus: Corpus, name: str, manifest: Manifest) -> _Index:
    folder = corpus.path / INDEX_FOLDER / name
    if manifest.kind == "bm25":
        from branchwise.corpora.lexical import ANALYZER, open_lexical

        if manifest.analyzer != ANALYZER:
            raise InputError(
                f"the index was analysed as {manifest.analyzer}, queries would be as {ANALYZER}",
                where=str(folder),
                remedy=rebuild_command(corpus.path, name, manifest),
            )
        return open_lexical(corpus, folder)
    from branchwise.corpora.encoders import reopen_encoder
    from branchwise.corpora.flat import open_flat

    if manifest.encoder is None:
        raise InputError(
            "the manifest names no encoder",
            where=str(folder),
            remedy=rebuild_command(corpus.path, name, manifest),
        )
    try:
        encoder = reopen_encoder(manifest.encoder)
    except InputError as error:
        remedy = rebuild_command(corpus.path, name, manifest)
        raise InputError(
            error.what,
            where=error.where or str(folder),
            remedy=f"{error.remedy}; or {remedy}" if error.remedy else remedy,
        ) from None
    return open_flat(corpus, folder, encoder)


def _identity(manifest: Manifest) -> dict[str, Any]:
    """What results depend on: the manifest, without versions, and without paths."""
    identity = manifest.model_dump(mode="json", exclude={"versions"}, exclude_none=True)
    if manifest.encoder:
        identity["encoder"]["name"] = Path(manifest.encoder.name).name
    return identity


def _no_index(corpus_dir: Path, name: str, names: Sequence[str]) -> InputError:
    has = f"it has {', '.join(names)}" if names else "it has none yet"
    kind = name if name in ("flat", "bm25") else "flat"
    named = "" if name == kind else f" --name {name}"
    return InputError(
        f"the corpus has no index {name!r} ({has})",
        where=str(corpus_dir),
        remedy=f"make it: branchwise corpus index {corpus_dir} --kind {kind}{named}",
    )
