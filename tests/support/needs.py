"""What some tests need beside `make install`; without it they skip, and say why."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from support import ROOT

INSTALLED_BY = "make extras"
DATA = Path(os.environ.get("BRANCHWISE_DATA", ""))
"""The folder of published data sets."""
HAS_DATA = bool(os.environ.get("BRANCHWISE_DATA"))


def needs(what: str, present: bool, how: str = INSTALLED_BY) -> pytest.MarkDecorator:
    """A mark that skips where `what` is not `present`; `how` names the command that adds it."""
    return pytest.mark.skipif(not present, reason=f"needs {what} ({how})")


def needs_program(name: str) -> pytest.MarkDecorator:
    return needs(name, shutil.which(name) is not None)


needs_local = needs(
    "torch's packages",
    importlib.util.find_spec("sentence_transformers") is not None,
    "pip install '.[local]'",
)
needs_ray = needs(
    "ray", importlib.util.find_spec("ray") is not None, "pip install 'branchwise[ray]'"
)
needs_data = needs("the data sets", HAS_DATA, "BRANCHWISE_DATA=FOLDER")
_FLASHRAG = ROOT / ".peers/flashrag"
FLASHRAG = [
    folder
    for folder in sorted(_FLASHRAG.glob("lib/python*/site-packages"))
    if (_FLASHRAG / ".installed").exists()
]
"""Where `make extras` puts FlashRAG: beside our own packages, of which it wants other versions."""
needs_datasets = needs(
    "datasets", bool(FLASHRAG) or importlib.util.find_spec("datasets") is not None
)
"""Which FlashRAG brings. Not among our own packages: sentence-transformers loads it wherever it is
installed, which takes a second and 100 MB."""
needs_flashrag = needs(
    "FlashRAG", bool(FLASHRAG) or importlib.util.find_spec("flashrag") is not None
)
