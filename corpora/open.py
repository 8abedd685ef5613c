"""Opening what searches: an index of a corpus, or a retriever that lives elsewhere."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from branchwise.base.errors import FLAGS, InputError, SettingError, SettingNames, nearest
from branchwise.base.files import check_files
from branchwise.base.keys import NO_KEYS, Keys
from branchwise.base.plugins.specs import absolute_spec, entry_points, is_plugin
from branchwise.corpora.flashrag import open_flashrag
from branchwise.corpora.folder import Corpus
from branchwise.corpora.kinds import (
    BUILT_IN,
    DEFAULT,
    FLASHRAG,
    HYBRID,
    INDEX_KINDS,
    SERVERS,
    Index,
    hybrid_parts,
)
from branchwise.corpora.manifest import (
    INDEX_FOLDER,
    index_command,
    index_names,
    read_manifest,
    rebuild_command,
)
from branchwise.corpora.names_in_text import quoted
from branchwise.corpora.plugin_retriever import open_plugin
from branchwise.corpora.retrieval import (
    DEPTH,
    FUSION_K,
    Hit,
    Retriever,
    Scored,
    fused,
    phrases_first,
)
from branchwise.corpora.search_server import open_search_server


class CorpusRetriever:
    """Ranks by an index; passages that have what a query quotes come first."""

    def __init__(
        self, name: str, identity: Mapping[str, Any], index: Index, corpus: Corpus
    ) -> None:
        self.name, self.identity = name, identity
        self._index, self._corpus = index, corpus

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        phrases = [quoted(query) for query in queries]
        if not any(phrases):
            return [self._hits(ranking) for ranking in self._index.rank(queries, k)]
        # What has a quoted phrase may stand deep in the ranking of a longer query.
        asked = list(dict.fromkeys([*queries, *chain.from_iterable(phrases)]))
        rankings = map(self._hits, self._index.rank(asked, max(k, DEPTH)))
        by_query = dict(zip(asked, rankings, strict=True))
        return [
            phrases_first(by_query[query], [by_query[phrase] for phrase in quotes], quotes)[:k]
            for query, quotes in zip(queries, phrases, strict=True)
        ]

    def _hits(self, ranking: Sequence[Scored]) -> list[Hit]:
        return [Hit(self._corpus.passage(row), score) for row, score in ranking]


class _Hybrid:
    def __init__(self, parts: Sequence[Index], corpus: Corpus) -> None:
        self._parts, self._corpus = parts, corpus

    def rank(self, queries: Sequence[str], k: int) -> list[list[Scored]]:
        rankings = [part.rank(queries, DEPTH) for part in self._parts]
        return [fused(per_query, k, self._corpus.id) for per_query in zip(*rankings, strict=True)]


def needs_corpus(name: str | None) -> bool:
    """Whether a retriever of this name searches an index in a corpus folder of ours."""
    elsewhere = name is not None and name.startswith((*SERVERS, FLASHRAG))
    return not elsewhere and not is_plugin_retriever(name)


def is_plugin_retriever(name: str | None) -> bool:
    """Whether a name is a plug-in's: `file.py:name`, `module:name`, or an installed one's."""
    if name is None or name in BUILT_IN or name.startswith((*SERVERS, FLASHRAG)):
        return False
    return is_plugin(name) or name in entry_points("retrievers")


def absolute_name(name: str, folder: Path | None = None) -> str:
    """The name with its file's whole path, from `folder` (default: the working directory)."""
    if name.startswith(FLASHRAG):
        return FLASHRAG + str(((folder or Path()) / name.removeprefix(FLASHRAG)).resolve())
    if is_plugin_retriever(name):
        return absolute_spec(name, folder)
    return name


