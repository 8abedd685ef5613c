"""What an index says about itself: enough to refuse it where it does not belong."""

import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.base.files import cannot_read, first_problem
from branchwise.corpora.folder import Corpus
from branchwise.corpora.kinds import DEFAULT, INDEX_KINDS

MANIFEST_FILE, INDEX_FOLDER = "manifest.json", "index"

if TYPE_CHECKING:
    Kind = str
    Metric = str
else:
    Kind = Literal[tuple(INDEX_KINDS)]
    Metric = Literal[tuple(kind.metric for kind in INDEX_KINDS.values())]
Backend = Literal["torch", "openvino"]


class EncoderIdentity(BaseModel):
    """Everything that a vector depends on beside the text.

    `digest` is the SHA-256 over the model folder's weights, tokenizer and settings; `precision`
    the number format that the backend computes in; `pooling` as sentence-transformers names it.
    `given`: the fields that a user chose in place of the model's own. Vectors have unit length.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    digest: str
    backend: Backend
    precision: str
    query_prefix: str
    passage_prefix: str
    pooling: str
    dimension: int
    max_tokens: int
    given: tuple[str, ...] | None = None


class Manifest(BaseModel):
    """An index: of which corpus, made how. Written last, so what has one is whole. Passages
    are never added to one: what a search finds follows from the files alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    kind: Kind
    corpus_sha256: str
    passages: int
    metric: Metric
    dtype: Literal["float16", "float32"]
    encoder: EncoderIdentity | None = None
    analyzer: str | None = None
    scoring: str | None = None
    probes: int | None = None
    recall: float | None = None
    versions: dict[str, str] = {}


def index_names(corpus_dir: Path) -> list[str]:
    return sorted(
        file.parent.name
        for file in (Path(corpus_dir) / INDEX_FOLDER).glob(f"*/{MANIFEST_FILE}")
        if not file.parent.name.startswith(".")
    )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    write_bytes(folder / MANIFEST_FILE, manifest.model_dump_json(indent=2).encode() + b"\n")


def read_manifest(corpus: Corpus, name: str) -> Manifest:
    """The manifest of index `name`, checked against the corpus."""
    file = corpus.path / INDEX_FOLDER / name / MANIFEST_FILE
    try:
        manifest = Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise cannot_read(file, error) from None
    except ValidationError as error:
        problem = f"not an index manifest of this version ({first_problem(error)})"
        remedy = rebuild_command(corpus.path, name, None)
        raise InputError(problem, where=str(file), remedy=remedy) from None
    if manifest.corpus_sha256 != corpus.sha256 or manifest.passages != len(corpus):
        raise InputError(
            f"the index is of another corpus: built on {manifest.passages} passages "
            f"(SHA-256 {manifest.corpus_sha256[:12]}), the folder now holds {len(corpus)} "
            f"({corpus.sha256[:12]})",
            where=str(file.parent),
            remedy=rebuild_command(corpus.path, name, manifest),
        )
    return manifest


def rebuild_command(corpus_dir: Path, name: str, manifest: Manifest | None) -> str:
    kind = manifest.kind if manifest else None
    encoder = f" --encoder {manifest.encoder.name}" if manifest and manifest.encoder else ""
    return f"rebuild it: {index_command(corpus_dir, name, kind, encoder)}"


def index_command(corpus_dir: Path, name: str, kind: Kind | None = None, encoder: str = "") -> str:
    """The command that makes an index; without a kind, of the one that its name says."""
    kind = kind or (name if name in INDEX_KINDS else DEFAULT)
    named = "" if name == kind else f" --name {name}"
    return f"branchwise corpus index {corpus_dir} --kind {kind}{encoder}{named}"


def made_with(*packages: str) -> dict[str, str]:
    return {"python": platform.python_version()} | {name: version(name) for name in packages}
