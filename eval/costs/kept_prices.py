"""The user's prices, kept beside a run or a study: once given they stay with it."""

from pathlib import Path

from branchwise.corpora.atomic import write_bytes
from branchwise.corpora.errors import InputError
from branchwise.eval.costs.prices import Prices

PRICES = "prices.yaml"
_RUNS, _STUDY = "runs", "study.json"


def keep_prices(folder: Path, path: Path | None) -> None:
    """Keep a file of prices in the folder; None: what is kept there stays. Raises InputError."""
    kept = folder / PRICES
    if path is None or path.resolve() == kept.resolve():
        return
    try:
        write_bytes(kept, path.read_bytes())
    except OSError as error:
        what = f"cannot save the prices ({error.strerror or error})"
        raise InputError(what, where=str(kept)) from None


def kept_prices(folder: Path) -> Path | None:
    """The file of prices of a run, or of the study that it belongs to; None: there is none."""
    runs, places = folder.resolve().parent, [folder]
    if runs.name == _RUNS and (runs.parent / _STUDY).is_file():
        places.append(runs.parent)
    found = [place / PRICES for place in places if (place / PRICES).is_file()]
    return found[0] if found else None


def prices_of(folder: Path) -> Prices:
    """What models cost in a run: by its kept prices, else by the built-in ones."""
    return Prices.load(kept_prices(folder))
