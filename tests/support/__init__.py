"""What tests share: servers on the loopback, corpora and runs made by hand, independent readers.

A sub-package holds what the tests of one subject share. A program of these is started by its path,
or in the folder TESTS as `python -m support.NAME` where it imports others of them.
"""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
"""The repository."""
