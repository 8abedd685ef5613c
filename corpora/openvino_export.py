"""OpenVINO's form of an encoder, exported once and kept in the user's cache folder.

Exporting takes seconds at each start, loading what was exported a fraction of one.
"""

import importlib.util
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from branchwise.corpora.atomic import new_folder
from branchwise.corpora.encoder_models import EncoderModel
from branchwise.corpora.errors import InputError
from branchwise.corpora.quiet import quiet

_PACKAGES = ("openvino", "optimum-intel", "transformers", "sentence-transformers")


def has_openvino() -> bool:
    """True where the packages that the openvino backend needs are installed."""
    try:
        return all(importlib.util.find_spec(name) for name in ("openvino", "optimum.intel"))
    except ModuleNotFoundError:
        return False


def refuse_telemetry() -> None:
    """Keep openvino and nncf from reporting each conversion to a web analytics service.

    They do so unasked where the package `openvino_telemetry` can be imported, and have no setting
    against it; where it cannot, they go without. Call before either is imported.
    """
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]


def exported(model: EncoderModel) -> Path:
    """Folder of the exported model, made now where it is not in the cache."""
    refuse_telemetry()
    folder = _cache() / _key(model)
    if (folder / "openvino" / "openvino_model.xml").is_file():
        return folder
    with quiet(), new_folder(folder) as partial:
        from sentence_transformers import SentenceTransformer

        encoder = SentenceTransformer(
            str(model.folder),
            backend="openvino",
            device="cpu",
            model_kwargs={"export": True},
            local_files_only=True,
        )
        encoder.save_pretrained(str(partial), create_model_card=False)
    return folder


def _key(model: EncoderModel) -> str:
    """What an export depends on: the model's files and the versions that converted them."""
    parts = [model.digest[:32]]
    for package in _PACKAGES:
        try:
            parts.append(version(package))
        except PackageNotFoundError:
            parts.append("none")
    return "-".join(parts)


def _cache() -> Path:
    """`$XDG_CACHE_HOME/branchwise/encoders`, readable by its owner only.

    Raises InputError where somebody else owns it: what lies there is loaded and run.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "branchwise" / "encoders"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise InputError(
            "the cache folder belongs to another user",
            where=str(folder),
            remedy="set XDG_CACHE_HOME to a folder of your own",
        )
    return folder
