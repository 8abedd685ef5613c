"""The prices that the user gave, kept beside a run or study, and the limit of a run's cost."""

from math import isfinite
from pathlib import Path

from branchwise.base.atomic import write_bytes
from branchwise.base.errors import InputError
from branchwise.runs.costs.prices import Prices

PRICES, LIMIT = "prices.yaml", "max-cost"
_RUNS, _STUDY = "runs", "study.json"


def keep_prices(folder: Path, path: Path | None) -> None:
    """Keep a file of prices in the folder; None: what is kept there stays. Raises InputError."""
    kept = folder / PRICES
    if path is None or path.resolve() == kept.resolve():
        return
    try:
        write_bytes(kept, path.read_bytes())
    except OSError as error:
        raise _cannot_save("prices", kept, error) from None


def keep_limit(run: Path, most: float | None) -> None:
    """Keep what a run may cost, in USD; None: what is kept there stays. Raises InputError."""
    kept = run / LIMIT
    if most is None:
        return
    try:
        write_bytes(kept, f"{most!r}\n".encode())
    except OSError as error:
        raise _cannot_save("limit of cost", kept, error) from None


def limit_of(run: Path | None, given: float | None = None) -> float | None:
    """What a run may cost, in USD: the limit `given`, else the one kept with it; None: no limit.

    Raises InputError.
    """
    if run is None or given is not None:
        return given
    kept = run / LIMIT
    try:
        most = float(kept.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError):
        most = -1.0
    if not isfinite(most) or most < 0:
        remedy = "give the limit again with --max-cost, or remove the file"
        raise InputError("is not an amount in USD", where=str(kept), remedy=remedy)
    return most


def _cannot_save(what: str, kept: Path, error: OSError) -> InputError:
    return InputError(f"cannot save the {what} ({error.strerror or error})", where=str(kept))


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
