"""Loading a model without what the libraries print about it."""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warnings, log lines below errors, or progress bars; exceptions pass as they are.

    Model libraries report every unexpected weight and traced branch: nothing a user can act on.
    """
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