def open_retriever(
    corpus_dir: Path | None,
    name: str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    keys: Keys = NO_KEYS,
    headers: Mapping[str, str] | None = None,
) -> Retriever:
    """The retriever over index `name`, or `hybrid` for flat (or else ivf) and bm25 fused.

    Without a name: the only index there is, else `flat`. `http:URL` and `flashrag:CONFIG.yaml`
    search elsewhere, independent of the corpus; a plug-in (`file.py:name`, `module:name`, an
    installed one's name) searches what it likes, with its own of the `settings` by plug-in name. A
    server gets its own of the `keys` and `headers`. Raises InputError, with a remedy, if there is
    no such index, it is another corpus's or encoder's, or damaged, or what is named does not work.
    """
    if is_plugin_retriever(name):
        if corpus_dir is not None and name in index_names(Path(corpus_dir)):
            problem = f"both an index of the corpus and an installed plug-in are called {name!r}"
            remedy = "name the plug-in as package.module:name, or rename the index's folder"
            raise InputError(problem, where=str(corpus_dir), remedy=remedy)
        return open_plugin(str(name), corpus_dir, settings)
    if name is not None and name.startswith(SERVERS):
        return open_search_server(name, keys=keys, headers=headers or {})
    if name is not None and name.startswith(FLASHRAG):
        return open_flashrag(Path(name.removeprefix(FLASHRAG)))
    if corpus_dir is None:
        raise InputError("there is no corpus to search", remedy="add --corpus DIR")
    corpus = Corpus.open(Path(corpus_dir))
    chosen = chosen_index(corpus.path, name)
    names = index_names(corpus.path)
    if chosen != HYBRID or HYBRID in names:
        index, identity = _open(corpus, chosen)
        return CorpusRetriever(chosen, identity, index, corpus)
    parts = [_open(corpus, part) for part in hybrid_parts(names)]
    identities = [identity for _, identity in parts]
    identity = {"kind": HYBRID, "k": FUSION_K, "depth": DEPTH, "parts": identities}
    index = _Hybrid([index for index, _ in parts], corpus)
    return CorpusRetriever(HYBRID, identity, index, corpus)


def chosen_index(corpus_dir: Path, name: str | None, words: SettingNames = FLAGS) -> str:
    """The index that a name means: without one, the only index there is, else the default's. Raises
    SettingError where the corpus has no such index, or none can be chosen."""
    names = index_names(corpus_dir)
    if name is None and len(names) == 1:
        return names[0]
    if name is None and names and DEFAULT not in names:
        raise SettingError(
            "corpus",
            f"the corpus has several indexes ({', '.join(names)}) and none is called {DEFAULT}",
            where=str(corpus_dir),
            remedy=words.add("retriever", names[0]),
        )
    chosen = name or DEFAULT
    parts = hybrid_parts(names) if chosen == HYBRID and HYBRID not in names else (chosen,)
    missing = next((part for part in parts if part not in names), None)
    if missing is None:
        return chosen
    known = dict.fromkeys((*names, *BUILT_IN))
    if missing not in known and (near := nearest(missing, known)):
        problem, remedy = f"unknown retriever {missing!r}", f"did you mean {near[0]}?"
    else:
        has = f"it has {', '.join(names)}" if names else "it has none yet"
        problem = f"the corpus has no index {missing!r} ({has})"
        remedy = f"make it: {index_command(corpus_dir, missing)}"
    setting = "retriever" if name else "corpus"
    raise SettingError(setting, problem, where=str(corpus_dir), remedy=remedy)


def _open(corpus: Corpus, name: str) -> tuple[Index, dict[str, Any]]:
    """The index, and what results depend on: its manifest without versions and paths."""
    manifest = read_manifest(corpus, name)
    folder = corpus.path / INDEX_FOLDER / name
    check_files(folder, rebuild_command(corpus.path, name, manifest))
    identity = manifest.model_dump(mode="json", exclude={"versions"}, exclude_none=True)
    if manifest.encoder:
        identity["encoder"]["name"] = Path(manifest.encoder.name).name
    return INDEX_KINDS[manifest.kind].ready().open_index(corpus, folder, manifest), identity
